"""When a stream table's data is older than its schedule allows, and that it is told once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.events import Event
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import EnvironmentProblem, WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run import stale
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.refresh import fail

THEN, NOW = "2026-01-01T01:00:00.000+00:00", "2026-01-01T02:00:00.000+00:00"
TABLE = StreamTable(
    5, "shop", "totals", "model.shop.totals", is_populated=True, status="ACTIVE", data_timestamp=THEN, schedule="5m"
)
TOLD = {"data_timestamp": THEN, "seconds": 3600, "schedule": "5m"}


class Catalog:
    """The journal: what is asked for in it, what is written to it."""

    def __init__(self, known: Sequence[Mapping[str, Any]] = (), refuses: type[Exception] | None = None) -> None:
        self.known, self.refuses = known, refuses
        self.asked: list[str] = []
        self.appended: list[str] = []

    def execute(self, sql: str) -> None:
        if self.refuses is EnvironmentProblem:
            raise EnvironmentProblem("TRK-403", "another process writes", remedy="-")
        self.appended.append(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self.asked.append(sql)
        if self.refuses is WarehouseError:
            raise WarehouseError("TRK-301", "no such view", remedy="-")
        return self.known


@pytest.mark.parametrize(
    ("changed", "late"),
    [
        ({}, True),
        ({"schedule": "30m"}, False),
        ({"schedule": None}, False),
        ({"schedule": "downstream"}, False),
        ({"schedule": "0 * * * *"}, False),
        ({"is_populated": False}, False),
        ({"data_timestamp": None}, False),
        ({"status": "SUSPENDED", "suspended_by": "USER"}, False),
        ({"status": "ERROR", "suspended_by": "ERRORS"}, True),
    ],
)
def test_which_are(changed: dict[str, Any], late: bool) -> None:
    assert [event.payload for event in stale.found([replace(TABLE, **changed)], NOW)] == ([TOLD] if late else [])


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([], 1),
        ([{"pgt_id": 5, "data_timestamp": THEN}], 0),
        ([{"pgt_id": 5, "data_timestamp": "2026-01-01T00:30:00.000+00:00"}], 1),
        ([{"pgt_id": 6, "data_timestamp": THEN}], 1),
    ],
    ids=["never", "told", "of older data", "of another one"],
)
def test_told_once_for_as_long_as_its_data_stands_still(known: list[dict[str, Any]], expected: int) -> None:
    catalog = Catalog(known)
    stale.tell(catalog, ProjectSettings(), stale.found([TABLE], NOW))
    assert len(catalog.appended) == expected


def test_nothing_is_asked_where_none_is_late() -> None:
    catalog = Catalog()
    stale.tell(catalog, ProjectSettings(), stale.found([replace(TABLE, schedule="1d")], NOW))
    assert (catalog.asked, catalog.appended) == ([], [])


def test_another_process_that_writes_is_no_error() -> None:
    stale.tell(Catalog(refuses=EnvironmentProblem), ProjectSettings(), stale.found([TABLE], NOW))


@pytest.mark.parametrize("refuses", [None, WarehouseError], ids=["asked", "cannot be asked"])
def test_a_run_tells_of_its_own_selection(refuses: type[Exception] | None) -> None:
    """Its results must be written, whatever becomes of the question."""
    told: list[Event] = []
    catalog, other = Catalog(refuses=refuses), replace(TABLE, pgt_id=6, pgt_name="others")
    run = Invocation("i", ProjectSettings(), lambda: NOW, told.append)
    run._catalog = store.Catalog(tables.SCHEMA_VERSION, {5: TABLE, 6: other})
    run._states = {5: TABLE, 6: other}
    run.open(catalog, [Planned(5, "r", Relation.of("shop", "totals"))])
    fail(run, 5, WarehouseError("TRK-301", "it broke", remedy="-"))
    run.close(catalog)
    assert [(event.name, event.pgt_id) for event in told] == [("refresh_failed", 5), ("stale", 5)]
    assert catalog.appended[-1].count("seconds") == 1
    assert not told[-1].is_routine
    assert str(told[-1]) == (f"stale: stream table shop.totals (data_timestamp: {THEN}, seconds: 3600, schedule: 5m)")
