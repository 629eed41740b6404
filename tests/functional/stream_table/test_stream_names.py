"""Names and texts that no SQL would take as they stand: they work, and nothing of them is ever executed."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from shop import Shop, model, sources

pytestmark = pytest.mark.spark

ODD = {
    "spaces": "monthly report",
    "quotes": 'it\'s "the" report',
    "backquotes": "a`b``c",
    "unicode": "größe_вес_重さ",
    "reserved": "select",
    "semicolon": "a; drop table orders --",
    "comment": "a /* b",
    "long": "n" * 200,
}
HOSTILE = "it's; \"a\" \\ \\' ${spark.app.name} -- b\n/* c */ `d` %s"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class TestNames:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        columns = ", ".join(f"id as {quoted(name)}" for name in ODD.values())
        odd_source = "select * from {{ source('shop', 'select') }}"
        return {
            "sources.yml": sources("orders", "select"),
            "columns.sql": model(
                "select sum(amount), count(*), "
                + columns.replace("id as", "max(id) as")
                + " from {{ source('shop', 'orders') }}"
            ),
            "over_columns.sql": model("select * from {{ ref('columns') }}"),
            "over_odd.sql": model(odd_source),
            "literal.sql": model(
                "select id, 'it''s; -- no' as s, \"/* \\\\ \" as t from {{ source('shop', 'orders') }}"
                " -- it's; a `comment\n"
            ),
            "alias_reserved.sql": model("select id from {{ source('shop', 'orders') }}", alias="table"),
            "alias_long.sql": model("select id from {{ source('shop', 'orders') }}", alias="N" * 200, expose="table"),
            "reader.sql": model(
                "select a.id from {{ ref('alias_reserved') }} a join {{ ref('alias_long') }} using (id)"
            ),
        }

    def test_columns_and_sources(self, shop: Shop) -> None:
        shop.table("orders")
        shop.sql(
            "create table `select` (`a b` int, `it's` int, `größe` int) using delta "
            "tblproperties ('delta.columnMapping.mode' = 'name')",
            "insert into `select` values (1, 2, 3)",
        )
        names = ("columns", "over_columns", "over_odd", "literal")
        shop.step(dict.fromkeys(names, ("FULL", "first load")))
        expected = ["sum(amount)", "count(1)", *ODD.values()]
        for name in ("columns", "over_columns"):
            assert [row.col_name for row in shop.sql(f"describe {name}")] == expected
        shop.sql("insert into orders values (3, 'x', 4)", "insert into `select` values (1, 2, 3)")
        results = shop.run(*names)
        assert {result.adapter_response["action"] for result in results.values()} == {"FULL"}
        assert shop.difference(*names) == []

    def test_aliases(self, shop: Shop) -> None:
        """Others than Spark's catalog takes are refused: test_stream_bad_input."""
        shop.table("orders")
        names = ("alias_reserved", "alias_long", "reader")
        for action in ("FULL", "NO_DATA"):
            results = shop.run(*names)
            assert {result.adapter_response["action"] for result in results.values()} == {action}
        for relation in ("`table`", "n" * 200, "reader"):
            assert len(shop.sql(f"select * from {relation}")) == 2


class TestHostileTexts:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        def described(name: str) -> dict[str, Any]:
            return {
                "name": name,
                "description": HOSTILE,
                "columns": [{"name": "id", "description": HOSTILE}, {"name": "the amount", "description": HOSTILE}],
                "config": {
                    "persist_docs": {"relation": True, "columns": True},
                    "tblproperties": {"trickle.test": HOSTILE, "it's; --": "${spark.app.name}"},
                    "meta": {"owner": HOSTILE},
                },
            }

        return {
            "sources.yml": sources("orders"),
            "hostile.yml": yaml.safe_dump({"models": [described("hostile"), described("hostile_table")]}),
            "hostile.sql": model("select id, amount as `the amount` from {{ source('shop', 'orders') }}"),
            "hostile_table.sql": model("select id from {{ source('shop', 'orders') }}", expose="table"),
        }

    def test_texts_arrive_as_they_are(self, shop: Shop) -> None:
        shop.table("orders")
        for action in ("FULL", "NO_DATA"):
            results = shop.run("hostile", "hostile_table")
            assert {r.adapter_response.get("action") for r in results.values()} == {action}, results
        for name in ("hostile", "hostile_table"):
            columns = shop.sql(f"describe {name}")
            comments = {row.col_name: row.comment for row in columns if not row.col_name.startswith("__pgt_")}
            assert set(comments.values()) == {HOSTILE}
            properties = {row.key: row.value for row in shop.sql(f"show tblproperties {name}")}
            assert properties["trickle.test"] == HOSTILE
            assert properties["it's; --"] == "${spark.app.name}"
            described = shop.sql(f"describe extended {name}")
            assert [row.data_type for row in described if row.col_name == "Comment"] == [HOSTILE]
