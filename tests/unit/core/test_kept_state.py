"""Which aggregates are brought forward, and by which hidden columns; that these are right is tried by the oracle."""

from __future__ import annotations

import pytest
from tree_cases import SOURCES

from dbt_trickle.apply.choose import applied
from dbt_trickle.apply.explain import lines
from dbt_trickle.apply.shape import Shape
from dbt_trickle.apply.unrestricted import ALL_ROWS, rows_went, this_time
from dbt_trickle.catalog.state import Column
from dbt_trickle.delta.aggregate.functions import TOO_LARGE, rule
from dbt_trickle.delta.aggregate.state import Stateful, Typed, stateful
from dbt_trickle.delta.context import WENT, Context, Source
from dbt_trickle.names import Relation
from dbt_trickle.tree.algebra import scans
from dbt_trickle.tree.build import build
from dbt_trickle.tree.identity import grouped, identity
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


@pytest.mark.parametrize(
    ("function", "kind", "together"),
    [
        ("min", "int", "least({t}, {d})"),
        ("max", "decimal(10,2)", "greatest({t}, {d})"),
        ("max", "double", "greatest({t}, {d})"),
        ("min", "string", "least({t}, {d})"),
        ("max", "timestamp", "greatest({t}, {d})"),
        ("bit_and", "bigint", "coalesce({t} & {d}, {t}, {d})"),
        ("bit_or", "int", "coalesce({t} | {d}, {t}, {d})"),
        ("max", "string collate UTF8_LCASE", None),
        ("max", "struct<a:int>", None),
        ("max", "array<int>", None),
        ("max", "binary", None),
        ("max", "timestamp_ntz", None),
        ("max", "interval day", None),
        ("bit_xor", "int", None),
        ("max_by", "int", None),
        ("min distinct", "int", None),
        ("any_value", "int", None),
        ("median", "double", None),
    ],
)
def test_what_is_brought_forward_while_rows_only_come(function: str, kind: str, together: str | None) -> None:
    found = rule(function, kind, kind, grows=True)
    assert (found.parts[0].together if found is not None else None) == together
    assert rule(function, kind, kind) is None


def kept(text: str, kind: str = "bigint") -> Shape:
    built = build(text, SOURCES)
    tree, columns = built.tree, tuple(Column(name, kind, name) for name in built.output_names)
    groups = grouped(tree)
    assert groups is not None
    found = stateful(groups, [Typed(each.name, kind if each.argument else None, kind) for each in groups.calls])
    is_kept = isinstance(found, Stateful)
    return Shape(columns, tree, identity(tree), found if is_kept else None, "" if is_kept else str(found))


def way(shape: Shape, append_only: bool) -> tuple[str, str]:
    """In words and as a statement."""
    sources = {scan.source: Source("old", "new", "SELECT * FROM changes") for scan in scans(shape.tree)}
    found = applied(shape, Context(sources), Relation.parse("shop.storage"), 3, append_only)
    return found.how, found.sql


LEAST = "select region, min(order_id) as low, count(*) as n from o group by region"


def test_the_groups_are_not_read_again_while_rows_only_come() -> None:
    how, sql = way(kept(LEAST), append_only=True)
    assert how == "groups brought forward from their stored state"
    assert "least(t.`__pgt_part_0_0`, d.`__pgt_part_0_0`)" in sql
    assert "FROM new" not in sql
    assert WENT in sql


def test_once_rows_went_the_touched_groups_are_computed_anew_with_what_is_kept() -> None:
    shape = kept(LEAST)
    how, sql = way(shape, append_only=False)
    assert how == "touched groups computed anew"
    assert "CAST(min((`o.order_id`)) AS bigint) AS `__pgt_part_0_0`" in sql.replace("`orders.", "`o.")
    assert rows_went(shape.groups, False) == (
        "rows went, and min(`orders.order_id`) is brought forward only while none does"
    )
    assert rows_went(shape.groups, True) == rows_went(kept("select count(*) as n from o").groups, False) == ""


def test_what_may_lose_rows_although_sources_only_grow_keeps_nothing() -> None:
    above = "select max(p.order_id) as m from o as p left join c as q on p.customer_id = q.customer_id group by q.name"
    shape = kept(above)
    assert shape.groups is None
    assert "cannot be brought forward" in shape.why


def test_of_one_group_that_is_all_rows() -> None:
    one = kept("select min(order_id) as low from o").groups
    assert this_time(one, append_only=True) == ""
    assert this_time(one, append_only=False).startswith(f"{ALL_ROWS}; rows went, and ")
    assert this_time(kept(LEAST).groups, append_only=False) == ""
    assert this_time(kept("select count(*) as n from o").groups, append_only=False) == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LEAST, "while rows come and none goes; otherwise its touched groups are computed anew"),
        ("select min(order_id) as low from o", "while rows come and none goes; otherwise it is recomputed"),
        ("select count(*) as n from o", "brought forward from kept state"),
    ],
)
def test_explain_says_so(text: str, told: str) -> None:
    [line] = [each for each in lines(kept(text)) if each.kind == "Aggregate"]
    assert line.strategy.endswith(told)
