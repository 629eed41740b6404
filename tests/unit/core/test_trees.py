"""From a query's text to its operators, and back to text."""

from __future__ import annotations

from typing import Any

import pytest
import tree_cases
from hypothesis import given
from hypothesis import strategies as st

from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import (
    Aggregate,
    Constant,
    Generate,
    Lookup,
    Mark,
    Operator,
    Project,
    Recursive,
    Scan,
    TopK,
    scans,
    walk,
)
from dbt_trickle.tree.blocks import Style
from dbt_trickle.tree.build import Built, Unsupported, build
from dbt_trickle.tree.flat import flat
from dbt_trickle.tree.printed import printed
from dbt_trickle.tree.render import state

CASES = tree_cases.cases()
PLACEHOLDERS = {schema.key: quote(name) for name, schema in tree_cases.SOURCES.items()}


def built(text: str) -> Built:
    return build(text, tree_cases.SOURCES, tree_cases.FUNCTIONS)


@pytest.mark.parametrize("case", CASES, ids=[case["sql"][:80] for case in CASES])
def test_tree(case: dict[str, Any]) -> None:
    assert tree_cases.outcome(case["sql"]) == {k: v for k, v in case.items() if k not in ("sql", "about")}


@pytest.mark.parametrize("case", [case for case in CASES if "tree" in case], ids=lambda case: case["sql"][:80])
def test_rendered_text_is_the_same_tree(case: dict[str, Any]) -> None:
    tree = built(case["sql"]).tree
    if isinstance(tree.child, TopK):
        tree = tree.child.child  # within a query there is none
    again = built(state(tree, PLACEHOLDERS)).tree
    if any(isinstance(each, Mark) for each in walk(tree)):
        return  # as a union of those for which it is true and of the others
    pivoted = any(isinstance(each, Aggregate) and each.pivoted is not None for each in walk(tree))
    if pivoted or any(isinstance(each, (Lookup, Generate, Constant, Recursive)) for each in walk(tree)):
        # Names that are made up are made up anew.
        assert [type(each) for each in walk(again) if type(each) is not Project] == [
            type(each) for each in walk(tree) if type(each) is not Project
        ]
        assert [read(scan) for scan in scans(again)] == [read(scan) for scan in scans(tree)]
        return
    assert again == tree


@pytest.mark.parametrize("case", [case for case in CASES if "tree" in case], ids=lambda case: case["sql"][:80])
@pytest.mark.parametrize("style", [Style.MERGED, Style.APART, Style.PLAIN])
def test_the_flat_text_is_a_tree_of_the_same_columns(case: dict[str, Any], style: Style) -> None:
    tree = built(case["sql"]).tree
    again = built(flat(tree, PLACEHOLDERS, style)).tree
    assert [read(scan) for scan in scans(again)] == [read(scan) for scan in scans(tree)]
    assert again.columns == tree.columns


def read(scan: Scan) -> tuple[str, list[str]]:
    return scan.alias, [field.source_name for field in scan.fields]


def test_a_row_of_an_aggregate_without_its_values_stays_one_row() -> None:
    text = flat(built("select 1 as one from (select count(*) as n from o) q").tree, PLACEHOLDERS)
    assert "count(*)" in text


def test_a_scan_reads_what_the_query_uses() -> None:
    tree = built("select o.region from o o join c c using (customer_id) where c.name > 'a'").tree
    assert [[field.source_name for field in scan.fields] for scan in scans(tree)] == [
        ["customer_id", "region"],
        ["customer_id", "name"],
    ]


def test_an_order_is_left_out_of_the_text_that_is_compared() -> None:
    text = "select region from (select region, amount from o) q"
    assert built(f"{text}\norder by region -- last").text == text
    assert built(f"{text} -- last").text == f"{text} -- last"


def test_an_unknown_operator_is_a_bug() -> None:
    class Unheard(Operator):
        pass

    for function in (lambda: state(Unheard(), {}), lambda: printed(Unheard())):
        with pytest.raises(TrickleBug):
            function()


def values(columns: list[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from([*columns, *columns, "n", "1", "2L", "'x'", "'it''s'", "null", "-1"]),
        lambda inner: st.one_of(
            st.builds("{} {} {}".format, inner, st.sampled_from(["+", "*", "=", "<=>", "and", "or", "||", "%"]), inner),
            st.builds(
                "{}({})".format, st.sampled_from(["sum", "count", "upper", "max", "not ", "", "coalesce"]), inner
            ),
            st.builds("({}) is not null".format, inner),
            st.builds("({}) not in ({}, 2)".format, inner, inner),
            st.builds("case when {} then {} end".format, inner, inner),
        ),
        max_leaves=4,
    )


RELATIONS = {
    "o": ["region", "amount", "o.region", "info.size", "nothing"],
    "o o join c c using (customer_id)": ["customer_id", "o.amount", "c.name", "c.customer_id", "region"],
    "o o, c c": ["amount", "name", "o.region", "c.region", "o.info.tag"],
    "c natural join o": ["region", "name", "amount"],
    "(select region, sum(amount) as total, count(*) as n from o group by 1) q": ["region", "total", "q.total", "q.n"],
    "(select amount * 2 as total, region as n from o where amount > 1) as q": ["total", "q.n"],
    "(select customer_id as k, upper(name) as u from c) a join (select count(*) as k from o) b on a.k = b.k": [
        "u",
        "b.k",
    ],
}


@st.composite
def queries(draw: st.DrawFn) -> str:
    relation = draw(st.sampled_from(sorted(RELATIONS)))
    columns = RELATIONS[relation]
    value = values(columns)
    item = st.one_of(st.just("*"), value, value, st.builds("{} as n".format, value))
    text = f"select {', '.join(draw(st.lists(item, min_size=1, max_size=3)))} from {relation}"
    groups = ["all", "1", "1, 2", f"{columns[0]}, {columns[1]}", "n"]
    clauses = [("where", value), ("group by", st.sampled_from(groups)), ("having", value)]
    return text + "".join(f" {word} {draw(clause)}" for word, clause in clauses if draw(st.booleans()))


@given(queries())
def test_any_query_is_refused_or_comes_back(text: str) -> None:
    try:
        tree = built(text).tree
    except Unsupported as problem:
        assert problem.reason
        return
    for operator in walk(tree):
        assert len({name.lower() for name in operator.columns}) == len(operator.columns)
    assert built(state(tree, PLACEHOLDERS)).tree == tree
