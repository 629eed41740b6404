"""A window that a stream table's refreshes have staged: when it is read from there, and what keeps it from that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from test_gather import APPEND, FEED, OPTIMIZE, WINDOW, Table, at

from dbt_trickle.capture.base import Batches, LogFacts, NotStaged
from dbt_trickle.capture.choose import STAGED, Chosen, Mode, choose
from dbt_trickle.capture.read import changes
from dbt_trickle.capture.staged import MOST
from dbt_trickle.capture.transition import Capturing, Seen, reading, step
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Marker, Staged
from dbt_trickle.run.windows import gather

MARKER = Marker(5, 2, 1, "DIFFERENTIAL", "", "", {}, "", "run", 0)


def staged(token: str, rows: int = 2, table: str = "changes.st_5_g1_changes", base: int = 4) -> dict[str, Any]:
    marker = replace(MARKER, work="merge", staged=Staged(table, token, rows, base))
    return {"operation": "MERGE", "operationMetrics": {}, "userMetadata": marker.to_json()}


class Staging(Table):
    """A storage, and what was staged of it: rows by token, in version 9 of a table."""

    def __init__(self, *operations: dict[str, Any], rows: Mapping[str, int] | None, **properties: str) -> None:
        super().__init__(*[APPEND] * 4, *operations, **properties)
        self.counts = rows

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if "st_5_g1_changes" not in sql:
            return super().query(sql)
        self.asked.append(sql)
        if self.counts is None:
            raise WarehouseError("TRK-301", "[TABLE_OR_VIEW_NOT_FOUND] it is not there")
        if sql.startswith("DESCRIBE HISTORY"):
            return [{"version": 9}]
        assert " VERSION AS OF 9 WHERE `__pgt_token` IN (" in sql
        return [{"token": token, "staged": count} for token, count in self.counts.items() if f"'{token}'" in sql]


def facts_of(table: Table, *, staged: bool = True, mode: Mode = "auto") -> LogFacts:
    return gather(table, WINDOW, delta.instant(at(3)), mode, staged=staged)


def test_what_the_storages_commits_name_is_read() -> None:
    table = Staging(staged("a"), staged("b", 3), rows={"a": 2, "b": 3, "dead": 5})
    facts = facts_of(table)
    assert facts.staged == Batches("changes.st_5_g1_changes", ("a", "b"), 9)
    for mode in ("auto", "feed"):
        assert choose(mode, facts) == Chosen("staged", STAGED)
    text = changes(Chosen("staged", STAGED), facts)
    assert "FROM `changes`.`st_5_g1_changes` VERSION AS OF 9\nWHERE `__pgt_token` IN ('a', 'b')" in text
    assert [sql.split("`")[1] for sql in table.asked] == ["shop", "shop", "shop", "changes", "__pgt_token"]


def test_what_moved_no_row_is_not_asked_for() -> None:
    assert facts_of(Staging(staged("a"), OPTIMIZE, rows={"a": 2})).staged == Batches(
        "changes.st_5_g1_changes", ("a",), 9
    )


@pytest.mark.parametrize(
    ("commits", "rows", "why"),
    [
        ((staged("a"), staged("b")), {"a": 2}, "what was staged for version 5 is not there any more"),
        ((staged("a"), staged("b")), {"a": 1, "b": 2}, "what was staged for version 4 is not there any more"),
        ((staged("a"), staged("b")), {"a": 4, "b": 2}, "what was staged for version 4 is not there any more"),
        ((staged("a"), staged("b")), None, "what was staged cannot be read"),
        ((staged("a"), APPEND), {"a": 2}, "version 5 was not staged"),
        # Somebody else wrote in between: to who has read that, the change is another one.
        (
            (staged("a", base=2), staged("b")),
            {"a": 2, "b": 2},
            "version 4 was staged for an older one than it was brought into",
        ),
        (
            (staged("a", base=3), staged("b", base=3)),
            {"a": 2, "b": 2},
            "version 5 was staged for an older one than it was brought into",
        ),
        ((staged("a"), staged("b", table="x.y")), {"a": 2, "b": 2}, "its changes were staged in several tables"),
    ],
)
def test_what_is_not_whole_is_read_otherwise(
    commits: tuple[dict[str, Any], ...], rows: Mapping[str, int] | None, why: str
) -> None:
    facts = facts_of(Staging(*commits, rows=rows))
    assert facts.staged == NotStaged(why)
    found = choose("auto", facts)
    assert isinstance(found, Chosen)
    assert (found.capture, found.reason.startswith(f"{why}; its change feed is off")) == ("difference", True)
    by_feed = choose("auto", facts_of(Staging(*commits, rows=rows, **FEED)))
    assert by_feed == Chosen("feed", "its change feed is on")


def test_too_many_to_be_named() -> None:
    commits = [staged(f"t{number}", base=MOST + 9) for number in range(MOST + 1)]
    window = replace(WINDOW, new=WINDOW.old + len(commits))
    facts = gather(Staging(*commits, rows={}), window, delta.instant(at(3)), "auto", staged=True)
    assert facts.staged == NotStaged(f"more than {MOST} batches were staged")


def test_nothing_is_asked_for_who_reads_the_log_or_where_nothing_was_staged() -> None:
    commits = (staged("a"), staged("b"))
    assert facts_of(Staging(*commits, rows=None), staged=False).staged is None
    assert facts_of(Staging(APPEND, APPEND, rows=None)).staged is None
    facts = facts_of(Staging(*commits, rows={"a": 2, "b": 2}))
    assert choose("log", facts) == Chosen("difference", "cdc_mode is log; MERGE at version 4")


def test_a_server_that_is_away_is_not_an_answer() -> None:
    class Away(Staging):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            if "_changes" in sql:
                raise WarehouseError("TRK-306", "the connection was lost")
            return super().query(sql)

    with pytest.raises(WarehouseError):
        facts_of(Away(staged("a"), staged("b"), rows={}))


@pytest.mark.parametrize("state", ["TRIGGER", "TRANSITIONING", "WAL"])
def test_however_it_was_captured_until_now(state: Any) -> None:
    before = Capturing(state, "its change feed is off")
    facts = facts_of(Staging(staged("a"), staged("b"), rows={"a": 2, "b": 2}))
    for mode in ("auto", "feed"):
        assert reading(mode, before, facts).chosen == Chosen("staged", STAGED)
        after = step(mode, before, Seen(True, False, "m", staged=True), delta.instant(at(9)), 300).after
        assert after == Capturing("TRIGGER", STAGED)
    back = step("auto", Capturing("TRIGGER", STAGED), Seen(True, False, "m"), delta.instant(at(9)), 300)
    assert back.after == Capturing("WAL", "its change feed is off")


def test_a_marker_says_what_it_has_staged() -> None:
    marker = replace(MARKER, staged=Staged("changes.st_5_g1_changes", "a", 2, 4))
    assert Marker.from_json(marker.to_json()) == marker
    assert "staged" not in MARKER.to_json()
