"""What the adapter makes of a model that fails outside of its refresh, or by a bug within it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.trickle.impl import TrickleAdapter
from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.events import Event
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import TrickleBug
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.invocation import Invocation

TABLE = StreamTable(5, "shop", "totals", "model.shop.totals", is_populated=True, status="ACTIVE")


class Journal:
    def execute(self, sql: str) -> None: ...

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        return []


def told_of(failure: BaseException, *begun: int) -> tuple[StreamTable, Event]:
    """What the catalog and the events have of it, when dbt has told it twice."""
    heard: list[Event] = []
    run = Invocation("i", ProjectSettings(), lambda: "now", heard.append)
    run._catalog = store.Catalog(tables.SCHEMA_VERSION, {5: TABLE})
    run._states = {5: TABLE}
    run.open(Journal(), [Planned(5, "r", TABLE.public)])
    adapter = SimpleNamespace(_invocation=run, _begun={*begun})
    for _ in range(2):
        TrickleAdapter._note_failure(adapter, 5, failure)  # type: ignore[arg-type]
    (event,) = heard
    state = run.state(5)
    assert state is not None
    assert (state.consecutive_errors, event.relation) == (1, "shop.totals")
    return state, event


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (DbtRuntimeError("This model has an enforced contract that failed."), "This model has an enforced contract"),
        (ValueError("a macro's own"), "a macro's own"),
        (ValueError(), "ValueError"),
    ],
)
def test_a_hook_or_a_contract_that_failed(failure: Exception, told: str) -> None:
    state, event = told_of(failure, 6)
    first, remedy = str(state.last_error).splitlines()
    assert event.payload["code"] == "TRK-211"
    assert first.startswith(f"[TRK-211] {told}")
    assert "pre-hooks and its contract" in remedy


@pytest.mark.parametrize(
    ("failure", "begun", "told"),
    [
        (TrickleBug("a plan without a commit"), 5, "a plan without a commit"),
        (TrickleBug("before its refresh"), 6, "before its refresh"),
        (KeyError("orders"), 5, "KeyError: 'orders'"),
        (RecursionError(), 5, "RecursionError"),
    ],
)
def test_a_bug_is_told_as_one(failure: Exception, begun: int, told: str) -> None:
    """It may have come after the commit: nobody is told that nothing was touched."""
    state, event = told_of(failure, begun)
    first, remedy = str(state.last_error).splitlines()
    assert event.payload["code"] == "TRK-900"
    assert first == f"[TRK-900] {told}"
    assert remedy.strip().startswith("Please report it")
    assert "not touched" not in remedy
