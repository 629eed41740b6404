"""What the history says of refreshes that failed, and of those of a run that died: what was tried, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.state import Refresh, StreamTable
from dbt_trickle.config import ProjectSettings, StreamTableConfig
from dbt_trickle.errors import ConfigError, TrickleError, WarehouseError
from dbt_trickle.formats.base import Commit, Marker, SourceVersion
from dbt_trickle.names import Relation
from dbt_trickle.run import past
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.refresh import fail, refresh
from dbt_trickle.run.request import Request

PUBLIC = Relation.of("shop", "totals")
REQUEST = Request(5, "model.shop.totals", PUBLIC, "select nope", "", StreamTableConfig())
PROBLEM = WarehouseError("TRK-301", "[UNRESOLVED_COLUMN] nope", remedy="-")


class Warehouse:
    """It takes what is appended, and plans no query."""

    def __init__(self) -> None:
        self.appended: list[str] = []

    def execute(self, sql: str) -> None:
        self.appended.append(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql.startswith("DESCRIBE QUERY"):
            raise PROBLEM
        return []

    def rows(self) -> list[dict[str, Any]]:
        """Of the newest append, the history's."""
        found = re.findall(rf"'{tables.HISTORY}', '\w+', .*, '(.*)'\)", self.appended[-1])
        return [json.loads(text) for text in found]


@pytest.fixture
def warehouse() -> Warehouse:
    return Warehouse()


@pytest.fixture
def run(warehouse: Warehouse) -> Invocation:
    found = Invocation("i", ProjectSettings(), lambda: "now")
    found._catalog = store.Catalog(tables.SCHEMA_VERSION)
    found._meaning = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}
    found.open(warehouse, [Planned(5, "r", PUBLIC)])
    return found


def closed(run: Invocation, warehouse: Warehouse) -> tuple[str, str]:
    run.close(warehouse)
    [row] = warehouse.rows()
    return row["action"], row["status"]


def test_while_it_runs_nothing_is_decided(run: Invocation, warehouse: Warehouse) -> None:
    [row] = warehouse.rows()
    assert (row["action"], row["status"]) == (None, "RUNNING")


def test_what_failed_before_anything_was_decided(run: Invocation, warehouse: Warehouse) -> None:
    fail(run, 5, ConfigError("TRK-101", "unknown key", remedy="-"))
    assert closed(run, warehouse) == ("SKIP", "FAILED")


def test_a_first_load_that_failed_can_be_asked_for_by_name(warehouse: Warehouse) -> None:
    """It is no stream table yet, but its history is that of one; each run tries again."""
    run = Invocation("i", ProjectSettings(max_consecutive_errors=1), lambda: "now")
    run._catalog = store.Catalog(tables.SCHEMA_VERSION)
    run.open(warehouse, [Planned(5, "r", PUBLIC, "model.shop.totals", "shop", "dev/shop")])
    fail(run, 5, PROBLEM)
    state = run.state(5)
    assert state is not None
    assert (state.public, state.dbt_unique_id, state.project, state.dbt_target) == (
        PUBLIC,
        "model.shop.totals",
        "shop",
        "dev/shop",
    )
    assert (state.status, state.is_populated, state.consecutive_errors) == ("INITIALIZING", False, 1)
    assert "UNRESOLVED_COLUMN" in str(state.last_error)
    run.close(warehouse)
    assert f"'{tables.STREAM_TABLE}', '5'" in warehouse.appended[-1]


def test_what_failed_on_the_way(run: Invocation, warehouse: Warehouse) -> None:
    """The first load was due, and its query does not compile."""
    with pytest.raises(TrickleError, match="UNRESOLVED_COLUMN"):
        refresh(REQUEST, warehouse, run)
    assert closed(run, warehouse) == ("FULL", "FAILED")


@pytest.mark.parametrize("action", ["DIFFERENTIAL", "REINITIALIZE", "ALTER", "NO_DATA"])
def test_the_last_decision_counts(action: str, run: Invocation, warehouse: Warehouse) -> None:
    run.decided(5, "FULL")
    run.decided(5, action)
    run.decided(6, "ALTER")  # not of this run: `trickle explain` looks at what nobody announced
    fail(run, 5, PROBLEM)
    assert closed(run, warehouse) == (action, "FAILED")


class Dead:
    """The RUNNING row that a dead run has left; `action` as this release writes it, and as older ones did."""

    def __init__(self, action: str | None) -> None:
        row = Refresh("r", 5, "i", "then", action="", status="RUNNING").to_row()
        self.payload = json.dumps({**row, "action": action})

    def execute(self, sql: str) -> None:
        raise AssertionError(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        return [{"payload": self.payload}]


@pytest.mark.parametrize("action", [None, ""])
def test_rows_of_a_run_that_died(action: str | None) -> None:
    [entry] = past.close_rows(Dead(action), "trickle", "i", {}, {}, "now")
    row = json.loads(entry.payload)
    assert (row["action"], row["status"]) == ("SKIP", "FAILED")
    marker = Marker(5, 4, 1, "DIFFERENTIAL", "orders moved", "", {}, "then", "i", 7, work="append")
    [entry] = past.close_rows(
        Dead(action), "trickle", "i", {5: (Commit(3, "then", "WRITE", marker, {}), marker)}, {}, "now"
    )
    row = json.loads(entry.payload)
    assert (row["action"], row["status"], row["batch"]) == ("DIFFERENTIAL", "COMPLETED", 4)


@pytest.mark.parametrize("populated", [False, True])
def test_it_is_whole(populated: bool) -> None:
    """As the run's own close would have written it, but for what only that run knew: how long its phases took."""
    version = SourceVersion("shop.orders", "TABLE", "shop.orders", "id", 9, "then")
    before = StreamTable(5, "shop", "totals", "m", is_populated=populated, frontier={"shop.orders": version})
    at = "2026-01-01T00:00:00.000+00:00"
    marker = Marker(5, 4, 1, "DIFFERENTIAL", "", "", {}, at, "i", 7, definition={"schedule": "1d"}, work="append")
    commit = Commit(3, "then", "WRITE", marker, {})
    [entry] = past.close_rows(Dead(None), "trickle", "i", {5: (commit, marker)}, {5: before}, "now")
    row = json.loads(entry.payload)
    assert row["initiated_by"] == ("DBT" if populated else "INITIAL")
    assert row["freshness_deadline"] == "2026-01-02T00:00:00.000+00:00"
    assert row["frontier_from"]["shop.orders"]["version"] == 9


def test_a_run_that_was_closed_as_dead_has_committed_after_all() -> None:
    """The server did its last statement when the next run had looked already, or when nobody was there any more to
    take its answer.
    """
    marker = Marker(5, 4, 1, "DIFFERENTIAL", "orders moved", "", {}, "then", "i", 7, work="append")
    commit = Commit(3, "later", "WRITE", marker, {"numOutputRows": "2"})
    [closed_as_dead] = past.close_rows(Dead(None), "trickle", "i", {}, {}, "now")

    class Told(Dead):
        def __init__(self, payload: str) -> None:
            self.payload = payload

    [entry] = past.after_all(Told(closed_as_dead.payload), "trickle", commit, marker, None)
    row = json.loads(entry.payload)
    assert (row["action"], row["status"], row["batch"], row["error_message"]) == ("DIFFERENTIAL", "COMPLETED", 4, None)
    assert (row["refresh_id"], row["end_time"]) == ("r", "later")
    lost = json.dumps({**row, "status": "FAILED", "error_message": "[TRK-306] no answer from the Spark server"})
    [entry] = past.after_all(Told(lost), "trickle", commit, marker, None)
    assert json.loads(entry.payload)["status"] == "COMPLETED"
    # What a run that is alive says of itself stays, and so does what was said of another stream table.
    running = json.dumps({**row, "status": "RUNNING"})
    other = json.dumps({**json.loads(closed_as_dead.payload), "pgt_id": 6})
    for payload in (json.dumps(row), running, other):
        assert not past.after_all(Told(payload), "trickle", commit, marker, None)


def test_a_failed_refresh_counts_as_a_failure_only() -> None:
    statistics = tables.views("trickle")["pg_stat_stream_tables"]
    for action in ("FULL", "DIFFERENTIAL", "NO_DATA"):
        counted = f"count_if(h.action = '{action}' AND h.status <> 'FAILED') AS {action.lower()}_refreshes"
        assert counted in statistics
    assert "count_if(h.status = 'FAILED') AS failures" in statistics
