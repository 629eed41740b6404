"""A stream table's own changes: switched on for its first reader, shown, moved on, and gone with its last one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from dbt_trickle.catalog.state import Buffer, Column, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.plan.buffer import misspelled, query
from dbt_trickle.run.buffers import PROPERTIES, SHOWN, Buffers

NOW = datetime(2026, 1, 8, tzinfo=timezone.utc)
TABLE = StreamTable(
    5,
    "shop",
    "totals",
    "model.shop.totals",
    storage_relation="changes.st_5_g1",
    generation=1,
    is_populated=True,
    columns=(Column("region", "string", "region"), Column("a b", "int", "__pgt_out_1")),
    engine={"mark": "m"},
    storage_version=3,
    seen_version=3,
)
ON = {"operation": "SET TBLPROPERTIES", "operationParameters": {"properties": '{"delta.enableChangeDataFeed":"true"}'}}


class Warehouse:
    """One storage, and at most one view."""

    def __init__(self, *later: Mapping[str, Any], properties: Mapping[str, str] = {}, view: bool = False) -> None:
        self.commits = [{"operation": "MERGE", "operationMetrics": {}}, *later]
        self.properties, self.view = dict(properties), view
        self.done: list[str] = []
        self.broken = ""

    def execute(self, sql: str) -> None:
        if self.broken and sql.startswith(self.broken):
            raise WarehouseError("TRK-301", "not allowed")
        self.done.append(" ".join(sql.split()[:2]))
        if "UNSET" in sql:
            self.properties.clear()
        elif "SET TBLPROPERTIES" in sql:
            self.properties.update(PROPERTIES)
            self.commits.append(ON)
        self.view = ("VIEW" in sql and not sql.startswith("DROP")) or (self.view and "TABLE " in sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql.startswith("SHOW TBLPROPERTIES"):
            return [{"key": key, "value": value} for key, value in self.properties.items()]
        if sql.startswith("SHOW VIEWS"):
            return [{"viewName": "changes_pgt_5"}] if self.view else []
        rows = [{"version": v, "timestamp": NOW, **commit} for v, commit in enumerate(self.commits, 3)]
        return rows[::-1]


def kept(warehouse: Warehouse, state: StreamTable, is_read: bool, now: datetime = NOW) -> StreamTable:
    told: list[str] = []
    settings = ProjectSettings(change_schema="changes")
    found = Buffers(warehouse, settings, now.isoformat(), told.append).kept(state, is_read)
    assert bool(told) == bool(warehouse.broken)
    return found


def test_the_first_reader_and_the_last_one() -> None:
    warehouse = Warehouse()
    state = kept(warehouse, TABLE, True)
    assert state.buffer == Buffer("changes.st_5_g1", 1, 4, 4, NOW.isoformat())
    assert (state.seen_version, warehouse.done) == (4, ["ALTER TABLE", "CREATE VIEW"])
    assert kept(warehouse, state, True) == state
    assert StreamTable.from_row(state.to_row()) == state
    assert kept(warehouse, state, False).buffer is None
    assert warehouse.done[2:] == ["DROP VIEW", "ALTER TABLE"]
    assert warehouse.properties == {}


def test_what_nobody_reads_costs_nothing() -> None:
    warehouse = Warehouse()
    assert kept(warehouse, TABLE, False) == TABLE
    assert kept(warehouse, replace(TABLE, is_populated=False), True).buffer is None
    assert warehouse.done == []


def test_what_a_run_that_died_has_done_is_not_done_twice() -> None:
    warehouse = Warehouse(ON, {"operation": "MERGE"}, properties=PROPERTIES, view=True)
    state = kept(warehouse, TABLE, True)
    assert state.buffer == Buffer("changes.st_5_g1", 1, 4, 5, NOW.isoformat())
    assert warehouse.done == ["ALTER VIEW"]
    assert state.seen_version == 3, "somebody may have written: that is for the next look"


def test_a_feed_that_the_user_has_asked_for_stays() -> None:
    warehouse = Warehouse(properties={"delta.enableChangeDataFeed": "true"})
    state = kept(warehouse, TABLE, True)
    assert state.buffer is not None
    assert state.buffer.since == 3, "since when it is on is not known"
    kept(warehouse, state, False)
    assert warehouse.done == ["CREATE VIEW", "DROP VIEW"]


def test_another_generation_is_shown_instead() -> None:
    warehouse = Warehouse(properties=PROPERTIES, view=True)
    before = replace(TABLE, buffer=Buffer("changes.st_5_g0", 0, 9, 9, NOW.isoformat()))
    state = kept(warehouse, before, True)
    assert state.buffer is not None
    assert (state.buffer.storage, warehouse.done) == ("changes.st_5_g1", ["ALTER VIEW"])


def test_another_generation_in_the_same_storage_has_other_columns() -> None:
    replaced = {"operation": "REPLACE TABLE AS SELECT", "operationParameters": ON["operationParameters"]}
    warehouse = Warehouse(ON, {"operation": "MERGE"}, replaced, properties=PROPERTIES, view=True)
    before = replace(TABLE, generation=2, buffer=Buffer("changes.st_5_g1", 1, 4, 4, NOW.isoformat()))
    state = kept(warehouse, before, True)
    assert state.buffer == Buffer("changes.st_5_g1", 2, 6, 6, NOW.isoformat())
    assert warehouse.done == ["ALTER VIEW"]


def test_it_moves_on_before_a_vacuum_takes_what_it_shows() -> None:
    warehouse = Warehouse(properties=PROPERTIES, view=True)
    state = replace(TABLE, buffer=Buffer("changes.st_5_g1", 1, 1, 2, NOW.isoformat()))
    assert kept(warehouse, state, True, NOW + SHOWN - timedelta(seconds=1)) == state
    later = NOW + SHOWN
    assert kept(warehouse, state, True, later).buffer == Buffer("changes.st_5_g1", 1, 2, 3, later.isoformat())
    assert warehouse.done == ["ALTER VIEW"]


@pytest.mark.parametrize("broken", ["ALTER TABLE", "CREATE VIEW"])
def test_what_cannot_be_done_is_told_and_no_more(broken: str) -> None:
    warehouse = Warehouse()
    warehouse.broken = broken
    assert kept(warehouse, TABLE, True).buffer is None


def test_the_view() -> None:
    buffer = Buffer("changes.st_5_g1", 1, 4, 4, "")
    text = query(TABLE, buffer, Relation.of("trickle", "pgt_refresh_history"))
    assert "c.`__pgt_row_id` AS pk_hash, c.`region` AS `new_region`, c.`__pgt_out_1` AS `new_a b`" in text
    assert "'startingVersion' = '4'" in text
    bare = query(replace(TABLE, engine={}), buffer, Relation.of("trickle", "pgt_refresh_history"))
    assert "xxhash64(c.`region` IS NULL, c.`region`" in bare


def test_a_name_that_spark_does_not_take_for_the_storages() -> None:
    for name in ("st_5_g1", "totals", "t"):
        storage = Relation.of("changes", name)
        odd = misspelled(storage)
        assert odd.key == storage.key
        assert odd.sql not in (storage.sql, storage.sql.upper()) or name == "t"
