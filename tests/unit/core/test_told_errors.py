"""Errors that no other test brings about: each with its code, what it is about and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dbt_trickle.apply.bag import TOO_MANY
from dbt_trickle.apply.base import NOT_STORED
from dbt_trickle.apply.shape import SAME_KEY
from dbt_trickle.apply.top import TOO_MANY_WENT
from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.state import Column, StreamTable, Unversioned
from dbt_trickle.cli import lookup
from dbt_trickle.config import ProjectSettings, StreamTableConfig
from dbt_trickle.delta.aggregate.functions import TOO_LARGE
from dbt_trickle.delta.aggregate.state import TOO_FEW
from dbt_trickle.errors import CommandError, ConfigError, ModelError, TrickleError, WarehouseError, raised_in_sql
from dbt_trickle.formats.base import Marker
from dbt_trickle.names import Relation
from dbt_trickle.run import compared, verify
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.refresh import refresh
from dbt_trickle.run.request import Request

PUBLIC = Relation.of("shop", "totals")
COLUMNS = (Column("id", "int", "id"), Column("sum(x)", "bigint", "__pgt_out_1"))
TABLE = StreamTable(
    5,
    "shop",
    "totals",
    "model.shop.totals",
    "changes.st_5_g1",
    1,
    defining_query="select 1 as id, 2 as `sum(x)`",
    is_populated=True,
    status="ACTIVE",
    batch=1,
    columns=COLUMNS,
)
SHOWN = "SELECT `id`, `__pgt_out_1` AS `sum(x)` FROM `changes`.`st_5_g1`"
SETTINGS = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}


class Warehouse:
    """A view over a storage with one commit, and a query that is planned to give two columns."""

    def __init__(self, storage: Mapping[str, str] | None = None, shown: str = SHOWN) -> None:
        self.storage, self.shown = storage or {"id": "int", "sum(x)": "bigint"}, shown
        self.done: list[str] = []

    def execute(self, sql: str) -> None:
        self.done.append(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql.startswith("DESCRIBE QUERY"):
            columns = self.storage if "st_5_g1" in sql else {"id": "int", "sum(x)": "bigint"}
            return [{"col_name": name, "data_type": kind} for name, kind in columns.items()]
        if sql.startswith("DESCRIBE TABLE EXTENDED"):
            return [{"col_name": "View Text", "data_type": self.shown}]
        if sql.startswith("DESCRIBE HISTORY"):
            marker = Marker(5, 1, 1, "FULL", "", "", {}, "then", "a run", 0)
            return [{"version": 3, "timestamp": "2026-01-01", "operation": "WRITE", "userMetadata": marker.to_json()}]
        if sql == "SET":
            return [{"key": key, "value": value} for key, value in SETTINGS.items()]
        return [{"value": "UTC" if "timeZone" in sql else "false", "zone": "UTC"}]

    def created(self) -> list[str]:
        """Beside what the catalog was told."""
        return [sql for sql in self.done if not sql.startswith("INSERT INTO `trickle`.")]


def told(problem: TrickleError, *words: str) -> None:
    assert problem.remedy
    assert [word for word in words if word not in str(problem)] == []


def refused(warehouse: Warehouse, config: StreamTableConfig) -> TrickleError:
    run = Invocation("i", ProjectSettings(), lambda: "now")
    run._catalog, run._meaning = store.Catalog(tables.SCHEMA_VERSION), SETTINGS
    run.open(warehouse, [Planned(5, "r", PUBLIC)])
    with pytest.raises(TrickleError) as problem:
        refresh(Request(5, TABLE.dbt_unique_id, PUBLIC, TABLE.defining_query, "", config), warehouse, run)
    return problem.value


@pytest.mark.parametrize("mode", ["auto", "full"])
@pytest.mark.parametrize("key", ["primary_key", "partition_by", "liquid_clustered_by"])
def test_108_a_key_that_names_no_column(key: str, mode: str) -> None:
    warehouse = Warehouse()
    config = replace(StreamTableConfig(refresh_mode=mode), **{key: ("ID", "nowhere", "nope")})
    problem = refused(warehouse, config)
    assert (type(problem), problem.code) == (ConfigError, "TRK-108")
    told(problem, "stream table shop.totals", f"`{key}` names nowhere, nope,", "Its columns are id, sum(x).")
    assert warehouse.created() == []


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (replace(TABLE, is_populated=False), "it was not loaded yet"),
        (replace(TABLE, unversioned=(Unversioned("shop.p: no Delta table", "shop.p"),)), "shop.p: no Delta table"),
        (replace(TABLE, defining_query="select rand() as id"), "rand"),
        (replace(TABLE, defining_query="select id from shop.orders"), "shop.orders has no version in its frontier"),
        (replace(TABLE, meaning={"spark.sql.session.timeZone": "Asia/Tokyo"}), "it was made with"),
    ],
)
def test_212_what_cannot_be_verified(table: StreamTable, why: str) -> None:
    warehouse = Warehouse()
    with pytest.raises(ModelError) as problem:
        compared.prepare(warehouse, Frozen(warehouse), table, None)
    assert problem.value.code == "TRK-212"
    told(problem.value.about("shop.totals"), "stream table shop.totals", "cannot be verified", why, "trickle verify")
    verdict = verify.verify(warehouse, Frozen(warehouse), table)
    assert (verdict.relation, verdict.outcome) == (PUBLIC, verify.NOT_VERIFIABLE)


def test_305_other_columns_than_the_query_s() -> None:
    warehouse = Warehouse({"id": "string", "sum(x)": "bigint"})
    with pytest.raises(WarehouseError) as problem:
        compared.prepare(warehouse, Frozen(warehouse), TABLE, None)
    assert problem.value.code == "TRK-305"
    told(
        problem.value.about("shop.totals"),
        "stream table shop.totals",
        "it has the columns (id string, sum(x) bigint)",
        "its query gives (id int, sum(x) bigint)",
        "--full-refresh",
    )
    verdict = verify.verify(warehouse, Frozen(warehouse), TABLE)
    assert (verdict.outcome, verdict.reason) == (verify.DIFFERENT, problem.value.what)


@pytest.mark.parametrize(
    "shown",
    [
        "SELECT `id`, `__pgt_out_1` * 2 AS `sum(x)` FROM `changes`.`st_5_g1`",
        "SELECT `id` FROM `changes`.`st_5_g1`",
        "SELECT DISTINCT `id`, `__pgt_out_1` AS `sum(x)` FROM `changes`.`st_5_g1`",
    ],
)
def test_307_a_view_that_does_not_show_its_storage_as_it_is(shown: str) -> None:
    warehouse = Warehouse(shown=shown)
    verdict = verify.verify(warehouse, Frozen(warehouse), TABLE)
    assert (verdict.outcome, shown in verdict.reason) == (verify.DIFFERENT, True)
    with pytest.raises(WarehouseError) as problem:
        compared.prepare(warehouse, Frozen(warehouse), TABLE, None)
    assert problem.value.code == "TRK-307"
    told(problem.value.about("shop.totals"), "its view does not show changes.st_5_g1 as it is", "`dbt run`")


def test_503_a_name_that_several_have() -> None:
    known = [(replace(TABLE, pgt_schema=schema), f"model.{schema}.totals") for schema in ("shop", "shop_dev")]
    assert lookup.chosen(known, "shop.totals") is known[0][0]
    for wanted in ("totals", "TOTALS"):
        with pytest.raises(CommandError) as problem:
            lookup.chosen(known, wanted)
        assert problem.value.code == "TRK-503"
        told(problem.value, f"{wanted} may be shop.totals, shop_dev.totals", "schema.name")


class Named(Warehouse):
    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        return [{"pgt_id": n, "pgt_schema": schema, "pgt_name": "totals"} for n, schema in enumerate(("a", "b"))]


def test_503_in_the_catalog() -> None:
    with pytest.raises(CommandError) as problem:
        lookup.number(Named(), "trickle", "totals")
    assert problem.value.code == "TRK-503"
    told(problem.value, "totals may be a.totals, b.totals")


@pytest.mark.parametrize(
    ("code", "message", "remedy"),
    [
        ("TRK-310", NOT_STORED, "--full-refresh"),
        ("TRK-310", TOO_FEW, "--full-refresh"),
        ("TRK-311", SAME_KEY, "`primary_key`"),
        ("TRK-312", TOO_MANY, "--full-refresh"),
        ("TRK-313", TOO_LARGE, "`refresh_mode: full`"),
        ("TRK-315", TOO_MANY_WENT, "`refresh_mode: auto`"),
    ],
)
@pytest.mark.parametrize(
    "around",
    ["[USER_RAISED_EXCEPTION] {} SQLSTATE: P0001", "{}", "{}\n  in: select 1", "Job aborted: {}. SQLSTATE: P0001"],
)
def test_310_to_315_come_out_of_a_statement(code: str, message: str, remedy: str, around: str) -> None:
    """With their own code and remedy, whatever Spark and the connection say around them."""
    problem = raised_in_sql(around.format(message))
    assert problem is not None
    assert (problem.code, problem.what) == (code, message.removeprefix(f"[{code}] "))
    told(problem.about("shop.totals"), "stream table shop.totals", remedy)
    assert raised_in_sql("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012") is None
