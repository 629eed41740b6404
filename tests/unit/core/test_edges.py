"""Over which stream tables one would read itself."""

from __future__ import annotations

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan.edges import way_back


def table(number: int, *reads: int) -> StreamTable:
    frontier = {
        f"pgt_{each}": SourceVersion(f"pgt_{each}", "STREAM_TABLE", f"shop.st_{each}", f"changes.st_{each}_g1", 1, "")
        for each in reads
    }
    return StreamTable(number, "shop", f"st_{number}", f"model.shop.st_{number}", frontier=frontier)


def test_a_way_back() -> None:
    tables = [table(1), table(2, 1), table(3, 2, 4), table(4, 9), table(5, 3, 2)]
    assert way_back("pgt_1", ["shop.orders", "pgt_5"], tables) == ("shop.st_5", "shop.st_2", "shop.st_1")
    assert way_back("pgt_1", ["pgt_1"], tables) == ("shop.st_1",)
    assert way_back("pgt_5", ["pgt_3", "pgt_4"], tables) == ()
    assert way_back("pgt_6", ["pgt_1", "pgt_2"], [table(1, 2), table(2, 1)]) == ()
