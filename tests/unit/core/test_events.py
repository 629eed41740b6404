"""Which events a refresh has, and that each is told once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dbt_trickle.catalog import events, store, tables
from dbt_trickle.catalog.events import Event
from dbt_trickle.catalog.state import Refresh, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.refresh import fail

TABLE = StreamTable(5, "shop", "totals", "model.shop.totals", is_populated=True, status="ACTIVE")
ROW = Refresh("r", 5, "i", "then", action="FULL", status="COMPLETED", reason="why", end_time="now")
WAS_DIFFERENTIAL = replace(TABLE, last_action="DIFFERENTIAL")


@pytest.mark.parametrize(
    ("before", "row", "asked_full", "expected"),
    [
        (None, ROW, False, ["refresh_completed"]),
        (TABLE, replace(ROW, action="NO_DATA"), False, []),
        (TABLE, replace(ROW, action="SKIP", status="SKIPPED"), False, []),
        (TABLE, replace(ROW, action="ALTER"), False, ["refresh_completed"]),
        (TABLE, replace(ROW, action="REINITIALIZE"), False, ["reinitialize_needed", "refresh_completed"]),
        (TABLE, ROW, False, ["refresh_completed"]),
        (WAS_DIFFERENTIAL, ROW, False, ["fell_back_to_full", "refresh_completed"]),
        (WAS_DIFFERENTIAL, ROW, True, ["refresh_completed"]),
        (replace(TABLE, last_action="FULL"), ROW, False, ["refresh_completed"]),
    ],
)
def test_of_a_refresh(before: StreamTable | None, row: Refresh, asked_full: bool, expected: list[str]) -> None:
    found = events.of_refresh(before, TABLE, row, asked_full)
    assert [event.name for event in found] == expected
    assert [event.is_routine for event in found] == [name == "refresh_completed" for name in expected]


class Journal:
    def __init__(self) -> None:
        self.appended: list[str] = []

    def execute(self, sql: str) -> None:
        self.appended.append(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        return []


def test_failures_up_to_the_suspension_are_told_once_each() -> None:
    journal, told = Journal(), []
    state = TABLE
    for number in range(1, 4):
        run = Invocation("i", ProjectSettings(max_consecutive_errors=2), lambda: "now", told.append)
        run._catalog = store.Catalog(tables.SCHEMA_VERSION, {5: state})
        run._states = {5: state}
        run.open(journal, [Planned(5, f"r{number}", Relation.of("shop", "totals"))])
        fail(run, 5, WarehouseError("TRK-301", "it broke\nbadly"))
        run.close(journal)
        state = run.state(5) or state
    failed = ["refresh_failed"]
    assert [event.name for event in told] == [*failed, *failed, "auto_suspended", *failed]
    assert str(told[0]) == "refresh_failed: stream table shop.totals (code: TRK-301, message: it broke)"
    # Open and close, three times: events need no commit of their own.
    assert len(journal.appended) == 6
    assert "auto_suspended" in journal.appended[3]


def test_what_passes_by_itself_suspends_nothing() -> None:
    """An evening without a metastore would suspend every stream table."""
    run = Invocation("i", ProjectSettings(max_consecutive_errors=1), lambda: "now")
    run._catalog = store.Catalog(tables.SCHEMA_VERSION, {5: TABLE})
    run._states = {5: TABLE}
    run.open(Journal(), [Planned(5, "r", Relation.of("shop", "totals"))])
    fail(run, 5, WarehouseError("TRK-306", "no answer from the Spark server", remedy="-"))
    state = run.state(5)
    assert state is not None
    assert (state.consecutive_errors, state.status, state.last_error) == (
        0,
        TABLE.status,
        "[TRK-306] no answer from the Spark server\n  -",
    )


def test_what_was_found_while_looking_is_told_whatever_follows() -> None:
    journal, told = Journal(), []
    run = Invocation("i", ProjectSettings(), lambda: "now", told.append)
    run._catalog = store.Catalog(tables.SCHEMA_VERSION, {5: TABLE})
    run.open(journal, [Planned(5, "r", Relation.of("shop", "totals"))])
    run.note(replace(TABLE, batch=7), Event("external_write", 5, "now", "shop.totals", {"version": 3}))
    fail(run, 5, WarehouseError("TRK-301", "it broke"))
    run.close(journal)
    assert [event.name for event in told] == ["external_write", "refresh_failed"]
    assert journal.appended[-1].count('"event":') == 2
    state = run.state(5)
    assert state is not None
    assert state.batch == 7


def test_an_event_is_a_row_with_json() -> None:
    entry = store.event(Event("external_write", 5, "now", "shop.totals", {"version": 3}))
    row = json.loads(entry.payload)
    assert set(row) == set(tables.EVENT_COLUMNS)
    assert json.loads(row["payload"]) == {"relation": "shop.totals", "version": 3}
