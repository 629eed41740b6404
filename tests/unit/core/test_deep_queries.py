"""Queries that are nested deeply or have many columns: understood, or recomputed with that reason."""

from __future__ import annotations

import pytest
from tree_cases import SOURCES

from dbt_trickle.delta import rules
from dbt_trickle.delta.context import Context, Source
from dbt_trickle.run import deep
from dbt_trickle.tree import guard
from dbt_trickle.tree.algebra import scans
from dbt_trickle.tree.build import Unsupported, build

DEPTH = 500


def nested() -> str:
    query = "select region from o"
    for number in range(DEPTH):
        query = f"select region from ({query}) q{number}"
    return query


QUERIES = {
    "subqueries": nested(),
    "conditions": "select region from o where " + " or ".join(f"amount = {n}" for n in range(DEPTH)),
    "sums": f"select {'+'.join(['amount'] * DEPTH)} as s from o",
    "unions": " union all ".join(["select region from o"] * DEPTH),
    "joins": "select a0.region from o as a0 "
    + " ".join(f"join o as a{n} on a{n}.order_id = a{n - 1}.order_id" for n in range(1, DEPTH)),
    "columns": "select " + ", ".join(f"amount + {n} as c{n}" for n in range(300)) + " from o",
    "aggregates": "select " + ", ".join(f"max(amount + {n}) as c{n}" for n in range(300)) + " from o group by region",
}


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
def test_it_is_understood(text: str) -> None:
    deep.allow()
    tree = build(text, SOURCES).tree
    assert guard.candidates(tree, {schema.key: name for name, schema in SOURCES.items()})
    if len(scans(tree)) == 1:
        sources = {schema.key: Source("old", "new", "SELECT 1") for schema in SOURCES.values()}
        assert rules.delta(tree, Context(sources)).ctes


def test_what_the_parser_cannot_take_is_a_reason() -> None:
    deep.allow()
    with pytest.raises(Unsupported, match=r"recursion|nested too deeply"):
        build(f"select region from o where {'(' * 5000}amount = 1{')' * 5000}", SOURCES)
