"""A stream table's life: created, left alone, refreshed, altered; after each run it holds what its query gives."""

from __future__ import annotations

import pytest
from shop import Shop, model, sources

pytestmark = pytest.mark.spark

TOTALS = "select region, sum(amount) as total from {{ source('shop', '%s') }} group by region"
PARQUET = "sheet: it is no Delta table and keeps no history"
FIRST, SAME = ("FULL", "first load"), ("NO_DATA", "no source moved")
FORCED, EDITED = ("FULL", "--full-refresh"), ("ALTER", "the query changed")
LAYOUT = ("ALTER", "its layout in the warehouse changed")
SHOWN = "select id, amount from {{ source('shop', 'quiet') }}"
MODELS = {
    "totals": model(TOTALS % "orders"),
    "altered": model(TOTALS % "orders"),
    "reformatted": model(TOTALS % "quiet"),
    "protected": model(SHOWN, full_refresh=False),
    "everything": model("select * from {{ source('shop', 'wide') }}"),
    "shown": model("select id, amount from {{ source('shop', 'orders') }}", expose="table"),
    "switching": model(SHOWN),
    "upstream": model("select region, amount from {{ source('shop', 'orders') }} where amount > 5"),
    "downstream": model("select region, count(*) as n from {{ ref('upstream') }} group by region"),
    "over_quiet": model("select max(amount) as most from {{ ref('protected') }}"),
    "over_views": model("select * from {{ source('shop', 'outer_view') }} where amount > 1"),
    "from_parquet": model("select * from {{ source('shop', 'sheet') }}"),
    "hard_coded": model("select o.id from {{ target.schema }}.orders as o join `{{ target.schema }}`.quiet using (id)"),
    "over_recreated": model("select * from {{ source('shop', 'recreated') }}"),
}


class TestLifecycle:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        names = ("orders", "quiet", "wide", "outer_view", "sheet", "recreated")
        return {"sources.yml": sources(*names), **{f"{name}.sql": text for name, text in MODELS.items()}}

    def test_every_kind_of_step(self, shop: Shop) -> None:
        for name in ("orders", "quiet", "wide", "recreated"):
            shop.table(name)
        shop.table("sheet", using="parquet")
        shop.sql(
            "create view inner_view as select id, amount from orders",
            "create view outer_view (key, amount) as select id, amount * 2 as twice from inner_view",
        )
        shop.step(dict.fromkeys(MODELS, FIRST))
        shop.step({**dict.fromkeys(MODELS, SAME), "from_parquet": ("FULL", PARQUET)})
        before = {name: shop.state(name) for name in ("altered", "switching")}

        shop.sql(
            "insert into orders values (3, 'north', 5), (4, 'east', 7)",
            "delete from orders where id = 2",
            "alter table wide add column note string",
            "drop table recreated",
            "insert into sheet values (3, 'north', 5)",
        )
        # As many versions as before, another content.
        shop.table("recreated", rows="(7, 'west', 1), (7, 'west', 1)")
        shop.write("altered.sql", model((TOTALS % "orders").replace("sum(amount)", "sum(amount) + 1")))
        shop.write("reformatted.sql", model(_reformatted(TOTALS % "quiet")))
        shop.write("switching.sql", model(SHOWN, expose="table"))
        moved = ("FULL", "orders moved from version 1 to 3")
        shop.step(
            {
                "totals": moved,
                "altered": EDITED,
                "reformatted": SAME,
                "protected": SAME,
                "everything": ("ALTER", "it has more columns (note); wide moved from version 1 to 2"),
                "shown": moved,
                "switching": LAYOUT,
                "upstream": moved,
                "downstream": ("FULL", "upstream moved from version 0 to 2"),
                "over_quiet": SAME,
                "over_views": moved,
                "from_parquet": ("FULL", PARQUET),
                "hard_coded": moved,
                "over_recreated": ("FULL", "recreated was replaced"),
            }
        )
        assert [row.col_name for row in shop.sql("describe everything")] == ["id", "region", "amount", "note"]
        assert _kinds(shop, "shown", "switching", "totals") == ["MANAGED", "MANAGED", "VIEW"]
        self.check_alter(shop, before["altered"])

        shop.sql("create or replace view inner_view as select id, amount + 1 as amount from orders")
        shop.write("switching.sql", model(SHOWN + " where id > 1"))
        shop.write("shown.sql", model("select id from {{ source('shop', 'orders') }}", expose="table"))
        shop.step(
            {
                "over_views": ("REINITIALIZE", "inner_view was replaced"),
                "switching": EDITED,
                "shown": EDITED,
                "downstream": SAME,
            }
        )
        assert _kinds(shop, "switching") == ["VIEW"]
        assert shop.state("switching").pgt_id == before["switching"].pgt_id

        forced = {**dict.fromkeys(("totals", "shown", "upstream", "downstream", "from_parquet"), FORCED)}
        shop.step({**forced, "protected": SAME}, "--full-refresh")

    def check_alter(self, shop: Shop, before: object) -> None:
        after = shop.state("altered")
        assert (after.pgt_id, after.created_at) == (before.pgt_id, before.created_at)  # type: ignore[attr-defined]
        assert (after.generation, after.batch, after.storage_relation) == (
            2,
            2,
            f"{shop.changes}.st_{after.pgt_id}_g2",
        )
        properties = {row.key: row.value for row in shop.sql("show tblproperties altered")}
        assert properties["trickle.storage"] == after.storage_relation
        # Readers of the old generation may still be at it: it goes an hour later.
        assert shop.storages("altered") == [f"st_{after.pgt_id}_g1", f"st_{after.pgt_id}_g2"]


def _reformatted(query: str) -> str:
    """Neither white space nor comments nor the case of keywords and names make another query."""
    text = query.replace("select ", "/* sales; by region */\nSELECT\n\t").replace("sum(amount)", "SUM(Amount)")
    return text.replace("group by", "-- it's by region\n GROUP  BY") + "  ;\n"


def _kinds(shop: Shop, *names: str) -> list[str]:
    found = [shop.sql(f"describe extended {name}") for name in names]
    return [next(row.data_type for row in rows if row.col_name == "Type") for rows in found]
