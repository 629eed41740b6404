"""How a storage lies in the warehouse: as the model asks, kept by refreshes, and changed by an ALTER."""

from __future__ import annotations

from typing import Any

import pytest
from shop import Shop, model, sources

pytestmark = pytest.mark.spark

ROWS = "select id, region as `the region`, amount from {{ source('shop', 'orders') }}"
EXPOSED = "select id, region, amount from {{ source('shop', 'orders') }}"
TOTALS = "select region, sum(amount) as total, count(*) as n from {{ source('shop', 'orders') }} group by region"
BIG = "select id, region, amount from {{ source('shop', 'orders') }} where amount > 5"
# dbt-spark's own insert_overwrite leaves a session like that; an INSERT OVERWRITE then keeps what the query lost.
DYNAMIC = "set spark.sql.sources.partitionOverwriteMode = dynamic"
PROPERTIES = {"delta.enableChangeDataFeed": True, "keeper": "it's me"}
GIVEN = {"delta.enableChangeDataFeed": "true", "keeper": "it's me"}

# model → query, its configuration, and another layout.
MODELS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "by_region": (
        ROWS,
        {"partition_by": ["The Region"], "tblproperties": PROPERTIES, "pre_hook": DYNAMIC},
        {"liquid_clustered_by": ["the region", "id"], "tblproperties": {"other": "yes"}},
    ),
    "clustered": (ROWS, {"liquid_clustered_by": "id"}, {"partition_by": "id"}),
    "exposed": (
        EXPOSED,
        {"expose": "table", "partition_by": ["region", "id"], "tblproperties": PROPERTIES, "pre_hook": DYNAMIC},
        {"expose": "table", "liquid_clustered_by": "amount"},
    ),
    "totals": (
        TOTALS,
        {"refresh_mode": "differential", "partition_by": "region", "tblproperties": PROPERTIES},
        {"refresh_mode": "differential", "liquid_clustered_by": "region"},
    ),
    "big": (
        BIG,
        {"refresh_mode": "differential", "liquid_clustered_by": ["region", "id"]},
        {"refresh_mode": "differential", "partition_by": "region"},
    ),
    "keyed": (
        BIG,
        {"refresh_mode": "differential", "primary_key": "id", "partition_by": "region"},
        {"refresh_mode": "differential", "primary_key": "id"},
    ),
}
MAINTAINED = ("totals", "big", "keyed")


def detail(shop: Shop, name: str) -> Any:
    return shop.sql(f"describe detail {shop.state(name).storage_relation}")[0]


def layout(shop: Shop, name: str) -> tuple[list[str], list[str]]:
    found = detail(shop, name)
    return list(found.partitionColumns), list(found.clusteringColumns)


def shown(shop: Shop, name: str) -> dict[str, str]:
    return {row.key: row.value for row in shop.sql(f"show tblproperties {name}")}


def refreshed(shop: Shop) -> None:
    """All of them, each in its way; the storage is the same, and lies as before."""
    before = {name: (shop.state(name).storage_relation, layout(shop, name)) for name in MODELS}
    done = {name: result.adapter_response["action"] for name, result in shop.run(*MODELS).items()}
    assert done == {name: "DIFFERENTIAL" if name in MAINTAINED else "FULL" for name in MODELS}
    assert shop.difference(*MODELS) == []
    assert {name: (shop.state(name).storage_relation, layout(shop, name)) for name in MODELS} == before


class TestLayout:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        first = {f"{name}.sql": model(query, **config) for name, (query, config, _) in MODELS.items()}
        return {"sources.yml": sources("orders"), **first}

    def test_a_life(self, shop: Shop) -> None:
        shop.table("orders", "(1, 'north', 10), (2, 'south', 20), (3, 'west', 4), (4, null, 7)")
        shop.step(dict.fromkeys(MODELS, ("FULL", "first load")))
        assert {name: layout(shop, name) for name in MODELS} == {
            "by_region": (["__pgt_out_1"], []),  # a name that Delta takes; the view has the query's
            "clustered": ([], ["id"]),
            "exposed": (["region", "id"], []),
            "totals": (["region"], []),
            "big": ([], ["region", "id"]),
            "keyed": (["region"], []),
        }
        for name in ("by_region", "exposed", "totals"):
            assert detail(shop, name).properties.items() >= GIVEN.items()
            assert shown(shop, name).items() >= GIVEN.items()

        # A row that moves to another partition, one that is new, one that is emptied, one of no region.
        shop.sql(
            "update orders set region = 'east' where id = 1",
            "delete from orders where region = 'south'",
            "insert into orders values (5, 'far away/50%', 9), (6, null, 8)",
        )
        refreshed(shop)
        # What was done for the layout behind a commit is nobody's foreign write.
        shop.step(dict.fromkeys(MODELS, ("NO_DATA", "no source moved")))

        for name, (query, _, config) in MODELS.items():
            shop.write(f"{name}.sql", model(query, **config))
        before = {name: shop.state(name).generation for name in MODELS}
        shop.step(dict.fromkeys(MODELS, ("ALTER", "its layout in the warehouse changed")))
        assert {name: shop.state(name).generation for name in MODELS} == {n: g + 1 for n, g in before.items()}
        assert {name: layout(shop, name) for name in MODELS} == {
            "by_region": ([], ["__pgt_out_1", "id"]),
            "clustered": (["id"], []),
            "exposed": ([], ["amount"]),
            "totals": ([], ["region"]),
            "big": (["region"], []),
            "keyed": ([], []),
        }
        for properties in (detail(shop, "by_region").properties, shown(shop, "by_region")):
            assert properties["other"] == "yes"
            assert not GIVEN.keys() & properties.keys()
        assert not GIVEN.keys() & shown(shop, "exposed").keys()

        shop.sql("update orders set region = 'north', amount = 6 where id in (3, 5)", "delete from orders where id = 4")
        refreshed(shop)

    def test_delta_cannot_partition_a_clustered_table_in_its_place(self, shop: Shop) -> None:
        """With a view in front there is a new storage; a table under the public name is replaced where it lies."""
        shop.table("orders")
        shop.write("exposed.sql", model(EXPOSED, expose="table", liquid_clustered_by="amount"))
        shop.run("exposed", flags=("--full-refresh",))
        shop.write("exposed.sql", model(EXPOSED, expose="table", partition_by="region"))
        message = shop.run("exposed", ok=False)["exposed"].message
        assert "Replacing a clustered Delta table with a partitioned table is not allowed" in message
        assert shop.difference("exposed") == []
