"""Queries whose difference nobody could plan are recomputed: told before any text is made of them."""

from __future__ import annotations

from tree_cases import SOURCES

from dbt_trickle.run import deep
from dbt_trickle.tree.build import build
from dbt_trickle.tree.size import MOST_READS, reads, too_large


def joins(number: int) -> str:
    more = (f"join o as a{n} on a{n}.order_id = a{n - 1}.order_id" for n in range(1, number + 1))
    return "select a0.region from o as a0 " + " ".join(more)


def flags(number: int) -> str:
    found = (f"exists (select 1 from o as p where p.amount = q.amount + {n}) as f{n}" for n in range(number))
    return f"select {', '.join(['order_id', *found])} from o as q"


def test_joins() -> None:
    assert too_large(build(joins(100), SOURCES).tree) == ""
    assert too_large(build(joins(101), SOURCES).tree) == "it has 101 joins, and a difference is made of 100 at most"


def test_what_is_read_twice_by_each_flag() -> None:
    assert [reads(build(flags(number), SOURCES).tree) for number in (0, 1, 2, 3)] == [1, 4, 10, 22]
    assert too_large(build(flags(7), SOURCES).tree) == ""
    assert "would read its sources 3070 times" in too_large(build(flags(10), SOURCES).tree)
    assert MOST_READS < 3070


def test_branches_of_a_union_are_read_once_each() -> None:
    deep.allow()
    text = " union all ".join(["select region from o"] * 500)
    assert too_large(build(text, SOURCES).tree) == ""
