"""How a stream table goes: with its rows, also from folders that outlive it, and with nothing that is not its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings, StreamTableConfig
from dbt_trickle.errors import CommandError, WarehouseError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.names import Relation
from dbt_trickle.run import leave, repair, retire
from dbt_trickle.run.orphans import Orphan
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import is_conflict

PUBLIC, FIRST = Relation.of("shop", "totals"), Relation.of("changes", "st_5_g1")
REQUEST = Request(5, "model.shop.totals", PUBLIC, "", "", StreamTableConfig(location_root="s3://lake/"))
TABLE = StreamTable(5, "shop", "totals", "model.shop.totals", storage_relation="changes.st_5_g1", generation=1)
SETTINGS = ProjectSettings(change_schema="changes")
EXPOSED = replace(TABLE, expose="table", storage_relation="shop.totals")
VIEW = {"Type": "VIEW", "View Text": "SELECT `a` FROM `changes`.`st_5_g1`"}
OURS = {"Type": "EXTERNAL", "Table Properties": "[delta.minReaderVersion=1,trickle.pgt_id=5,trickle.project=shop]"}


class Warehouse:
    """Tables by their details; what it was not told about does not exist."""

    def __init__(self, tables: Mapping[Relation, Mapping[str, str]], broken: str = "") -> None:
        self.tables, self.broken = {relation.sql: told for relation, told in tables.items()}, broken
        self.done: list[str] = []
        self.there = ["st_5_g1"]
        self.buffers: list[tuple[str, int]] = []  # views of changes that went, and behind how many other statements

    def execute(self, sql: str) -> None:
        if "`changes_pgt_" in sql:
            self.buffers.append((sql, len(self.done)))
            return
        if self.broken and sql.startswith("DELETE"):
            raise WarehouseError("TRK-301", self.broken)
        self.done.append(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql.startswith("SHOW TABLES"):
            return [{"tableName": name} for name in self.there]
        told = self.tables.get(sql.removeprefix("SHOW TBLPROPERTIES ").removeprefix("DESCRIBE TABLE EXTENDED "))
        if told is None:
            raise WarehouseError("TRK-301", "[TABLE_OR_VIEW_NOT_FOUND] it is not there")
        if sql.startswith("SHOW TBLPROPERTIES"):
            pairs = told.get("Table Properties", "").strip("[]").split(",")
            return [dict(zip(("key", "value"), pair.split("="), strict=True)) for pair in pairs if pair]
        rows = [("type", "string"), *told.items()]
        return [{"col_name": name, "data_type": value} for name, value in rows]

    def changed(self) -> list[str]:
        return [" ".join(sql.split()[:-1]) for sql in self.done if not sql.startswith("INSERT")]


def test_no_two_creations_share_a_folder() -> None:
    storages = [FIRST, Relation.of("changes", "st_5_g2"), PUBLIC, Relation.of("other", "totals")]
    folders = [REQUEST.location(storage, run) for storage in storages for run in ("a run", "another")]
    assert len(set(folders)) == 8
    assert str(folders[0]).startswith("s3://lake/st_5_g1_")
    assert replace(REQUEST, config=StreamTableConfig()).location(FIRST, "a run") is None


def test_a_table_under_the_public_name_stays_where_it_lies() -> None:
    assert replace(REQUEST, existing="table").location(PUBLIC, "a run") is None
    assert replace(REQUEST, existing="view").location(PUBLIC, "a run") is not None
    assert replace(REQUEST, existing="table").location(FIRST, "a run") is not None


def test_of_two_first_runs_the_later_one_looks_again() -> None:
    problem = "[DELTA_TABLE_LOCATION_MISMATCH] The location of the existing table is `a`. It doesn't match `b`."
    assert is_conflict(WarehouseError("TRK-301", problem))


@pytest.mark.parametrize(
    ("told", "deleted"),
    [
        (OURS, True),
        ({**OURS, "Type": "MANAGED"}, False),
        ({**OURS, "Table Properties": "[delta.minReaderVersion=1]"}, False),
    ],
)
def test_rows_whose_files_outlive_the_drop_are_deleted(told: Mapping[str, str], deleted: bool) -> None:
    warehouse = Warehouse({FIRST: told})
    retire.drop(warehouse, FIRST)
    assert warehouse.changed() == [*(["DELETE FROM"] if deleted else []), "DROP TABLE IF EXISTS"]


def test_a_folder_that_is_gone_does_not_keep_the_name() -> None:
    for warehouse in (Warehouse({}), Warehouse({FIRST: OURS}, "[DELTA_TABLE_NOT_FOUND] no log")):
        retire.drop(warehouse, FIRST)
        assert warehouse.changed() == ["DROP TABLE IF EXISTS"]
    with pytest.raises(WarehouseError):
        retire.drop(Warehouse({FIRST: OURS}, "access denied"), FIRST)


def test_dropping_takes_the_public_name_first() -> None:
    warehouse = Warehouse({PUBLIC: VIEW, FIRST: OURS})
    leave.drop(warehouse, SETTINGS, TABLE, [TABLE], cascade=False, reads={})
    assert warehouse.changed() == ["DROP VIEW IF EXISTS", "DELETE FROM", "DROP TABLE IF EXISTS"]
    assert warehouse.buffers == [("DROP VIEW IF EXISTS `changes`.`changes_pgt_5`", 1)], "before what it reads"
    warehouse = Warehouse({PUBLIC: VIEW, FIRST: {}})
    warehouse.there = ["st_5_g1", "st_5_g1_changes", "st_55_g1_changes"]
    leave.drop(warehouse, SETTINGS, TABLE, [TABLE], cascade=False, reads={})
    staged = Relation.of("changes", "st_5_g1_changes")
    assert warehouse.done[1:3] == [f"DROP TABLE IF EXISTS {table.sql}" for table in (staged, FIRST)]
    warehouse = Warehouse({PUBLIC: OURS, FIRST: {}})
    leave.drop(warehouse, SETTINGS, EXPOSED, [EXPOSED], cascade=False, reads={})
    assert warehouse.done[:-1] == [
        f"DELETE FROM {PUBLIC.sql}",
        f"DROP TABLE IF EXISTS {PUBLIC.sql}",
        f"DROP TABLE IF EXISTS {FIRST.sql}",
    ]


FOREIGN: dict[str, Mapping[str, str]] = {
    "a view": {"Type": "VIEW", "View Text": "SELECT 1 AS a"},
    "a view of another stream table's": {"Type": "VIEW", "View Text": "SELECT `a` FROM `changes`.`st_6_g1`"},
    # ALTER VIEW … AS keeps the properties.
    "a view that was ours": {"View Text": "SELECT a FROM `shop`.`mine`", "Table Properties": "[trickle.pgt_id=5]"},
    "a table": {"Type": "MANAGED", "Table Properties": "[delta.minReaderVersion=1]"},
    "a table with files elsewhere": {"Type": "EXTERNAL", "Table Properties": ""},
    "another stream table": {"Type": "EXTERNAL", "Table Properties": "[trickle.pgt_id=6]"},
}


@pytest.mark.parametrize("table", [TABLE, EXPOSED], ids=["expose: view", "expose: table"])
@pytest.mark.parametrize("there", FOREIGN.values(), ids=FOREIGN)
def test_what_is_somebody_else_s_by_now_stays(there: Mapping[str, str], table: StreamTable) -> None:
    """A clean-up that failed after the model became a table or a view has left our rows in the catalog."""
    warehouse = Warehouse({PUBLIC: there, FIRST: OURS})
    gone = leave.drop(warehouse, SETTINGS, table, [table], cascade=False, reads={})
    assert (gone.tables, gone.left_alone) == ((table,), (PUBLIC,))
    assert warehouse.done[:-1] == [f"DELETE FROM {FIRST.sql}", f"DROP TABLE IF EXISTS {FIRST.sql}"]
    assert warehouse.done[-1].count(", '')") == 2, "its catalog rows go"


def test_a_name_that_nothing_has() -> None:
    """Of an exposed table the folder may be gone: then the name is all that is left."""
    for table, done in ((TABLE, []), (EXPOSED, [f"DROP TABLE IF EXISTS {PUBLIC.sql}"])):
        warehouse = Warehouse({})
        assert leave.drop(warehouse, SETTINGS, table, [table], cascade=False, reads={}).left_alone == ()
        assert warehouse.done[:-1] == [*done, f"DROP TABLE IF EXISTS {FIRST.sql}"]


def test_a_table_of_ours_where_the_catalog_has_a_view() -> None:
    """A run that went over to `expose: table` died before it could say so."""
    warehouse = Warehouse({PUBLIC: {**OURS, "Type": "MANAGED"}})
    assert leave.drop(warehouse, SETTINGS, TABLE, [TABLE], cascade=False, reads={}).left_alone == ()
    assert warehouse.done[0] == f"DROP TABLE IF EXISTS {PUBLIC.sql}"


def test_no_answer_is_no_leave_to_drop() -> None:
    class Denied(Warehouse):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            raise WarehouseError("TRK-301", "access denied", remedy="-")

    warehouse = Denied({})
    with pytest.raises(WarehouseError, match="access denied"):
        leave.drop(warehouse, SETTINGS, TABLE, [TABLE], cascade=False, reads={})
    assert warehouse.done == []


def test_what_was_read_is_gone_as_well() -> None:
    """Nothing depends on its buffer: it is told, and the reader is dropped."""
    upstream = replace(TABLE, pgt_id=4, pgt_name="upstream", storage_relation="changes.st_4_g1", is_populated=True)
    reader = replace(TABLE, frontier={upstream.key: SourceVersion(upstream.key, "STREAM_TABLE", "", "", 1, "")})

    told: list[str] = []
    warehouse = Warehouse({PUBLIC: VIEW, FIRST: OURS})
    leave.drop(warehouse, SETTINGS, reader, [upstream, reader], cascade=False, reads={}, warn=told.append)
    assert "changes_pgt_4" in told[0]
    assert warehouse.done[-1].startswith("INSERT INTO")
    assert warehouse.buffers[-1][1] < len(warehouse.done), "the catalog does not forget the reader before"


def test_a_reader_that_only_dbt_knows_of() -> None:
    """Its text could not be parsed, so its frontier says nothing of what it reads."""
    reader = replace(TABLE, pgt_id=6, pgt_name="reader", dbt_unique_id="model.shop.reader")
    elsewhere = replace(reader, pgt_id=7, pgt_schema="prod", dbt_target="prod/shop")
    reads = {reader.dbt_unique_id: {TABLE.dbt_unique_id}}
    assert leave.consumers(TABLE, [TABLE, reader, elsewhere], reads) == [reader]
    with pytest.raises(CommandError, match=r"TRK-501.*shop\.totals is read by shop\.reader"):
        leave.drop(Warehouse({}), SETTINGS, TABLE, [TABLE, reader], cascade=False, reads=reads)


def test_the_other_ways_in_which_a_storage_goes() -> None:
    gone = ["DELETE FROM", "DROP TABLE IF EXISTS"]
    public, storage = Orphan(PUBLIC, "VIEW", "", 5, is_public=True), Orphan(FIRST, "TABLE", "", 5)
    found = repair.Findings((), {}, (public, storage), removed=frozenset({5}))
    warehouse = Warehouse({PUBLIC: VIEW, FIRST: OURS})
    assert repair.remove(warehouse, SETTINGS, found) == {public, storage}
    assert warehouse.buffers == [("DROP VIEW IF EXISTS `changes`.`changes_pgt_5`", 0)]
    assert warehouse.changed() == ["DROP VIEW IF EXISTS", *gone]
    # Between the look and the removal somebody has put something else there.
    warehouse = Warehouse({PUBLIC: FOREIGN["a view"], FIRST: OURS})
    assert repair.remove(warehouse, SETTINGS, found) == {storage}
    assert warehouse.changed() == gone
    warehouse = Warehouse({FIRST: OURS})
    served = replace(TABLE, generation=2, storage_relation="changes.st_5_g2")
    waiting = replace(served, retired=((1, "2026-01-01T00:00:00+00:00"),))
    retire.sweep(warehouse, waiting, (), "changes", "2026-01-01T02:00:00+00:00")
    assert warehouse.changed() == gone


def test_a_generation_that_is_served_again_is_not_waiting_to_go() -> None:
    """Of two runs that altered it the one that led readers on last need not be the one that built last; and a hand may
    have put the old view back.
    """
    long_ago, now = "2026-01-01T00:00:00+00:00", "2026-01-01T02:00:00+00:00"
    back = replace(TABLE, retired=((1, long_ago), (2, long_ago)))
    warehouse = Warehouse({FIRST: OURS})
    left = retire.sweep(warehouse, retire.retire(back, [1, 2, 3], now), (), "changes", now)
    assert left.retired == ((3, now),)
    assert [sql for sql in warehouse.done if FIRST.sql in sql] == []
    assert [sql for sql in retire_only(back, now) if FIRST.sql in sql] == []


def retire_only(state: StreamTable, now: str) -> list[str]:
    """As of a state that an earlier release has written."""
    warehouse = Warehouse({FIRST: OURS})
    retire.sweep(warehouse, state, (), "changes", now)
    return warehouse.done


def test_an_old_generation_stays_for_who_goes_on_from_it() -> None:
    waiting = replace(
        TABLE,
        generation=3,
        storage_relation="changes.st_5_g3",
        retired=tuple((g, "2026-01-01T00:00:00+00:00") for g in (1, 2)),
    )
    stands = SourceVersion(TABLE.key, "STREAM_TABLE", str(TABLE.public), str(FIRST), 4, "")
    readers = [replace(TABLE, pgt_id=6, frontier={TABLE.key: stands})]
    warehouse = Warehouse({FIRST: OURS})
    left = retire.sweep(warehouse, waiting, readers, "changes", "2026-01-01T02:00:00+00:00")
    assert left.retired == ((1, "2026-01-01T00:00:00+00:00"),)
    assert [sql for sql in warehouse.done if FIRST.sql in sql] == []
