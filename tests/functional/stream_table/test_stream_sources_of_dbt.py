"""Everything that dbt builds, as the source of a differential stream table: two builds of one project."""

from __future__ import annotations

import pytest
from shop import Shop, model, sources

pytestmark = pytest.mark.spark

ORDERS = "{{ source('shop', 'orders') }}"


def incremental(strategy: str, query: str, **config: str) -> str:
    given = "".join(f", {key}={value!r}" for key, value in config.items())
    return f"{{{{ config(materialized='incremental', incremental_strategy='{strategy}'{given}) }}}}\n{query}"


# The newest region only, so that the other one's partition has to stay.
NEW_ONLY = "{% if is_incremental() %} where id >= 3 {% endif %}"
BUILT = {
    "appended.sql": incremental("append", f"select * from {ORDERS} {NEW_ONLY}"),
    "merged.sql": incremental("merge", f"select * from {ORDERS}", unique_key="id"),
    "merged_without_key.sql": incremental("merge", f"select * from {ORDERS} {NEW_ONLY}"),
    "overwritten.sql": incremental("insert_overwrite", f"select * from {ORDERS} {NEW_ONLY}", partition_by="region"),
    "microbatch.sql": incremental(
        "microbatch",
        f"select *, timestamp'2026-01-01 10:00:00' as at from {ORDERS}",
        event_time="at",
        begin="2026-01-01",
        batch_size="year",
        partition_by="at",
    ),
    "ephemeral.sql": f"{{{{ config(materialized='ephemeral') }}}}\nselect id, region, amount from {ORDERS}",
    "as_table.sql": f"{{{{ config(materialized='table') }}}}\nselect * from {ORDERS}",
    "as_parquet.sql": f"{{{{ config(materialized='table', file_format='parquet') }}}}\nselect * from {ORDERS}",
    "view_below.sql": f"select id, region, coalesce(amount, 0) as amount from {ORDERS}",
    "view_above.sql": "select * from {{ ref('view_below') }} where id > 1",
}
SNAPSHOT = """
snapshots:
  - name: snapshot_of_orders
    relation: source('shop', 'orders')
    config: {strategy: check, unique_key: id, check_cols: all, hard_deletes: invalidate}
"""
# What is read, and how it is said to be read in the second build.
READ = {
    "appended": "by log (it is captured by its log; files were only added)",
    "merged": "by difference (it is captured by its log; MERGE at version",
    "merged_without_key": "by log (it is captured by its log; files were only added)",
    "overwritten": "by difference (it is captured by its log; WRITE at version",
    "microbatch": "by difference (it is captured by its log; WRITE at version",
    "snapshot_of_orders": "by difference (it is captured by its log; MERGE at version",
    "ephemeral": "orders by difference (it is captured by its log; ",
    "as_table": "by difference (it is captured by its log; replaced at version",
    "view_above": "orders by difference (it is captured by its log; ",
    "seeded": "by log (it is captured by its log; files were only added)",
}
OVER = {f"over_{name}": reason for name, reason in READ.items()}


class TestSourcesOfDbt:
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"seeded.csv": "id,region,amount\n1,north,10\n2,south,20\n"}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"snapshot.yml": SNAPSHOT}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        totals = "select region, sum(amount) as total, count(*) as n from {{ ref('%s') }} group by region"
        rows = "select dbt_valid_from, dbt_valid_to, id, region, amount from {{ ref('snapshot_of_orders') }}"
        made = {f"over_{name}.sql": model(totals % name, refresh_mode="differential") for name in READ}
        return {
            "sources.yml": sources("orders"),
            **BUILT,
            **made,
            "over_snapshot_of_orders.sql": model(rows, refresh_mode="differential"),
            "over_parquet.sql": model(totals % "as_parquet"),
        }

    def test_two_builds(self, shop: Shop) -> None:
        shop.table("orders", "(1, 'north', 10), (2, 'south', 20)")
        shop.dbt("build")
        assert shop.difference(*OVER, "over_parquet") == []

        shop.sql(
            "insert into orders values (3, 'south', 5), (4, 'west', null)",
            "update orders set amount = 11 where id = 1",
            "insert into seeded values (3, 'south', 1), (3, 'south', 1)",
        )
        done = shop.dbt("build", "--exclude", "seeded")
        said = {name: done[name].adapter_response for name in OVER}
        wrong = {
            name: (said[name]["action"], said[name]["reason"])
            for name, reason in OVER.items()
            if said[name]["action"] != "DIFFERENTIAL" or reason not in said[name]["reason"]
        }
        assert wrong == {}
        parquet = done["over_parquet"].adapter_response
        assert (parquet["action"], "keeps no history" in parquet["reason"]) == ("FULL", True)
        assert shop.difference(*OVER, "over_parquet") == []
        assert {row.action for name in OVER for row in [shop.history(name)[-1]]} == {"DIFFERENTIAL"}

        # Nothing comes in. What dbt writes anew all the same is found to be the same rows; what it adds again is not.
        done = shop.dbt("build", "--exclude", "seeded", "appended", "merged_without_key")
        actions = {name: done[name].adapter_response["action"] for name in OVER}
        assert actions == dict.fromkeys(OVER, "NO_DATA")
        assert shop.difference(*OVER) == []
