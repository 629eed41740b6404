"""dbt's own ways to run a part or to run against another state: none of them disturbs a stream table."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from dbt.tests.util import run_dbt
from shop import Shop, model, sources

from dbt_trickle.names import Relation

pytestmark = pytest.mark.spark

UPSTREAM = "{{ config(schema=var('env', none)) }}" + model(
    "select region, amount from {{ source('shop', 'orders') }} where amount > 5"
)
DOWNSTREAM = model("select region, sum(amount) as total from {{ ref('upstream') }} group by region")
SHARED = [f"shared_{n}" for n in range(8)]
SAME = ("NO_DATA", "no source moved")


class TestStates:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "sources.yml": sources("orders", "customers"),
            "upstream.sql": UPSTREAM,
            "downstream.sql": DOWNSTREAM,
            "sampled.sql": model("select * from {{ source('shop', 'orders') }}"),
            "new_sampled.sql": model("select * from {{ source('shop', 'orders') }}"),
            "broken.sql": model("select nope from {{ source('shop', 'orders') }}"),
            "after_broken.sql": model("select * from {{ ref('broken') }}"),
            **{
                f"{name}.sql": model(
                    f"select id + {n} as id from {{{{ source('shop', 'orders') }}}} "
                    "join {{ source('shop', 'customers') }} using (id)"
                )
                for n, name in enumerate(SHARED)
            },
        }

    def test_defer_modified_and_clone(self, shop: Shop) -> None:
        shop.table("orders")
        shop.run("upstream", "downstream", flags=("--vars", "env: prod"))
        state = shop.root / "state"
        state.mkdir()
        shutil.copy(shop.root / "target" / "manifest.json", state)
        fingerprint = shop.state("downstream").fingerprint

        deferred = ("--defer", "--state", "state", "--vars", "env: dev")
        shop.step({"downstream": SAME}, *deferred)
        # Built here, it is another source under the same text.
        results = shop.run("upstream", "downstream", flags=("--vars", "env: dev"))
        assert results["downstream"].adapter_response["action"] == "REINITIALIZE"
        assert "is read for the first time" in results["downstream"].adapter_response["reason"]
        assert shop.state("downstream").fingerprint == fingerprint

        modified = ("--select", "state:modified", "--state", "state", "--vars", "env: prod")
        shop.write("downstream.sql", DOWNSTREAM.replace("sum", "max"))
        assert run_dbt(["ls", *modified]) == ["test.downstream"]
        assert shop.dbt("run", *modified)["downstream"].adapter_response["action"] == "ALTER"

        clone = shop.dbt("clone", "--select", "upstream", "--state", "state", "--vars", "env: copy")
        assert clone["upstream"].status == "success"
        assert len(shop.sql(f"select * from {shop.schema}_copy.upstream")) == 2
        built = shop.run("upstream", flags=("--vars", "env: copy"))["upstream"].adapter_response
        assert built["action"] == "FULL"
        shop.sql(*(f"drop schema {shop.schema}_{env} cascade" for env in ("prod", "dev", "copy")))

    def test_empty_sample_and_retry(self, shop: Shop) -> None:
        shop.table("orders")
        shop.step({"sampled": ("FULL", "first load")})
        before = shop.state("sampled")
        shop.sql("insert into orders values (3, 'north', 5)")
        for flag in ("--empty", "--sample=2 days"):
            results = shop.run("sampled", "new_sampled", flags=(flag,))
            assert {r.adapter_response["action"] for r in results.values()} == {"SKIP"}
            now = shop.state("sampled")
            assert (now.fingerprint, now.batch, now.frontier) == (before.fingerprint, before.batch, before.frontier)
            assert len(shop.sql("select * from sampled")) == 2
            assert not shop.state("new_sampled").is_populated
            assert [row.col_name for row in shop.sql("describe new_sampled")] == ["id", "region", "amount"]
        shop.step({"new_sampled": ("FULL", "first load"), "sampled": ("FULL", "orders moved from version 1 to 2")})

        failed = shop.run("broken", "after_broken", ok=False)
        assert (failed["broken"].status, failed["after_broken"].status) == ("error", "skipped")
        shop.write("broken.sql", model("select id from {{ source('shop', 'orders') }}"))
        retried = shop.dbt("retry")
        assert {name: r.adapter_response["action"] for name, r in retried.items()} == {
            "broken": "FULL",
            "after_broken": "FULL",
        }

    def test_its_name_shows_something_else(self, shop: Shop) -> None:
        shop.table("orders")
        shop.run("sampled", flags=("--full-refresh",))
        storage = Relation.parse(shop.state("sampled").storage_relation).sql
        view = ["create or replace view sampled as select * from orders where id < 0"]
        table = ["drop view sampled", "create table sampled using delta as select * from orders"]
        computed = [f"alter view sampled as SELECT id * 2 AS id FROM {storage}"]
        for other, said in ((computed, "as it is"), (view, "is not this"), (table, "is not this")):
            shop.sql(*other)
            verified = shop.trickle("verify", "sampled", ok=None)
            assert (verified.exit_code, said in verified.output) == (1, True)
            shop.step({"sampled": ("REINITIALIZE", "its name showed something else")})
            shop.step({"sampled": SAME})

        # Its name is gone, the catalog holds it to be loaded: an empty stand-in must not pass for it.
        shop.sql("drop view sampled")
        assert shop.run("sampled", flags=("--empty",))["sampled"].adapter_response["action"] == "SKIP"
        assert not shop.state("sampled").is_populated
        shop.step({"sampled": ("FULL", "first load")})

    def test_threads_share_what_they_know_of_a_source(self, shop: Shop) -> None:
        shop.table("orders")
        shop.table("customers")
        log = Path(os.environ["DBT_LOG_PATH"]) / "dbt.log"
        for expected in (("FULL", "first load"), SAME):
            log.write_text("")
            shop.step(dict.fromkeys(SHARED, expected))
            text = log.read_text(encoding="utf-8")
            for name in ("orders", "customers"):
                assert text.count(f"DESCRIBE HISTORY `{shop.schema}`.`{name}`") == 1
        frontiers = {tuple(sorted(shop.state(name).frontier.items())) for name in SHARED}
        assert len(frontiers) == 1
