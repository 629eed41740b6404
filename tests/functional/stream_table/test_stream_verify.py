"""`trickle verify` and the test stream_table_consistent: each way to be wrong is found, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from shop import Shop, model, sources

from dbt_trickle.cli.main import cli

pytestmark = pytest.mark.spark

OK, DIFFERENT, UNVERIFIABLE = "ok", "DIFFERENT", "not verifiable"
ORDERS = "{{ source('shop', 'orders') }}"
MODELS = {
    # Verified first, with a setting of its own, which the others were not made with.
    "a_hooked": model(f"select region from {ORDERS}", pre_hook="set spark.sql.mapKeyDedupPolicy=LAST_WIN"),
    "bag": model(f"select region, amount from {ORDERS}"),
    "totals": model(f"select region, sum(price) as `sum of price`, avg(price) as mean from {ORDERS} group by region"),
    "nested": model(
        "select id, map('p', price, 'n', null) as m, array(price, null) as a, "
        "if(id = 1, null, named_struct('m', map('k', id), 'd', price)) as s, cast(region as binary) as b "
        f"from {ORDERS} -- a comment at the end"
    ),
    "shown": model(f"select id, region from {ORDERS};", expose="table"),
    "over_views": model("select * from {{ source('shop', 'outer_view') }}"),
    "downstream": model("select region, count(*) as n from {{ ref('bag') }} group by region"),
    "over_odd_names": model("select t.`sum of price` as total from {{ ref('totals') }} as t"),
    "over_shown": model("select count(*) as n from {{ ref('shown') }}"),
}
NOT = {
    "from_parquet": model("select * from {{ source('shop', 'sheet') }}"),
    "variants": model(f"select id, to_variant_object(named_struct('a', id)) as v from {ORDERS}"),
    "never_loaded": model(f"select id, id as x from {ORDERS}"),
}
SCHEMA = """
models:
  - name: bag
    data_tests: [stream_table_consistent]
  - name: totals
    data_tests: [stream_table_consistent]
  - name: downstream
    data_tests: [stream_table_consistent]
  - name: from_parquet
    data_tests: [stream_table_consistent]
"""
ROWS = "(1, '1', 10, 0.1D), (2, '1', 10, 0.2D), (3, '2', 30, double('NaN')), (4, null, null, -0.0D), (5, 'x', 7, 1e17D)"


class TestVerify:
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        # A catalog of its own: without names, verify looks at all of it.
        return {"vars": {"trickle_catalog_schema": "verifying", "trickle_change_schema": "verifying_changes"}}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        texts = {f"{name}.sql": text for name, text in {**MODELS, **NOT}.items()}
        return {"sources.yml": sources("orders", "outer_view", "sheet"), "schema.yml": SCHEMA, **texts}

    def verify(self, project: Any, *models: str) -> tuple[int, dict[str, dict[str, Any]]]:
        where = ("--project-dir", str(project.project_root), "--profiles-dir", str(project.profiles_dir))
        result = CliRunner().invoke(cli, ["verify", *models, *where, "--output", "json"])
        return result.exit_code, {row["relation"].split(".")[1]: row for row in json.loads(result.stdout)}

    def outcomes(self, project: Any, *models: str) -> dict[str, str]:
        return {name: row["outcome"] for name, row in self.verify(project, *models)[1].items()}

    def test_verify(self, project: Any) -> None:
        shop = Shop(project, "verifying", "verifying_changes")
        assert "No stream tables yet" in shop.trickle("verify").output
        shop.sql(
            "create table orders (id int, region string, amount int, price double) using delta",
            f"insert into orders values {ROWS}",
            "create view inner_view as select id, price from orders",
            "create view outer_view (key, price) as select id, price from inner_view where id > 1",
            "create table sheet (id int) using parquet",
        )
        shop.dbt("run", "--exclude", "never_loaded")
        shop.run("never_loaded", flags=("--empty",))
        code, said = self.verify(project)
        assert {name: row["outcome"] for name, row in said.items()} == {
            **dict.fromkeys(MODELS, OK),
            **dict.fromkeys(NOT, UNVERIFIABLE),
        }
        assert code == 0
        assert "no Delta table" in said["from_parquet"]["reason"]
        assert "variant" in said["variants"]["reason"]
        assert "not loaded" in said["never_loaded"]["reason"]

        self.sources_move_on(shop)
        self.storages_are_changed(shop)
        self.as_dbt_test(shop)

    def sources_move_on(self, shop: Shop) -> None:
        shop.sql("insert into orders values (6, 'new', 1, 1)", "delete from orders where id = 1")
        assert set(self.outcomes(shop.project, *MODELS).values()) == {OK}
        # One is at the new state, what reads it at the old one of it.
        shop.run("bag", "totals", "shown")
        assert set(self.outcomes(shop.project, *MODELS).values()) == {OK}
        shop.sql("create or replace view inner_view as select id, price * 2 as price from orders")
        shop.sql("create or replace table orders as select * from orders")
        # What the view said when it was read is known.
        assert self.outcomes(shop.project, "over_views", "bag") == {"over_views": OK, "bag": OK}

    def storages_are_changed(self, shop: Shop) -> None:
        bag, totals, nested = (shop.state(name).storage_relation for name in ("bag", "totals", "nested"))
        column = next(row.col_name for row in shop.sql(f"describe {totals}") if row.col_name.startswith("__pgt_out"))
        # 0.2 and 0.1 + 0.1 … differ in the last bit at most; a few millionths are a difference.
        shop.sql(f"update {totals} set `{column}` = `{column}` * (1 + 2e-16D), mean = -mean where region is null")
        shop.sql(f"update {totals} set `{column}` = `{column}` * (1 + 2e-16D) where region = '1'")
        shop.sql(f"update {nested} set a = array(0.1D + 1e-17D, null), m = map('n', null, 'p', 0.1D) where id = 1")
        assert self.outcomes(shop.project, "totals", "nested") == {"totals": OK, "nested": OK}
        shop.sql(f"update {totals} set mean = mean * (1 + 1e-6D) where region = '1'")
        shop.sql(f"update {nested} set s = null where id = 2")
        shop.sql(f"insert into {bag} (region, amount) values ('9', 9)")
        code, said = self.verify(shop.project, "totals", "nested", "bag", "downstream")
        assert code == 1
        counts = {name: (row["outcome"], row["missing"], row["surplus"]) for name, row in said.items()}
        assert counts == {
            "totals": (DIFFERENT, 1, 1),
            "nested": (DIFFERENT, 1, 1),
            "bag": (DIFFERENT, 0, 1),
            "downstream": (OK, 0, 0),
        }
        assert said["bag"]["surplus_rows"] == [{"copies": 1, "values": {"region": "9", "amount": "9"}}]
        assert [row["values"]["sum of price"] for row in said["totals"]["missing_rows"]] == ["0.2"]

        # Loaded anew, and then one of two equal rows lost; a NULL in place of a value; a value in place of a NULL.
        shop.sql("insert into orders values (7, '1', 10, 1)")
        assert shop.run("bag")["bag"].adapter_response["action"] == "REINITIALIZE", "it was written to"
        assert self.outcomes(shop.project, "bag") == {"bag": OK}
        bag = shop.state("bag").storage_relation
        shop.sql(f"delete from {bag} where region = '1'", f"insert into {bag} (region, amount) values ('1', 10)")
        [row] = self.verify(shop.project, "bag")[1].values()
        assert (row["missing"], row["surplus"]) == (1, 0)
        assert row["missing_rows"] == [{"copies": 1, "values": {"region": "1", "amount": "10"}}]
        shop.sql(f"insert into {bag} (region, amount) values ('1', 10)")
        shop.sql(f"update {bag} set amount = null where region = '2'")
        [row] = self.verify(shop.project, "bag")[1].values()
        assert (row["missing"], row["surplus"]) == (1, 1)
        assert row["surplus_rows"][0]["values"] == {"region": "2", "amount": None}
        shop.sql(
            f"update {bag} set amount = 30 where region = '2'", f"update {bag} set amount = 0 where region is null"
        )
        [row] = self.verify(shop.project, "bag")[1].values()
        assert (row["missing_rows"][0]["values"]["amount"], row["surplus_rows"][0]["values"]["amount"]) == (None, "0")

        where = ("--project-dir", str(shop.root), "--profiles-dir", str(shop.project.profiles_dir))
        printed = CliRunner().invoke(cli, ["verify", "bag", "from_parquet", *where]).output
        assert f"DIFFERENT       {shop.schema}.bag (1 missing, 1 surplus)" in printed
        assert "− region=NULL, amount=NULL" in printed
        assert f"not verifiable  {shop.schema}.from_parquet (" in printed
        assert "1 DIFFERENT, 1 not verifiable." in printed

    def as_dbt_test(self, shop: Shop) -> None:
        failed = shop.dbt("test", ok=False)
        status = {name.split("_")[3]: (result.status, result.failures) for name, result in failed.items()}
        assert status["bag"] == ("fail", 2)
        assert status["totals"] == ("fail", 2)
        assert status["downstream"] == ("pass", 0)
        assert status["from"][0] == "error"
        # In the run that makes it right, the test sees it right.
        shop.dbt("build", "--select", "bag", "totals", "downstream", "--full-refresh")
        assert self.outcomes(shop.project, "bag") == {"bag": OK}
        shop.dbt("compile")
