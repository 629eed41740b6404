"""What is asked of the warehouse before a window is read: as few statements as can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import pytest

from dbt_trickle.capture.base import Appended, Unlogged, Window
from dbt_trickle.capture.choose import Chosen, Mode, Refused, Why, choose
from dbt_trickle.capture.commits import nothing_changed
from dbt_trickle.capture.table import TableFacts
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.names import Relation
from dbt_trickle.run.windows import gather

WINDOW = Window(Relation.of("shop", "orders"), 3, 5, (("id", "int"),))
APPEND = {"operation": "WRITE", "operationParameters": {"mode": "Append"}, "engineInfo": "Apache-Spark/4.1.4"}
UPDATE = {"operation": "UPDATE"}
OPTIMIZE = {"operation": "OPTIMIZE"}
TOO_OLD = "[DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION] Cannot time travel beyond"
FEED = {"delta.enableChangeDataFeed": "true"}
LOG = [
    {"file": f"{version:020d}.json", "kind": kind, "path": "a", "size": 1, "has_vector": False}
    for version, kind in ((4, "commit"), (5, "commit"), (5, "add"))
]


def at(version: int) -> datetime:
    return datetime(2026, 1, 1, 12, version % 60, version // 60, tzinfo=timezone.utc)


class Table:
    """A session over one table; keeps what it was asked."""

    def __init__(self, *operations: dict[str, Any], first: int = 0, **properties: str) -> None:
        self.rows = [{"version": v, "timestamp": at(v), **o} for v, o in enumerate(operations, first)]
        self.properties = properties
        self.refuses = ""
        self.takes_settings = False
        self.log: list[dict[str, Any]] | None = []
        self.asked: list[str] = []

    def execute(self, sql: str) -> None:
        assert sql.startswith("SET `spark.databricks.delta.vacuum.enforceTimeTravel"), sql
        if not self.takes_settings:
            raise WarehouseError("TRK-301", "[CONFIG_NOT_AVAILABLE]")
        self.refuses = ""

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self.asked.append(sql)
        if sql.startswith("DESCRIBE HISTORY"):
            return self.rows[::-1][: int(sql.split(" LIMIT ")[1])]
        if sql.startswith("DESCRIBE DETAIL"):
            return [{"location": "file:/wh/orders", "partitionColumns": [], "properties": self.properties}]
        if sql.startswith("DESCRIBE QUERY"):
            if self.refuses:
                raise WarehouseError("TRK-301", self.refuses)
            return [{"col_name": "id", "data_type": "int"}]
        if self.log is None:
            raise WarehouseError("TRK-301", "PATH_NOT_FOUND")
        return self.log

    def choice(self, mode: Mode = "auto", known_at: datetime | None = None) -> Chosen | Refused:
        return choose(mode, gather(self, WINDOW, (known_at or at(3)).isoformat(timespec="milliseconds"), mode))


def test_a_feed_takes_three_statements() -> None:
    table = Table(*[APPEND] * 5, UPDATE, **FEED)
    assert table.choice() == Chosen("feed", "its change feed is on")
    assert table.asked == [
        "DESCRIBE HISTORY `shop`.`orders` LIMIT 11",
        "DESCRIBE DETAIL `shop`.`orders`",
        "DESCRIBE QUERY SELECT * FROM `shop`.`orders` VERSION AS OF 3",
    ]


def test_what_was_asked_when_the_source_was_pinned_is_not_asked_again() -> None:
    table = Table(*[UPDATE] * 6, **FEED)
    known = TableFacts("id", FEED, 10)
    facts = gather(table, WINDOW, delta.instant(at(3)), "auto", known)
    assert [text.split()[1] for text in table.asked] == ["HISTORY", "QUERY"]
    assert (facts.properties, facts.size) == (FEED, 10)


ANEW = Window(Relation.of("shop", "now"), 3, 0, (("id", "int"),), Relation.of("shop", "orders"))


def test_what_was_loaded_anew_is_asked_for_its_old_version() -> None:
    for newest in (0, 30):  # commits after that
        table = Table(*[APPEND] * 4, *[UPDATE] * newest)
        facts = gather(table, ANEW, delta.instant(at(3)), "auto")
        assert choose("auto", facts) == Chosen("difference", "it was loaded anew since")
        assert [text for text in table.asked if "HISTORY" not in text] == [
            "DESCRIBE QUERY SELECT * FROM `shop`.`orders` VERSION AS OF 3"
        ]


def test_what_was_loaded_anew_and_is_gone() -> None:
    class Gone(Table):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            raise WarehouseError("TRK-301", "[TABLE_OR_VIEW_NOT_FOUND] it is not there")

    facts = gather(Gone(), ANEW, delta.instant(at(3)), "auto")
    assert choose("auto", facts) == Refused(Why.GONE, "the storage that was read is gone")
    table = Table(*[APPEND] * 4)
    facts = gather(table, ANEW, delta.instant(at(59)), "auto")
    assert choose("auto", facts) == Refused(Why.GONE, "dropped and re-created")
    assert len(table.asked) == 1


def test_where_no_row_moved_one_statement_tells_it() -> None:
    table = Table(*[APPEND] * 4, OPTIMIZE, OPTIMIZE)
    facts = gather(table, WINDOW, at(3).isoformat(timespec="milliseconds"), "auto")
    assert nothing_changed(facts.commits)
    assert facts.rows == 0
    assert len(table.asked) == 1


def test_where_the_old_version_is_gone_one_statement_tells_it() -> None:
    table = Table(*[APPEND] * 7, first=4)
    assert table.choice() == Refused(Why.GONE, "its history does not go back to version 3")
    assert len(table.asked) == 1
    table = Table(*[APPEND] * 6)
    assert table.choice(known_at=at(59)) == Refused(Why.GONE, "dropped and re-created")
    assert len(table.asked) == 1


def test_commits_that_came_since_the_source_was_pinned() -> None:
    table = Table(*[APPEND] * 5, UPDATE, *[APPEND] * 30, **FEED)
    facts = gather(table, WINDOW, at(3).isoformat(timespec="milliseconds"), "auto")
    assert [c.version for c in facts.commits] == [4, 5]
    assert [c.version for c in facts.later] == list(range(6, 36))
    assert [sql for sql in table.asked if "HISTORY" in sql] == [
        "DESCRIBE HISTORY `shop`.`orders` LIMIT 11",
        "DESCRIBE HISTORY `shop`.`orders` LIMIT 41",
    ]
    assert choose("auto", facts) == Chosen("feed", "its change feed is on")


def test_the_log_is_read_only_where_it_may_be_chosen() -> None:
    table = Table(*[APPEND] * 5, UPDATE)
    assert table.choice("log") == Chosen("difference", "cdc_mode is log; UPDATE at version 5")
    assert len(table.asked) == 3
    table = Table(*[APPEND] * 6)
    table.log = LOG
    facts = gather(table, WINDOW, at(3).isoformat(timespec="milliseconds"), "auto")
    assert facts.log == Appended(("file:/wh/orders/a",), 1)
    assert len(table.asked) == 5


def test_a_log_that_cannot_be_read_is_a_reason() -> None:
    table = Table(*[APPEND] * 6)
    table.log = None
    facts = gather(table, WINDOW, at(3).isoformat(timespec="milliseconds"), "auto")
    assert facts.log == Unlogged("its transaction log cannot be read")
    found = choose("auto", facts)
    assert found == Chosen("difference", "its change feed is off; its transaction log cannot be read")


def test_files_that_cannot_be_read_by_their_paths_are_a_reason() -> None:
    """The account may be allowed the table and nothing below it."""

    class Governed(Table):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            if "parquet.`" in sql:
                raise WarehouseError("TRK-301", "[INSUFFICIENT_PERMISSIONS]")
            return super().query(sql)

    table = Governed(*[APPEND] * 6)
    table.log = LOG
    told = "its change feed is off; its files cannot be read by their paths"
    assert table.choice() == Chosen("difference", told)


@pytest.mark.parametrize("asked", ["text.`", "parquet.`"])
def test_an_answer_that_did_not_come_says_nothing_of_the_log(asked: str) -> None:
    class Away(Table):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            if asked in sql:
                raise WarehouseError("TRK-306", "no answer from the Spark server")
            return super().query(sql)

    table = Away(*[APPEND] * 6)
    table.log = LOG
    with pytest.raises(WarehouseError, match="no answer"):
        table.choice()


def test_a_version_that_delta_does_not_give_is_gone() -> None:
    table = Table(*[APPEND] * 6, **FEED)
    table.refuses = TOO_OLD
    assert table.choice() == Refused(Why.GONE, "older than its retention")


def test_a_version_that_is_only_old_is_read() -> None:
    """It was the newest one until the window began: what it needs was not out of use for long."""
    table = Table(*[APPEND] * 6, **FEED)
    table.refuses, table.takes_settings = TOO_OLD, True
    assert table.choice() == Chosen("feed", "its change feed is on")


def test_a_commit_that_is_gone_is_missed() -> None:
    """Also where those that are left moved no row."""
    table = Table(*[APPEND] * 5, OPTIMIZE, **FEED)
    del table.rows[4]
    assert table.choice() == Refused(Why.GONE, "its transaction log is not complete")


@pytest.mark.parametrize("said", ["JsonParseException: Unexpected character"])
def test_a_history_that_cannot_be_read_is_gone(said: str) -> None:
    class Garbled(Table):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            if sql.startswith("DESCRIBE HISTORY"):
                raise WarehouseError("TRK-301", said)
            return super().query(sql)

    table = Garbled(*[APPEND] * 6, **FEED)
    assert table.choice() == Refused(Why.GONE, "a commit of its transaction log cannot be read")


def test_another_failure_is_a_failure() -> None:
    table = Table(*[APPEND] * 6, **FEED)
    table.refuses = "the connection was lost"
    with pytest.raises(WarehouseError, match="connection"):
        table.choice()
