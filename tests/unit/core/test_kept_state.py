"""Which aggregates are brought forward, and by which hidden columns; that these are right is tried by the oracle."""

from __future__ import annotations

import pytest
from tree_cases import SOURCES

from dbt_trickle.delta.aggregate.functions import TOO_LARGE, rule
from dbt_trickle.tree.build import build
from dbt_trickle.tree.identity import grouped
from dbt_trickle.tree.values import Call


def call(text: str) -> Call:
    groups = grouped(build(f"select {text} as v from o", SOURCES).tree)
    assert groups is not None
    return groups.calls[0]


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("decimal(27,10)", "DECIMAL(37,10)"),
        ("decimal(28,6)", "DECIMAL(37,6)"),
        ("decimal(32,4)", "DECIMAL(37,4)"),
        ("decimal(36,0)", "DECIMAL(37,0)"),
        ("decimal(28,7)", None),  # of a product with more than 38 digits Spark cuts the seventh behind the point
        ("decimal(37,2)", None),
    ],
)
def test_sums_of_decimals(kind: str, kept: str | None) -> None:
    found = rule("sum", kind, "decimal(38,4)")
    assert (found.parts[0].type if found is not None else None) == kept


def test_a_product_that_does_not_fit_is_told() -> None:
    """It is NULL without ANSI, which SUM would pass over."""
    found = rule("sum", "decimal(32,4)", "decimal(38,4)")
    assert found is not None
    product = f"* {{x}}, raise_error('{TOO_LARGE}'))"
    assert "CASE WHEN {x} IS NOT NULL THEN coalesce(" in found.parts[0].of_changes
    assert product in found.parts[0].of_changes


def test_a_count_of_several_columns_is_one_of_the_rows_that_have_them_all() -> None:
    counted = call("count(region, info.size)")
    assert counted.of_rows
    assert counted.argument is not None
    there = "CASE WHEN NOT (`orders.region`) IS NULL AND NOT (`orders.info`.`size`) IS NULL THEN 1 END"
    assert counted.argument.sql == there


@pytest.mark.parametrize("text", ["count(distinct region, amount)", "max_by(region, amount)"])
def test_other_calls_of_several_columns_do_not_follow_from_one_value(text: str) -> None:
    assert not call(text).of_rows
