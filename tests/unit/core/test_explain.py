"""Every operator can be explained: one line each, in the order and depth of the tree."""

from __future__ import annotations

import pytest
from tree_cases import SOURCES, cases

from dbt_trickle.apply import explain
from dbt_trickle.apply.shape import Shape
from dbt_trickle.catalog.state import Column
from dbt_trickle.tree.algebra import walk
from dbt_trickle.tree.build import build
from dbt_trickle.tree.identity import identity
from dbt_trickle.tree.printed import printed

MAINTAINED = [case["sql"] for case in cases() if "tree" in case]


@pytest.mark.parametrize("text", MAINTAINED)
def test_each_operator_has_a_line(text: str) -> None:
    built = build(text, SOURCES)
    columns = tuple(Column(name, "int", name) for name in built.output_names)
    shape = Shape(built.tree, columns, identity(built.tree), None, "")
    lines = explain.lines(shape)
    assert "\n".join("  " * each.depth + each.operator for each in lines) == printed(built.tree)
    assert len(lines) == len(list(walk(built.tree)))
    assert all(each.strategy for each in lines)
    assert explain.identity(shape)


@pytest.mark.parametrize(
    ("call", "then"),
    [("rank() over (partition by region order by amount)", "compared"), ("lag(amount) over w", "replace")],
)
def test_of_partitions_it_says_what_becomes_of_them(call: str, then: str) -> None:
    built = build(f"select region, {call} as n from o window w as (partition by region order by amount)", SOURCES)
    columns = tuple(Column(name, "int", name) for name in built.output_names)
    told = explain.lines(Shape(built.tree, columns, identity(built.tree), None, ""))
    assert then in next(each.strategy for each in told if each.operator.startswith("Window"))
