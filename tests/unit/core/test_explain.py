"""Every operator can be explained: one line each, in the order and depth of the tree."""

from __future__ import annotations

import pytest
from tree_cases import FUNCTIONS, SOURCES, cases

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
    built = build(text, SOURCES, FUNCTIONS)
    columns = tuple(Column(name, "int", name) for name in built.output_names)
    shape = Shape(columns, built.tree, identity(built.tree), None, "")
    lines = explain.lines(shape)
    assert sorted(each.kind for each in lines) == sorted(type(each).__name__ for each in walk(built.tree))
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
    told = explain.lines(Shape(columns, built.tree, identity(built.tree), None, ""))
    [window] = [each for each in told if each.kind == "Window"]
    assert then in window.strategy
    assert bool(window.reason) == (then == "replace")


def test_it_says_by_what_rows_are_told_apart() -> None:
    def key(text: str) -> tuple[str, ...] | None:
        built = build(text, SOURCES)
        columns = tuple(Column(name, "int", name) for name in built.output_names)
        return explain.key(Shape(columns, built.tree, identity(built.tree), None, ""))

    assert key("select count(*) as n, region from o group by region") == ("region",)
    assert key("select count(*) as n from o") == ()
    assert key("select region from o") is None


def test_why_groups_are_computed_anew_is_a_reason_of_its_own() -> None:
    built = build("select region, max(amount) as m from o group by region", SOURCES)
    columns = tuple(Column(name, "int", name) for name in built.output_names)
    told = explain.lines(Shape(columns, built.tree, identity(built.tree), None, "for a reason"))
    [groups] = [each for each in told if each.kind == "Aggregate"]
    assert (groups.strategy, groups.reason) == ("its touched groups are computed anew", "for a reason")
    assert groups.told == "its touched groups are computed anew: for a reason"
