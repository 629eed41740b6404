"""Differential refreshes through dbt: what changed is brought in, and what cannot be is told."""

from __future__ import annotations

import pytest
from shop import Shop, model, sources

pytestmark = pytest.mark.spark

TOTALS = "select region, sum(amount) as total, count(*) as n from {{ source('shop', 'orders') }} group by region"
BIG = "select id, region, amount from {{ source('shop', 'orders') }} where amount > 5"
NAMED = "select o.id, o.amount, r.name from {{ source('shop', 'orders') }} o join {{ ref('regions') }} r using (region)"
OF_TOTALS = "select n, sum(total) as total from {{ ref('totals') }} group by n"
THROUGH_A_VIEW = "select id, amount * 2 as twice from {{ ref('big_view') }}"
NAMES = ("totals", "big", "named", "of_totals", "through_a_view")


class TestDifferential:
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"regions.csv": "region,name\nnorth,The North\nsouth,The South\n"}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        def maintained(query: str, **more: object) -> str:
            return model(query, refresh_mode="differential", **more)

        return {
            "sources.yml": sources("orders"),
            "totals.sql": maintained(TOTALS),
            "big.sql": maintained(BIG, expose="table", primary_key=["id"]),
            "named.sql": maintained(NAMED),
            "of_totals.sql": maintained(OF_TOTALS),
            "big_view.sql": "select * from {{ source('shop', 'orders') }} where amount > 5",
            "through_a_view.sql": maintained(THROUGH_A_VIEW),
        }

    def test_a_life(self, shop: Shop) -> None:
        shop.table("orders", "(1, 'north', 10), (2, 'south', 20), (3, 'west', 4)")
        shop.dbt("seed")
        shop.dbt("run", "--select", "big_view")
        assert self.run(shop) == dict.fromkeys(NAMES, ("FULL", None, None))

        shop.sql("insert into orders values (4, 'north', 1), (5, 'west', 9)")
        told = {name: shop.trickle_json("explain", name) for name in ("totals", "big")}
        assert self.run(shop) == {
            "totals": ("DIFFERENTIAL", 2, 2),
            "big": ("DIFFERENTIAL", 1, 0),
            "named": ("DIFFERENTIAL", 1, 0),
            "of_totals": ("DIFFERENTIAL", 2, 1),
            "through_a_view": ("DIFFERENTIAL", 1, 0),
        }
        for name, explained in told.items():
            assert (explained["action"], explained["reason"]) == self.newest(shop, name), explained
        kinds = [text.split()[0] for text in told["totals"]["statements"]]
        assert kinds == ["CACHE", "SELECT", "SET", "SET", "SET", "INSERT", "RESET", "RESET", "RESET", "DROP"]
        assert {source["capture"].split()[0] for source in told["totals"]["sources"]} == {"WAL"}
        assert "its touched groups" not in str(told["totals"]["operators"])  # they are brought forward

        shop.sql("update orders set amount = amount + 1 where id <= 2", "delete from orders where id = 5")
        done = self.run(shop)
        assert {action for action, _, _ in done.values()} == {"DIFFERENTIAL"}
        assert done["big"] == ("DIFFERENTIAL", 2, 3)

        # Files are rewritten, rows are not; a column that nobody reads.
        shop.sql("optimize orders", "alter table orders add column note string", "update orders set note = 'x'")
        assert {action for action, _, _ in self.run(shop).values()} == {"NO_DATA"}
        assert {action for action, _, _ in self.run(shop).values()} == {"NO_DATA"}

        # The seed is dropped and re-created: nothing is left to compare with.
        shop.dbt("seed", "--full-refresh")
        failed = shop.run("named", ok=False)["named"].message
        assert "TRK-203" in failed
        assert shop.run("named", flags=("--full-refresh",))["named"].adapter_response["action"] == "FULL"
        assert shop.difference(*NAMES) == []

    def run(self, shop: Shop) -> dict[str, tuple[str, int | None, int | None]]:
        found = {}
        for name, result in shop.run(*NAMES).items():
            response = result.adapter_response
            counts = (response["rows_inserted"], response["rows_deleted"])
            found[name] = (response["action"], *(counts if response["action"] == "DIFFERENTIAL" else (None, None)))
        assert shop.difference(*NAMES) == []
        return found

    def newest(self, shop: Shop, name: str) -> tuple[str, str]:
        row = shop.history(name)[-1]
        return row.action, row.reason

    def test_auto_chooses(self, shop: Shop) -> None:
        """Few rows: what changed. Many: all anew, as long as nothing was measured. And what cannot be maintained."""
        shop.table("orders", ", ".join(f"({n}, 'north', {n})" for n in range(100)))
        shop.write("totals.sql", model(TOTALS))
        shop.write("big.sql", model(TOTALS, max_change_ratio=0.5))
        shop.write("named.sql", model("select region, count(*) over () as n from {{ source('shop', 'orders') }}"))
        names = ("totals", "big", "named")
        shop.run(*names, flags=("--full-refresh",))
        shop.sql("update orders set amount = 0 where id < 20")
        moved = "orders moved from version 1 to 2"
        shop.step(
            {
                "totals": ("FULL", f"{moved}; 20 of 100 rows of orders changed, max_change_ratio is 0.15"),
                "big": ("DIFFERENTIAL", f"{moved}; 20 of 100 rows of orders changed; "),
                "named": ("FULL", f"{moved}; a window without PARTITION BY is over all rows"),
            }
        )
        assert shop.state("big").last_diff_ms > 0
        shop.sql("insert into orders values (100, 'south', 1)")
        moved = "orders moved from version 2 to 3"
        shop.step({"totals": ("DIFFERENTIAL", f"{moved}; 1 of 101 rows of orders changed; ")})
        # What it took is known: which of the two it is now, hangs on the machine.
        shop.run("big")
        assert "1 row of " in self.newest(shop, "big")[1]
        assert "orders changed; predicted " in self.newest(shop, "big")[1]
        assert shop.difference("big") == []
        assert "recomputed" not in shop.trickle("explain", "totals").output
        explained = shop.trickle("explain", "named", "--sql").output
        assert "maintained  full: a window without PARTITION BY" in explained

    def test_a_key_that_does_not_tell_rows_apart(self, shop: Shop) -> None:
        shop.table("orders", "(1, 'north', 10)")
        shop.write("big.sql", model(BIG, refresh_mode="differential", expose="table", primary_key=["id"]))
        shop.run("big", flags=("--full-refresh",))
        shop.sql("insert into orders values (1, 'south', 11)")
        assert "TRK-311" in shop.run("big", ok=False)["big"].message
        assert len(shop.sql(f"select * from {shop.public('big')}")) == 1
        shop.sql("delete from orders where region = 'south'")
        assert shop.run("big")["big"].adapter_response["action"] == "NO_DATA"

    def test_the_mode_is_changed(self, shop: Shop) -> None:
        shop.table("orders")
        shop.run("totals", flags=("--full-refresh",))
        shop.write("totals.sql", model(TOTALS, refresh_mode="full"))
        shop.sql("insert into orders values (7, 'east', 1)")
        assert shop.run("totals")["totals"].adapter_response["action"] == "REINITIALIZE"
        shop.write("totals.sql", model(TOTALS, refresh_mode="differential"))
        shop.sql("insert into orders values (8, 'east', 1)")
        assert shop.run("totals")["totals"].adapter_response["action"] == "REINITIALIZE"
        shop.sql("insert into orders values (9, 'east', 1)")
        assert shop.run("totals")["totals"].adapter_response["action"] == "DIFFERENTIAL"
        assert shop.difference("totals") == []
