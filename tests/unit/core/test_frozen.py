"""A query at a frontier: the states are given, and one that cannot be had again is said so."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats.base import Marker, SourceVersion
from dbt_trickle.run.frozen import Frozen, Unverifiable
from dbt_trickle.run.views import parse_view

MEANING = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}
START = datetime(2026, 1, 2, 3, 4, 5)


def told(version: int) -> str:
    return (START + timedelta(minutes=version)).isoformat(timespec="milliseconds") + "+00:00"


def commit(version: int, marker: Marker | None = None) -> dict[str, Any]:
    return {
        "version": version,
        "timestamp": START + timedelta(minutes=version),
        "operation": "WRITE",
        "userMetadata": marker.to_json() if marker else None,
        "operationMetrics": {},
    }


class Warehouse:
    """Histories by relation, newest commit first, and descriptions of views."""

    def __init__(self, histories: Mapping[str, Sequence[dict[str, Any]]], views: Mapping[str, str] | None = None):
        self.histories, self.views = histories, views or {}
        self.asked: list[str] = []

    def execute(self, sql: str) -> None:
        raise AssertionError(f"verifying must not change anything: {sql}")

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self.asked.append(sql)
        for name, commits in self.histories.items():
            if sql.startswith(f"DESCRIBE HISTORY {name} LIMIT "):
                return commits[: int(sql.split()[-1])]
        for name, description in self.views.items():
            if sql == f"DESCRIBE TABLE EXTENDED {name} AS JSON":
                return [{"json_metadata": description}]
        raise WarehouseError("TRK-301", "[TABLE_OR_VIEW_NOT_FOUND] it is not there")


def newest(version: int, oldest: int = 0) -> list[dict[str, Any]]:
    return [commit(v) for v in range(version, oldest - 1, -1)]


def at(name: str, version: int, kind: str = "TABLE", table_id: str = "id", when: str | None = None) -> SourceVersion:
    return SourceVersion(name.lower(), kind, name, table_id, version, when if when is not None else told(version))


def stream_table(text: str, *versions: SourceVersion) -> StreamTable:
    frontier = {version.key: version for version in versions}
    return StreamTable(1, "shop", "t", "model.shop.t", defining_query=text, frontier=frontier)


def frozen(warehouse: Warehouse, text: str, *versions: SourceVersion) -> str:
    return Frozen(warehouse).query(stream_table(text, *versions), MEANING)


ORDERS = "`shop`.`orders`"


def test_a_table_is_read_at_the_version_of_the_frontier() -> None:
    warehouse = Warehouse({ORDERS: newest(9)})
    text = frozen(warehouse, "select * from shop.orders o; -- end", at("shop.orders", 7))
    assert text == "select * from `shop`.`orders` VERSION AS OF 7 o"


def test_paths_that_differ_in_case_are_two_tables() -> None:
    histories = {"`delta`.`/lake/Sales`": newest(9), "`delta`.`/lake/sales`": newest(9)}
    query = "select * from delta.`/lake/Sales` a join delta.`/lake/sales` b"
    text = frozen(Warehouse(histories), query, at("delta./lake/Sales", 7), replace(at("delta./lake/sales", 2), key="b"))
    assert text == "select * from `delta`.`/lake/Sales` VERSION AS OF 7 a join `delta`.`/lake/sales` VERSION AS OF 2 b"


def test_a_state_is_looked_up_once() -> None:
    warehouse = Warehouse({ORDERS: newest(9)})
    frozen(warehouse, "select 1 from shop.orders a join shop.orders b", at("shop.orders", 9))
    assert warehouse.asked == [f"DESCRIBE HISTORY {ORDERS} LIMIT 1"]


@pytest.mark.parametrize(
    ("histories", "version", "reason"),
    [
        ({}, at("shop.orders", 7), "shop.orders is gone"),
        ({ORDERS: newest(5)}, at("shop.orders", 7), "dropped and made anew"),
        ({ORDERS: newest(9)}, at("shop.orders", 7, when="before"), "dropped and made anew"),
        ({ORDERS: newest(9, oldest=8)}, at("shop.orders", 7), "does not keep its version 7"),
        ({ORDERS: newest(9)}, at("shop.other", 7), "shop.orders has no version in its frontier"),
    ],
)
def test_a_state_that_is_gone_is_said_so(histories: Any, version: SourceVersion, reason: str) -> None:
    with pytest.raises(Unverifiable, match=reason):
        frozen(Warehouse(histories), "select * from shop.orders", version)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("select * from orders", "without its schema"),
        ("select * from shop.orders version as of 3", "no version in its frontier"),
        ("select rand() from shop.orders", "rand gives another value"),
        ("selec * fro", "not understood"),
    ],
)
def test_a_text_that_cannot_be_pinned_is_said_so(text: str, reason: str) -> None:
    with pytest.raises(Unverifiable, match=reason):
        frozen(Warehouse({ORDERS: newest(9)}), text, at("shop.orders", 7))


def describe(text: str, columns: Sequence[str], ansi: str = "false") -> str:
    return json.dumps(
        {
            "columns": [{"name": name} for name in columns],
            "view_text": text,
            "view_catalog_and_namespace": "spark_catalog.shop",
            "view_query_output_columns": list(columns),
            "view_creation_spark_configuration": {**MEANING, "spark.sql.ansi.enabled": ansi},
        }
    )


def test_a_view_is_read_by_the_text_that_it_had() -> None:
    then = describe("select id from orders", ["id"])
    digest = parse_view(then).digest
    states = at("shop.v", 0, "VIEW", digest, ""), at("shop.orders", 7)
    text = frozen(Warehouse({ORDERS: newest(9)}, {"`shop`.`v`": then}), "select * from shop.v", *states)
    assert text == (
        "select * from (SELECT `id` AS `id` FROM (\nselect id from `shop`.`orders` VERSION AS OF 7\n)) AS `v`"
    )
    for now, reason in (
        (describe("select id + 1 as id from orders", ["id"]), "the text of the view shop.v has changed"),
        (describe("select id from orders", ["id"], ansi="true"), "spark.sql.ansi.enabled=true"),
    ):
        with pytest.raises(Unverifiable, match=reason):
            frozen(Warehouse({ORDERS: newest(9)}, {"`shop`.`v`": now}), "select * from shop.v", *states)
    with pytest.raises(Unverifiable, match=r"the view shop\.v is gone"):
        frozen(Warehouse({}), "select * from shop.v", *states)


def test_the_text_that_a_view_had_is_kept() -> None:
    """Today it says something else, or is gone: what the stream table was computed from can still be told."""
    view = parse_view(describe("select id from orders", ["id"]))
    states = at("shop.v", 0, "VIEW", view.digest, ""), at("shop.orders", 7)
    table = replace(
        stream_table("select * from shop.v", *states), views={"shop.v": json.loads(json.dumps(asdict(view)))}
    )
    text = Frozen(Warehouse({ORDERS: newest(9)})).query(table, MEANING)
    assert text == (
        "select * from (SELECT `id` AS `id` FROM (\nselect id from `shop`.`orders` VERSION AS OF 7\n)) AS `v`"
    )


def test_a_stream_table_is_read_from_the_storage_and_columns_that_it_had() -> None:
    storage, columns = "`trickle_changes`.`st_5_g1`", [{"name": "sum(x)", "type": "bigint", "stored": "__pgt_out_0"}]
    marker = Marker(5, 1, 1, "FULL", "", "f", {}, "t", "run", 0, {"columns": columns})
    # Between our commit and the version there is a changed comment; a later generation does not matter.
    history = [commit(3), commit(2), commit(1, marker), commit(0)]
    version = SourceVersion("pgt_5", "STREAM_TABLE", "shop.totals", "trickle_changes.st_5_g1", 2, told(2))
    text = frozen(Warehouse({storage: history}), "select * from shop.totals as t", version)
    assert text == f"select * from (SELECT `__pgt_out_0` AS `sum(x)` FROM {storage} VERSION AS OF 2) as t"
    with pytest.raises(Unverifiable, match="st_5_g1 is gone"):
        frozen(Warehouse({}), "select * from shop.totals as t", version)
