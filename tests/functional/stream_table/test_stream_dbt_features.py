"""Contracts, persist_docs, hooks, tests and unit tests of stream tables."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from dbt.tests.util import run_dbt
from shop import Shop, model, sources

pytestmark = pytest.mark.spark

QUERY = "select id, amount from {{ source('shop', 'orders') }}"


def contracted(name: str, amount: str) -> dict[str, Any]:
    return {
        "name": name,
        "config": {"contract": {"enforced": True}},
        "columns": [
            {"name": "id", "data_type": "int", "constraints": [{"type": "not_null"}]},
            {"name": "amount", "data_type": amount, "constraints": [{"type": "check", "expression": "amount > 0"}]},
        ],
    }


def documented(name: str, text: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"{text} table",
        "config": {"persist_docs": {"relation": True, "columns": True}},
        "columns": [{"name": "id", "description": f"{text} id"}],
    }


def properties(*models: dict[str, Any]) -> str:
    return yaml.safe_dump({"models": list(models)})


class TestFeatures:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        schema = "{{ target.schema }}"
        unit = {
            "name": "totals_add_up",
            "model": "tested",
            "given": [{"input": "ref('staged')", "rows": [{"id": 1, "amount": 2}, {"id": 1, "amount": 3}]}],
            "expect": {"rows": [{"id": 1, "total": 5}]},
        }
        tested = {"name": "tested", "columns": [{"name": "id", "data_tests": ["not_null", "unique"]}]}
        return {
            "sources.yml": sources("orders", "hooked"),
            "contracts.yml": properties(contracted("strict", "int"), contracted("mismatch", "string")),
            "docs.yml": properties(documented("described", "first"), documented("described_table", "first")),
            "tests.yml": yaml.safe_dump({"models": [tested], "unit_tests": [unit]}),
            "strict.sql": model(QUERY),
            "mismatch.sql": model(QUERY),
            "described.sql": model(QUERY),
            "described_table.sql": model(QUERY, expose="table"),
            "staged.sql": model(QUERY, tags=["nightly"]),
            "tested.sql": model("select id, sum(amount) as total from {{ ref('staged') }} group by id", tags="nightly"),
            "hooked_model.sql": model(
                "select count(*) as n from {{ source('shop', 'hooked') }}",
                pre_hook=f"insert into {schema}.hooked values (9, 'hook', 9)",
                post_hook=f"insert into {schema}.log select n from {schema}.hooked_model",
            ),
        }

    def test_contracts(self, shop: Shop) -> None:
        shop.table("orders")
        results = shop.run("strict", "mismatch", ok=False)
        assert results["strict"].adapter_response["action"] == "FULL"
        assert results["mismatch"].status == "error"
        assert "contract" in results["mismatch"].message
        assert "amount" in results["mismatch"].message
        assert shop.sql("show views like 'mismatch'") == []
        for row, broken in (("(null, 'x', 5)", "IS NOT NULL"), ("(5, 'x', -5)", "amount > 0")):
            shop.sql(f"insert into orders values {row}")
            message = shop.run("strict", ok=False)["strict"].message
            assert "CHECK" in message.upper() or "NOT NULL" in message.upper()
            assert broken.lower().split(" is ")[0].split(" >")[0] in message.lower()
            assert len(shop.sql("select * from strict")) == 2
            assert shop.history("strict")[-1].status == "FAILED"
            shop.sql("delete from orders where amount = -5 or id is null")
        assert shop.run("strict")["strict"].adapter_response["action"] == "FULL"
        assert shop.difference("strict") == []
        # dbt itself refuses this one, before any refresh: the history has it all the same.
        shop.write("contracts.yml", properties(contracted("strict", "string"), contracted("mismatch", "string")))
        shop.run("strict", ok=False)
        failed = shop.history("strict")[-1]
        assert failed.status == "FAILED"
        assert "contract" in failed.error_message
        assert shop.state("strict").consecutive_errors == 1

    def test_persist_docs(self, shop: Shop) -> None:
        shop.table("orders")
        names = ("described", "described_table")
        shop.step(dict.fromkeys(names, ("FULL", "first load")))
        self.check_docs(shop, names, "first")
        shop.write("docs.yml", properties(*(documented(name, "second") for name in names)))
        shop.step(dict.fromkeys(names, ("NO_DATA", "no source moved")))
        assert {shop.state(name).batch for name in names} == {1}
        self.check_docs(shop, names, "second")
        # The descriptions are commits of the storage, and no change of its rows.
        shop.step(dict.fromkeys(names, ("NO_DATA", "no source moved")))
        nodes = run_dbt(["docs", "generate", "--select", *names]).nodes
        for name in names:
            columns = nodes[f"model.test.{name}"].columns
            assert {column.name: column.comment for column in columns.values()}["id"] == "second id"

    def check_docs(self, shop: Shop, names: tuple[str, ...], text: str) -> None:
        for name in names:
            rows = shop.sql(f"describe extended {name}")
            assert next(row.comment for row in rows if row.col_name == "id") == f"{text} id"
            assert [row.data_type for row in rows if row.col_name == "Comment"] == [f"{text} table"]

    def test_hooks_and_build(self, shop: Shop) -> None:
        shop.table("orders")
        shop.table("hooked")
        shop.sql("create table log (n bigint) using delta")
        for n in (3, 4):
            assert shop.run("hooked_model")["hooked_model"].adapter_response["action"] == "FULL"
            assert shop.sql("select n from hooked_model")[0].n == n
        assert sorted(row.n for row in shop.sql("select n from log")) == [3, 4]
        # The marker of our commit is no setting of the session's: a hook's own commits do not carry it.
        for name in ("hooked", "log"):
            assert {row.userMetadata for row in shop.sql(f"describe history {name}")} == {None}

        built = shop.dbt("build", "--select", "tag:nightly")
        assert {result.status for result in built.values()} == {"success", "pass"}
        assert len(built) == 5
        assert {"staged", "tested", "totals_add_up"} <= set(built)
