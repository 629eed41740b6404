"""Which stream tables are in the way of what reads them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt_trickle.catalog.state import ACTIVE, ERROR, SUSPENDED, StreamTable
from dbt_trickle.errors import ModelError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan.edges import suspended, way_back
from dbt_trickle.run.consider import _require_no_circle


def table(number: int, *reads: int, status: str = ACTIVE) -> StreamTable:
    frontier = {
        f"pgt_{each}": SourceVersion(f"pgt_{each}", "STREAM_TABLE", f"shop.st_{each}", f"changes.st_{each}_g1", 1, "")
        for each in reads
    }
    return StreamTable(number, "shop", f"st_{number}", f"model.shop.st_{number}", frontier=frontier, status=status)


def test_what_is_suspended_above() -> None:
    tables = [table(1, status=ERROR), table(2, 1), table(3, 2, status=SUSPENDED), table(4, 3, 2), table(5)]
    assert suspended(["pgt_4", "shop.orders"], tables) == ("shop.st_1", "shop.st_3")
    assert suspended(["pgt_2"], tables) == ("shop.st_1",)
    assert suspended(["pgt_5", "pgt_9"], tables) == ()


def test_a_circle_is_gone_round_once() -> None:
    assert suspended(["pgt_1"], [table(1, 2), table(2, 1, status=SUSPENDED)]) == ("shop.st_2",)


def test_a_way_back() -> None:
    tables = [table(1), table(2, 1), table(3, 2, 4), table(4, 9), table(5, 3, 2)]
    assert way_back("pgt_1", ["shop.orders", "pgt_5"], tables) == ("shop.st_5", "shop.st_2", "shop.st_1")
    assert way_back("pgt_1", ["pgt_1"], tables) == ("shop.st_1",)
    assert way_back("pgt_5", ["pgt_3", "pgt_4"], tables) == ()
    assert way_back("pgt_6", ["pgt_1", "pgt_2"], [table(1, 2), table(2, 1)]) == ()


@pytest.mark.parametrize(
    ("way", "told"),
    [
        (("shop.b", "shop.a"), r"over shop\.b[\s\S]*If shop\.b reads it no more"),
        (("shop.a",), r"over a view[\s\S]*Let the query, or the view, read something else"),
    ],
)
def test_a_circle_is_told_with_what_it_goes_over(way: tuple[str, ...], told: str) -> None:
    request, pinned = SimpleNamespace(pgt_id=1), SimpleNamespace(frontier={})
    with pytest.raises(ModelError, match=f"TRK-210.*{told}"):
        _require_no_circle(request, SimpleNamespace(way_back=lambda *_: way), pinned)  # type: ignore[arg-type]
