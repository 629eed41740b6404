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
        if sql.startswith("SHOW TABLES"):
            return [{"tableName": "st_5_g1"}]
        rows = [{"version": v, "timestamp": NOW, **commit} for v, commit in enumerate(self.commits, 3)]
        return rows[::-1]


def buffers(warehouse: Warehouse, told: list[str], now: datetime = NOW) -> Buffers:
    return Buffers(warehouse, ProjectSettings(change_schema="changes"), now.isoformat(), told.append)


def kept(warehouse: Warehouse, state: StreamTable, is_read: bool, now: datetime = NOW) -> StreamTable:
    told: list[str] = []
    found = buffers(warehouse, told, now).kept(state, is_read)
    assert bool(told) == bool(warehouse.broken)
    return found


def changed(warehouse: Warehouse, state: StreamTable, is_read: bool) -> StreamTable:
    told: list[str] = []
    found = buffers(warehouse, told).after_change(state, is_read)
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


def test_it_moves_on_from_where_its_feed_was_switched_on_last() -> None:
    """It was off for a while: what the state says of it is of before."""
    warehouse = Warehouse({"operation": "MERGE"}, ON, properties=PROPERTIES, view=True)
    state = replace(TABLE, buffer=Buffer("changes.st_5_g1", 1, 1, 2, NOW.isoformat()))
    later = NOW + SHOWN
    assert kept(warehouse, state, True, later).buffer == Buffer("changes.st_5_g1", 1, 5, 5, later.isoformat())
    gone = Warehouse({"operation": "MERGE"})
    assert kept(gone, state, True, later).buffer == Buffer("changes.st_5_g1", 1, 5, 5, later.isoformat())
    assert gone.done == ["ALTER TABLE", "CREATE VIEW"]


OPEN = replace(TABLE, buffer=Buffer("changes.st_5_g1", 1, 4, 4, NOW.isoformat()))


def test_a_reader_that_comes_back_finds_what_the_state_tells_of() -> None:
    """`trickle drop` of the last reader closes it, and does not write the state of what was read."""
    closed = Warehouse()
    assert changed(closed, OPEN, True).buffer == replace(OPEN.buffer, since=4, later=4)
    assert closed.done == ["ALTER TABLE", "CREATE VIEW"]
    there = Warehouse(ON, properties=PROPERTIES, view=True)
    assert changed(there, OPEN, True) == OPEN
    assert there.done == []


def test_one_of_which_the_state_does_not_know_goes_with_its_reader() -> None:
    """The run of the first reader did not refresh what it reads."""
    warehouse = Warehouse(ON, properties=PROPERTIES, view=True)
    assert changed(warehouse, TABLE, False) == TABLE
    assert warehouse.done == ["DROP VIEW", "ALTER TABLE"]


def test_a_lost_connection_is_for_the_whole_refresh_to_try_again() -> None:
    """The new one has not what the hooks of the model have set."""

    class Lost(Warehouse):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            raise WarehouseError("TRK-306", "the connection was lost")

    told: list[str] = []
    with pytest.raises(WarehouseError, match="TRK-306"):
        buffers(Lost(), told).kept(TABLE, True, before_commit=True)
    assert told == []
    assert buffers(Lost(), told).kept(TABLE, True) == buffers(Lost(), told).after_change(TABLE, True) == TABLE
    assert len(told) == 2, "behind the commit it is only told"


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
    for schema, name in (("changes", "st_5_g1"), ("shop", "totals"), ("shop", "q1"), ("a", "t")):
        storage = Relation.of(schema, name)
        odd = misspelled(storage)
        assert odd.key == storage.key
        assert odd.sql != storage.sql
        assert odd.sql != storage.sql.upper() or schema == "a"
