"""What `trickle repair` takes for nobody's, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dbt_trickle.catalog import store
from dbt_trickle.catalog.state import Buffer, StreamTable
from dbt_trickle.config import ProjectSettings, StreamTableConfig
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats.base import Commit, Marker
from dbt_trickle.names import Relation
from dbt_trickle.run import recover, repair
from dbt_trickle.run.orphans import Scope
from dbt_trickle.run.request import Request, dbt_target

DEV = dbt_target("dev", "Shop")
TABLE = StreamTable(
    5,
    "shop_marts",
    "totals",
    "model.shop.totals",
    storage_relation="changes.st_5_g3",
    generation=3,
    is_populated=True,
    project="shop",
    dbt_target=DEV,
    retired=((2, "2026-01-01T00:00:00+00:00"),),
)
SETTINGS = ProjectSettings(change_schema="changes")
NO_MODELS = Scope("shop", DEV, frozenset({"shop"}), {})
ONE_MODEL = replace(NO_MODELS, models={TABLE.dbt_unique_id: TABLE.public})


class Warehouse:
    """A catalog and storages whose histories tell nothing more. `then`: the catalog after the storages were listed."""

    def __init__(self, entries: Sequence[store.Entry], storages: Sequence[str], then: Sequence[store.Entry] = ()):
        self.entries, self.then, self.storages = list(entries), list(then), storages
        self.done: list[str] = []
        self.public: dict[str, Mapping[str, str]] = {}

    def execute(self, sql: str) -> None:
        if "`changes_pgt_" not in sql:  # see test_leaving.py
            self.done.append(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql.startswith("SHOW TABLES"):
            self.entries += self.then
            return [{"tableName": name} for name in self.storages]
        if sql.startswith("DESCRIBE HISTORY"):
            return []
        relation = sql.split("`", 1)[-1].replace("`", "")
        if sql.startswith("DESCRIBE TABLE EXTENDED") and relation in self.public:
            return [{"col_name": name, "data_type": value} for name, value in self.public[relation].items()]
        if sql.startswith("SHOW TBLPROPERTIES") and relation in self.public:
            return [{"key": "trickle.pgt_id", "value": self.public[relation].get("pgt_id", "")}]
        if "pgt_journal" in sql:
            newest = {(e.kind, e.key): e for e in self.entries}
            return [{"kind": e.kind, "key": e.key, "payload": e.payload} for e in newest.values()]
        raise WarehouseError("TRK-301", f"[TABLE_OR_VIEW_NOT_FOUND] {sql}")


def catalog(*tables: StreamTable) -> list[store.Entry]:
    return [store.schema_version(), *map(store.stream_table, tables)]


def found(warehouse: Warehouse, scope: Scope) -> list[str]:
    return [str(orphan.relation) for orphan in repair.examine(warehouse, SETTINGS, scope).orphans]


def test_a_removed_model_is_found_in_a_schema_that_went_with_it() -> None:
    warehouse = Warehouse(catalog(TABLE), ["st_5_g3"])
    assert found(warehouse, NO_MODELS) == ["shop_marts.totals", "changes.st_5_g3"]
    assert found(warehouse, ONE_MODEL) == []


@pytest.mark.parametrize("other", [dbt_target("prod", "shop"), dbt_target("dev", "other")])
def test_what_another_target_built_is_none_of_ours(other: str) -> None:
    shared = replace(TABLE, pgt_schema="shop", dbt_target=other)
    assert found(Warehouse(catalog(shared), ["st_5_g3"]), NO_MODELS) == []


def test_what_was_recorded_without_its_target_is_told_by_its_schema() -> None:
    old = replace(TABLE, dbt_target="")
    assert found(Warehouse(catalog(old), ["st_5_g3"]), NO_MODELS) == []
    ours = replace(NO_MODELS, schemas=frozenset({"shop", "shop_marts"}))
    assert found(Warehouse(catalog(old), ["st_5_g3"]), ours) == ["shop_marts.totals", "changes.st_5_g3"]


def test_the_target_is_told_by_each_commit() -> None:
    """Or it would be lost with the catalog."""
    request = Request(5, TABLE.dbt_unique_id, TABLE.public, "", "", StreamTableConfig(), project="shop", dbt_target=DEV)
    marker = Marker(5, 1, 3, "FULL", "", "f", {}, "t", "run", 0, request.definition((), ()))
    bare = StreamTable(5, TABLE.pgt_schema, TABLE.pgt_name, TABLE.dbt_unique_id)
    state = recover.apply_marker(bare, TABLE.storage, Commit(0, "then", "WRITE", marker, {}), marker)
    assert (state.project, state.dbt_target) == ("shop", DEV)


def test_a_removed_model_goes_with_all_of_its_generations_at_once() -> None:
    warehouse = Warehouse(catalog(TABLE), ["st_5_g2", "st_5_g3", "st_6_g1"])
    findings = repair.examine(warehouse, SETTINGS, NO_MODELS)
    assert [str(orphan.relation) for orphan in findings.orphans] == [
        "shop_marts.totals",
        "changes.st_5_g2",
        "changes.st_5_g3",
        "changes.st_6_g1",
    ]
    repair.remove(warehouse, SETTINGS, findings)
    assert "DROP TABLE IF EXISTS `changes`.`st_5_g2`" in warehouse.done


@pytest.mark.parametrize(
    ("state", "orphans"),
    [
        (replace(TABLE, change_buffer="table"), ["st_5_g2_changes"]),
        (TABLE, ["st_5_g2_changes", "st_5_g3_changes"]),
        (replace(TABLE, buffer=Buffer("changes.st_5_g3", 3, 1, 1, "", "changes.st_5_g3_changes", (2,))), []),
        (replace(TABLE, buffer=Buffer("changes.st_5_g3", 3, 1, 1, "", left=(3,))), ["st_5_g2_changes"]),
    ],
)
def test_what_was_staged_and_who_reads_it(state: StreamTable, orphans: list[str]) -> None:
    """A first reader may just have come, or the last ones of an older table have to end."""
    there = ["st_5_g3", "st_5_g2_changes", "st_5_g3_changes", "st_6_g1_changes"]
    due = [f"changes.{name}" for name in (*orphans, "st_6_g1_changes")]
    assert found(Warehouse(catalog(state), there), ONE_MODEL) == due
    assert found(Warehouse(catalog(state), there[:-1]), NO_MODELS) == [
        "shop_marts.totals",
        "changes.st_5_g2_changes",
        "changes.st_5_g3_changes",
        "changes.st_5_g3",
    ]


def test_a_removed_table_under_its_public_name() -> None:
    exposed = replace(TABLE, expose="table", storage_relation="shop_marts.totals")
    orphans = repair.examine(Warehouse(catalog(exposed), ["st_5_g2"]), SETTINGS, NO_MODELS).orphans
    assert [(o.kind, str(o.relation)) for o in orphans] == [
        ("TABLE", "shop_marts.totals"),
        ("TABLE", "changes.st_5_g2"),
    ]


VIEW_OF_OURS = {"View Text": "SELECT `a` FROM `changes`.`st_5_g3`"}
FOREIGN_VIEW = {"View Text": "SELECT 1 AS a"}


@pytest.mark.parametrize("expose", ["view", "table"])
@pytest.mark.parametrize("there", [FOREIGN_VIEW, {"Type": "MANAGED", "pgt_id": "6"}, {"Type": "MANAGED"}])
def test_what_is_somebody_else_s_by_now_is_no_orphan(there: Mapping[str, str], expose: str) -> None:
    """The model became a table, and the clean-up behind it failed: our rows are still in the catalog."""
    table = replace(TABLE, expose=expose, storage_relation="changes.st_5_g3" if expose == "view" else str(TABLE.public))
    warehouse = Warehouse(catalog(table), ["st_5_g3"])
    warehouse.public["shop_marts.totals"] = there
    findings = repair.examine(warehouse, SETTINGS, replace(NO_MODELS, others={TABLE.dbt_unique_id: TABLE.public}))
    assert [str(orphan.relation) for orphan in findings.orphans] == ["changes.st_5_g3"]
    [left] = findings.left_alone
    assert (str(left.relation), left.reason) == (
        "shop_marts.totals",
        "its model is not a stream_table any more; what has its name now is somebody else's",
    )
    repair.remove(warehouse, SETTINGS, findings)
    *dropped, forgotten = warehouse.done
    assert dropped == ["DROP TABLE IF EXISTS `changes`.`st_5_g3`"]
    assert forgotten.count(", '')") == 2, "its catalog rows go"


def test_what_is_left_of_it_is_a_name_of_somebody_else_s() -> None:
    """Then only the catalog's rows go, or `trickle status` would show them for ever."""
    warehouse = Warehouse(catalog(TABLE), [])
    warehouse.public["shop_marts.totals"] = FOREIGN_VIEW
    repair.remove(warehouse, SETTINGS, repair.examine(warehouse, SETTINGS, NO_MODELS))
    assert warehouse.done[0] == "DROP TABLE IF EXISTS `changes`.`st_5_g3`"
    assert warehouse.done[-1].count(", '')") == 2


def test_a_model_of_another_materialization_that_has_not_run_yet() -> None:
    """Readers still get the stream table: neither its name nor its storage is anybody's to take."""
    warehouse = Warehouse(catalog(TABLE), ["st_5_g2", "st_5_g3"])
    warehouse.public["shop_marts.totals"] = VIEW_OF_OURS
    findings = repair.examine(warehouse, SETTINGS, replace(NO_MODELS, others={TABLE.dbt_unique_id: TABLE.public}))
    assert (findings.orphans, findings.removed) == ((), frozenset())
    [left] = findings.left_alone
    assert left.reason == "its model is not a stream_table any more; the next run of the model replaces it"


@pytest.mark.parametrize("now", [None, Relation.of("shop", "elsewhere")])
def test_a_name_that_its_model_does_not_build_any_more(now: Relation | None) -> None:
    """It is ephemeral now, or has another name as well."""
    warehouse = Warehouse(catalog(TABLE), ["st_5_g3"])
    warehouse.public["shop_marts.totals"] = VIEW_OF_OURS
    findings = repair.examine(warehouse, SETTINGS, replace(NO_MODELS, others={TABLE.dbt_unique_id: now}))
    assert [str(orphan.relation) for orphan in findings.orphans] == ["shop_marts.totals", "changes.st_5_g3"]
    assert {o.reason for o in findings.orphans} == {"its model is not a stream_table any more"}
    assert len(repair.remove(warehouse, SETTINGS, findings)) == 2
    assert warehouse.done[0] == "DROP VIEW IF EXISTS `shop_marts`.`totals`"


def test_a_generation_that_waits_for_its_readers_is_no_orphan() -> None:
    assert found(Warehouse(catalog(TABLE), ["st_5_g2", "st_5_g3"]), ONE_MODEL) == []
    assert found(Warehouse(catalog(TABLE), ["st_5_g1", "st_5_g3"]), ONE_MODEL) == ["changes.st_5_g1"]


def test_an_older_catalog_is_brought_up_to_date() -> None:
    """Its version is written: nobody else would remake the views any more."""
    warehouse = Warehouse([], [])
    repair.write(warehouse, SETTINGS, repair.Findings((TABLE,), {TABLE.pgt_id: TABLE}, (), ()))
    views = [sql for sql in warehouse.done if sql.startswith("ALTER VIEW")]
    assert len(views) == 10
    assert warehouse.done[-1].startswith("INSERT INTO")


@pytest.mark.parametrize("late", [False, True])
def test_what_a_run_is_building_is_left_alone(late: bool) -> None:
    """The next generation of an ALTER, and a first one, which the catalog knows by the announcement only."""
    opened = [store.opened("i", {5: TABLE.public, 6: Relation.of("shop", "new")})]
    known = catalog(TABLE)
    names = ["st_5_g3", "st_5_g4", "st_6_g1", "st_7_g1"]
    warehouse = Warehouse(known, names, opened) if late else Warehouse([*known, *opened], names)
    findings = repair.examine(warehouse, SETTINGS, ONE_MODEL)
    assert [str(orphan.relation) for orphan in findings.orphans] == ["changes.st_7_g1"]
    assert [str(orphan.relation) for orphan in findings.left_alone] == ["changes.st_5_g4", "changes.st_6_g1"]
    ended = Warehouse([*known, *opened, store.closed("i")], names)
    assert found(ended, ONE_MODEL) == ["changes.st_5_g4", "changes.st_6_g1", "changes.st_7_g1"]
