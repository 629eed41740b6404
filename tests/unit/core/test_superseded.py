"""Another run alters a stream table while this one brings changes into the generation that readers saw before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats.base import Commit, Marker
from dbt_trickle.names import Relation
from dbt_trickle.plan import steps
from dbt_trickle.run.commit import run_steps
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import is_conflict
from dbt_trickle.run.situation import Phases

PUBLIC, FIRST, SECOND = Relation.of("shop", "totals"), "changes.st_5_g1", "changes.st_5_g2"
BEFORE = StreamTable(5, "shop", "totals", "model.shop.totals", FIRST, 1, is_populated=True, batch=1)
SQL = "MERGE INTO it"


class Warehouse:
    """Takes every commit; the public name shows what another run has made it show meanwhile."""

    def __init__(self, shown: str | None) -> None:
        self.shown, self.marker, self.asked = shown, Marker(5, 2, 1, "DIFFERENTIAL", "", "", {}, "", "mine", 0), 0

    def execute(self, sql: str) -> None:
        """What is set around a commit."""

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql == SQL:
            return [{"num_affected_rows": 1}]
        if sql.startswith("DESCRIBE HISTORY"):
            row = {"version": 2, "timestamp": "2026-01-01T00:00:00+00:00", "operation": "MERGE", "operationMetrics": {}}
            return [{**row, "userMetadata": self.marker.to_json()}]
        if sql.startswith("DESCRIBE TABLE EXTENDED"):
            self.asked += 1
            if self.shown is None:
                raise WarehouseError("TRK-301", "[TABLE_OR_VIEW_NOT_FOUND]")
            schema, name = self.shown.split(".")
            return [{"col_name": "View Text", "data_type": f"SELECT a FROM `{schema}`.`{name}`"}]
        return [{"value": "static"}]


def brought_in(warehouse: Warehouse, storage: Relation, before: StreamTable | None = BEFORE) -> Commit | None:
    request = Request(5, "model.shop.totals", PUBLIC, "select 1", "", StreamTableConfig())
    here = SimpleNamespace(session=warehouse, request=request, before=before, phases=Phases())
    plan = (steps.Commit(SQL, storage, warehouse.marker, may_be_empty=True),)
    return run_steps(here, plan)[1]  # type: ignore[arg-type]


def test_what_no_reader_will_see_is_not_told_as_done() -> None:
    with pytest.raises(WarehouseError, match=r"TRK-303.*changes\.st_5_g2") as raised:
        brought_in(Warehouse(SECOND), BEFORE.storage)
    assert is_conflict(raised.value), "it is looked at again, and gone on from what readers see"


@pytest.mark.parametrize("shown", [FIRST, None, "other.table"])
def test_what_readers_see_is_done(shown: str | None) -> None:
    """Where the name is gone, or somebody else's, no other run has led readers on."""
    warehouse = Warehouse(shown)
    found = brought_in(warehouse, BEFORE.storage)
    assert found is not None
    assert (found.version, warehouse.asked) == (2, 1)


@pytest.mark.parametrize(
    ("storage", "before"), [(PUBLIC, BEFORE), (Relation.of("changes", "st_5_g3"), BEFORE), (BEFORE.storage, None)]
)
def test_nothing_is_asked_where_no_name_can_have_moved(storage: Relation, before: StreamTable | None) -> None:
    """The table under the public name itself; a generation that readers are yet to be led to."""
    warehouse = Warehouse(SECOND)
    assert brought_in(warehouse, storage, before) is not None
    assert warehouse.asked == 0
