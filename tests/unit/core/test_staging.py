"""What a refresh writes down before it brings it in: under a name of its own, found again, and nobody else's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from dbt_trickle.apply.base import Applied, Few
from dbt_trickle.apply.staged import ATTEMPT, ROWS
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run.staging import stage

TABLE = Relation.of("changes", "st_5_g1_changes")
FEW = Few(f"CACHE {ROWS}", "touched", "REPLACE", "few", "let go")
APPLIED = Applied(f"MERGE {ROWS}", "rows merged", few=FEW, kept=True, stage=f"INSERT '{ATTEMPT}'")


class Warehouse:
    """A table in which others stage as well; `later`: what comes right behind."""

    def __init__(self, rows: int = 3, later: int = 0) -> None:
        self.rows, self.later, self.said, self.fails = rows, later, "", ""
        self.commits: list[dict[str, Any]] = []
        self.sent: list[str] = []
        self.commit("", 0)

    def execute(self, sql: str) -> None:
        self.sent.append(sql)
        if sql.startswith("SET "):
            self.said = sql.split("`")[3]
        elif sql.startswith("RESET "):
            self.said = ""
        elif self.fails:
            raise WarehouseError("TRK-301", self.fails)
        else:
            if self.rows:
                self.commit(self.said, self.rows)
            for _ in range(self.later):
                self.commit("trickle staged another", 1)

    def commit(self, said: str, rows: int) -> None:
        metrics = {"numOutputRows": str(rows)}
        row = {"version": len(self.commits), "timestamp": "2026-01-01T00:00:00", "operation": "WRITE"}
        self.commits.append({**row, "operationMetrics": metrics, "userMetadata": said})

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        assert sql.startswith("DESCRIBE HISTORY `changes`.`st_5_g1_changes` LIMIT ")
        return self.commits[::-1][: int(sql.split(" LIMIT ")[1])]


def test_what_follows_reads_its_own_at_the_version_that_has_it() -> None:
    warehouse = Warehouse(later=3)
    warehouse.commit("trickle staged dead", 9)
    ready = stage(warehouse, APPLIED, TABLE, 4)
    assert ready.staged is not None
    assert (ready.staged.table, ready.staged.rows, ready.staged.base) == (str(TABLE), 3, 4)
    rows = f"`changes`.`st_5_g1_changes` VERSION AS OF 2 WHERE `__pgt_token` = '{ready.staged.token}'"
    assert ready.applied.sql == f"MERGE {rows}"
    assert ready.applied.few is not None
    assert ready.applied.few.keep == f"CACHE {rows}"
    assert ready.sent == (f"INSERT '{ready.staged.token}'",)
    assert not ready.is_empty
    assert warehouse.said == "", "the session is as it was"


def test_a_server_that_does_not_say_how_many() -> None:
    class Silent(Warehouse):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            if sql.startswith("SELECT count(*)"):
                assert "VERSION AS OF 1 WHERE" in sql
                return [{"staged": 2}]
            return [{**row, "operationMetrics": None} for row in super().query(sql)]

    staged = stage(Silent(), APPLIED, TABLE, 4).staged
    assert staged is not None
    assert staged.rows == 2


def test_each_attempt_has_a_name_of_its_own() -> None:
    warehouse = Warehouse()
    one, other = (stage(warehouse, APPLIED, TABLE, 4).staged for _ in range(2))
    assert one is not None and other is not None
    assert one.token != other.token


def test_nothing_to_stage() -> None:
    """Of which there is no commit; there may be others', of older changes as well: a server can be slow."""
    for later in (0, 30):
        ready = stage(Warehouse(rows=0, later=later), APPLIED, TABLE, 4)
        assert (ready.is_empty, ready.applied) == (True, APPLIED)
    slow = stage(Warehouse(later=30), APPLIED, TABLE, 4)
    assert slow.staged is not None
    assert slow.staged.rows == 3


def test_what_may_be_its_own_is_not_taken_for_nothing() -> None:
    """Rows without a word of whose they are."""

    class Mute(Warehouse):
        def commit(self, said: str, rows: int) -> None:
            super().commit("", rows)

    with pytest.raises(WarehouseError, match="TRK-303"):
        stage(Mute(), APPLIED, TABLE, 4)


def test_a_table_that_was_dropped_and_made_anew_meanwhile() -> None:
    """What it has staged is gone, and that is not nothing."""

    class Anew(Warehouse):
        def execute(self, sql: str) -> None:
            super().execute(sql)
            if sql.startswith("INSERT"):
                self.commits = [{**self.commits[0], "timestamp": "2026-01-02T00:00:00", "userMetadata": None}]

    with pytest.raises(WarehouseError, match="TRK-303"):
        stage(Anew(), APPLIED, TABLE, 4)


def test_what_is_not_staged() -> None:
    feed = Applied("MERGE", "rows merged")
    for applied, table in ((APPLIED, None), (feed, TABLE)):
        ready = stage(Warehouse(), applied, table, 4)
        assert (ready.applied, ready.staged, ready.sent, ready.is_empty) == (applied, None, (), False)


def test_what_fails_leaves_no_settings() -> None:
    warehouse = Warehouse()
    warehouse.fails = "no"
    with pytest.raises(WarehouseError, match="no"):
        stage(warehouse, APPLIED, TABLE, 4)
    assert warehouse.said == ""


def test_what_cannot_be_found_again_is_not_gone_on_from() -> None:
    with pytest.raises(WarehouseError) as raised:
        stage(Warehouse(later=100), APPLIED, TABLE, 4)
    assert raised.value.code == "TRK-303", "the next attempt stages it anew"
