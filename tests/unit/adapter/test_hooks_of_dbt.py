"""What the adapter makes of a model that fails outside of its refresh."""

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
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.invocation import Invocation

TABLE = StreamTable(5, "shop", "totals", "model.shop.totals", is_populated=True, status="ACTIVE")


class Journal:
    def execute(self, sql: str) -> None: ...

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        return []


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (DbtRuntimeError("This model has an enforced contract that failed."), "This model has an enforced contract"),
        (ValueError("a macro's own"), "a macro's own"),
        (ValueError(), "ValueError"),
    ],
)
def test_a_hook_or_a_contract_that_failed(failure: Exception, told: str) -> None:
    heard: list[Event] = []
    run = Invocation("i", ProjectSettings(), lambda: "now", heard.append)
    run._catalog = store.Catalog(tables.SCHEMA_VERSION, {5: TABLE})
    run._states = {5: TABLE}
    run.open(Journal(), [Planned(5, "r", TABLE.public)])
    TrickleAdapter._note_failure(SimpleNamespace(_invocation=run), 5, failure)  # type: ignore[arg-type]
    state, [event] = run.state(5), heard
    assert state is not None
    assert (state.consecutive_errors, event.relation, event.payload["code"]) == (1, "shop.totals", "TRK-211")
    first, remedy = str(state.last_error).splitlines()
    assert first.startswith(f"[TRK-211] {told}")
    assert "pre-hooks and its contract" in remedy
    # What its refresh has told already is not told again.
    TrickleAdapter._note_failure(SimpleNamespace(_invocation=run), 5, failure)  # type: ignore[arg-type]
    assert len(heard) == 1
