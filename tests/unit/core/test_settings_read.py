"""The session's settings belong to a definition: how often they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings, StreamTableConfig
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.refresh import refresh
from dbt_trickle.run.request import Request

PUBLIC = Relation.of("shop", "totals")
REQUEST = Request(5, "model.shop.totals", PUBLIC, "select nope", "", StreamTableConfig(), existing="view")
TABLE = StreamTable(5, "shop", "totals", "model.shop.totals", "changes.st_5_g1", 1, is_populated=True, batch=1)


class Warehouse:
    """Has settings, and plans no query."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def execute(self, sql: str) -> None:
        """Only the catalog's appends come here."""

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self.asked.append(sql)
        if sql == "SET":
            return [{"key": "spark.sql.ansi.enabled", "value": "false"}]
        if "current_timezone" in sql:
            return [{"zone": "UTC"}]
        raise WarehouseError("TRK-301", "[UNRESOLVED_COLUMN] nope")


def opened(warehouse: Warehouse, state: StreamTable | None) -> Invocation:
    run = Invocation("i", ProjectSettings(), lambda: "now")
    run._catalog = store.Catalog(tables.SCHEMA_VERSION)
    run._states = {5: state} if state is not None else {}
    run.open(warehouse, [Planned(5, "r", PUBLIC)])
    warehouse.asked.clear()
    return run


@pytest.mark.parametrize("hooked", [False, True])
def test_they_are_read_once_a_refresh(hooked: bool) -> None:
    warehouse = Warehouse()
    run = opened(warehouse, None)
    for read in (1, 2 if hooked else 1):
        with pytest.raises(WarehouseError, match="nope"):
            refresh(replace(REQUEST, hooked=hooked), warehouse, run)
        assert warehouse.asked.count("SET") == read, "another refresh's hooks may have set others"


@pytest.mark.parametrize(
    ("state", "config"),
    [
        (replace(TABLE, suspended_by="USER"), StreamTableConfig()),
        (TABLE, StreamTableConfig(status="suspended")),
        (None, StreamTableConfig(status="suspended")),
    ],
)
def test_what_the_user_has_suspended_asks_nothing(state: StreamTable | None, config: StreamTableConfig) -> None:
    warehouse = Warehouse()
    run = opened(warehouse, state)
    assert refresh(replace(REQUEST, config=config), warehouse, run).refresh.action == "SKIP"
    assert warehouse.asked == []
