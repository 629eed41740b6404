"""The table in which refreshes stage: there for the first reader, emptied as far as all have read, gone at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from test_buffers import NOW, ON, TABLE

from dbt_trickle.apply.staged import create
from dbt_trickle.catalog.state import Buffer, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats.base import Marker, SourceVersion
from dbt_trickle.names import Relation
from dbt_trickle.plan.buffer import query
from dbt_trickle.run import retire
from dbt_trickle.run.buffers import PROPERTIES, Buffers

STAGING = replace(TABLE, change_buffer="table", batch=4, storage_version=7, seen_version=7)
CHANGES = "changes.st_5_g1_changes"
BUFFER = Buffer("changes.st_5_g1", 1, 7, 7, NOW.isoformat(), CHANGES)


def commit(version: int, batch: int) -> dict[str, Any]:
    marker = Marker(5, batch, 1, "DIFFERENTIAL", "", "", {}, "", "run", 0).to_json()
    return {"version": version, "timestamp": NOW, "operation": "MERGE", "operationMetrics": {}, "userMetadata": marker}


class Warehouse:
    def __init__(self, **properties: str) -> None:
        self.properties = properties
        self.done: list[str] = []
        self.history = [commit(version, version - 3) for version in (7, 6, 5, 4)]
        self.fails = ""
        self.tables: list[str] = []

    def execute(self, sql: str) -> None:
        if self.fails and sql.startswith("DELETE"):
            raise WarehouseError("TRK-301", self.fails)
        self.done.append(sql)
        if "UNSET" in sql:
            self.properties = {}
            self.history.insert(0, {**ON, "operation": "UNSET TBLPROPERTIES", "version": 8, "timestamp": NOW})

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql.startswith("SHOW TBLPROPERTIES"):
            return [{"key": key, "value": value} for key, value in self.properties.items()]
        if sql.startswith("SHOW TABLES"):
            return [{"tableName": name} for name in ("st_5_g1", *self.tables)]
        return [] if sql.startswith("SHOW VIEWS") else self.history

    @property
    def words(self) -> list[str]:
        return [" ".join(sql.replace("IF NOT EXISTS ", "").replace("IF EXISTS ", "").split()[:3]) for sql in self.done]


def buffers(warehouse: Warehouse, now: datetime = NOW, told: list[str] | None = None) -> Buffers:
    warn = (lambda _: None) if told is None else told.append
    return Buffers(warehouse, ProjectSettings(change_schema="changes"), now.isoformat(), warn)


def reader(version: int, storage: str = "changes.st_5_g1") -> StreamTable:
    at = SourceVersion("pgt_5", "STREAM_TABLE", "shop.totals", storage, version, "")
    return replace(TABLE, pgt_id=6 + version, frontier={"pgt_5": at})


def test_the_first_reader_and_the_last_one() -> None:
    warehouse = Warehouse()
    state = buffers(warehouse).kept(STAGING, True)
    assert state == replace(STAGING, buffer=BUFFER)
    assert warehouse.words == ["CREATE TABLE `changes`.`st_5_g1_changes`", "CREATE VIEW `changes`.`changes_pgt_5`"]
    assert StreamTable.from_row(state.to_row()) == state
    assert buffers(warehouse).kept(state, True) == state
    assert buffers(warehouse).kept(state, False).buffer is None
    gone = ["DROP VIEW `changes`.`changes_pgt_5`", "DROP TABLE `changes`.`st_5_g1_changes`"]
    assert warehouse.words[2:] == gone, "a view before what it reads"


def test_one_of_which_the_state_does_not_know_goes_with_its_reader() -> None:
    """The run of the first reader did not refresh what it reads."""
    warehouse = Warehouse()
    warehouse.tables = ["st_5_g1_changes", "st_5_g0_changes"]
    assert buffers(warehouse).after_change(STAGING, False).buffer is None
    assert warehouse.done[1:] == [f"DROP TABLE IF EXISTS `changes`.`st_5_g{n}_changes`" for n in (0, 1)]


def test_one_that_has_gone_with_another_reader_is_made_again() -> None:
    warehouse = Warehouse()
    assert buffers(warehouse).after_change(replace(STAGING, buffer=BUFFER), True).buffer == BUFFER
    assert warehouse.words[0] == "CREATE TABLE `changes`.`st_5_g1_changes`"


def test_what_is_there_already_stays() -> None:
    """Somebody may be staging in it."""
    assert create(Relation.parse(CHANGES), STAGING.storage).startswith("CREATE TABLE IF NOT EXISTS ")


def test_a_feed_is_switched_off_for_it_and_on_again() -> None:
    warehouse = Warehouse(**PROPERTIES)
    with_feed = replace(STAGING, buffer=Buffer("changes.st_5_g1", 1, 4, 4, NOW.isoformat()))
    state = buffers(warehouse).kept(with_feed, True)
    assert state.buffer == BUFFER
    assert (state.seen_version, warehouse.properties) == (8, {})
    back = buffers(warehouse).kept(replace(state, change_buffer="feed"), True)
    assert back.buffer is not None
    assert (back.buffer.table, back.buffer.left) == ("", (1,)), "somebody may be reading it"
    assert not any(sql.startswith("DROP TABLE") for sql in warehouse.done)
    later = NOW + retire.GRACE
    after = buffers(warehouse, later).kept(back, True)
    assert after.buffer == replace(back.buffer, left=())
    assert warehouse.done[-1] == "DROP TABLE IF EXISTS `changes`.`st_5_g1_changes`"


def test_once_more_before_it_is_gone() -> None:
    feed = Buffer("changes.st_5_g1", 1, 4, 4, NOW.isoformat(), left=(1,))
    state = buffers(Warehouse()).kept(replace(STAGING, buffer=feed), True)
    assert state.buffer == BUFFER, "it is not to be dropped in an hour"


def test_another_generation_has_another_one() -> None:
    warehouse = Warehouse()
    before = replace(STAGING, generation=2, storage_relation="changes.st_5_g2", buffer=BUFFER)
    state = buffers(warehouse).kept(before, True)
    assert state.buffer is not None
    assert (state.buffer.table, state.buffer.left) == ("changes.st_5_g2_changes", (1,))
    assert buffers(warehouse, NOW + retire.GRACE - timedelta(seconds=1)).kept(state, True) == state
    buffers(warehouse, NOW + retire.GRACE).kept(state, True)
    assert warehouse.done[-1] == "DROP TABLE IF EXISTS `changes`.`st_5_g1_changes`"
    buffers(warehouse).kept(state, False)
    assert warehouse.done[-2:] == [f"DROP TABLE IF EXISTS `changes`.`st_5_g{n}_changes`" for n in (1, 2)]


@pytest.mark.parametrize(
    ("readers", "consumed"),
    [
        ([reader(7)], 4),
        ([reader(7), reader(5)], 2),
        ([reader(6), reader(9)], 3),
        ([reader(3)], 0),
        # From another storage it goes on by the difference of the two, and needs nothing of this one's.
        ([reader(1, "changes.st_5_g0"), reader(7)], 4),
        ([reader(1, "changes.st_5_g0")], 4),
    ],
)
def test_what_all_have_read_goes_and_what_never_came_to_count(readers: list[StreamTable], consumed: int) -> None:
    warehouse = Warehouse()
    state = replace(STAGING, buffer=BUFFER)
    assert buffers(warehouse).emptied(state, readers) == state
    [sent] = warehouse.done
    assert sent == (f"DELETE FROM `changes`.`st_5_g1_changes` WHERE `__pgt_batch` <= {consumed} OR `__pgt_batch` > 4")


def test_nothing_is_emptied_where_the_feed_is_read() -> None:
    warehouse = Warehouse()
    for buffer in (None, replace(BUFFER, table="")):
        buffers(warehouse).emptied(replace(STAGING, buffer=buffer), [reader(7)])
    assert warehouse.done == []


def test_what_cannot_be_emptied_is_told_unless_another_run_is_at_it() -> None:
    warehouse, told = Warehouse(), list[str]()
    state = replace(STAGING, buffer=BUFFER)
    warehouse.fails = "DELTA_CONCURRENT_DELETE_READ"
    assert buffers(warehouse, told=told).emptied(state, [reader(7)]) == state
    assert told == []
    warehouse.fails = "not allowed"
    assert buffers(warehouse, told=told).emptied(state, [reader(7)]) == state
    assert len(told) == 1


def test_a_lost_connection_is_for_the_whole_refresh_to_try_again() -> None:
    """The next one has nothing of what a model's hooks have set."""

    class Lost(Warehouse):
        def execute(self, sql: str) -> None:
            raise WarehouseError("TRK-306", "the connection was lost")

    told: list[str] = []
    with pytest.raises(WarehouseError, match="TRK-306"):
        buffers(Lost(), told=told).emptied(replace(STAGING, buffer=BUFFER), [reader(7)])
    assert told == []


def test_one_that_was_dropped_by_hand_is_made_again() -> None:
    warehouse = Warehouse()
    warehouse.fails = "[TABLE_OR_VIEW_NOT_FOUND]"
    assert buffers(warehouse).emptied(replace(STAGING, buffer=BUFFER), [reader(7)]).buffer == BUFFER
    assert warehouse.words[0] == "CREATE TABLE `changes`.`st_5_g1_changes`"


def test_the_view_shows_what_counts() -> None:
    history = Relation.of("trickle", "pgt_refresh_history")
    text = query(STAGING, BUFFER, history)
    assert "FROM `changes`.`st_5_g1_changes` AS c JOIN (SELECT staged" in text
    assert "ON h.staged = c.`__pgt_token`" in text
    assert "c.`__pgt_row_id` AS pk_hash, c.`region` AS `new_region`, c.`__pgt_out_1` AS `new_a b`" in text
    assert "xxhash64(c.`region` IS NULL" in query(replace(STAGING, engine={}), BUFFER, history)
