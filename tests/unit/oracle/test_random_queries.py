"""Any query over any rows, whatever happens to them: the product's statements, without Spark."""

from __future__ import annotations

from itertools import count

import pytest
from checked import HISTORIES, check, check_staged, check_twice, check_whole, tried
from hypothesis import given
from kept import Case
from lake import SCHEMAS, Lake
from random_cases import MOST_ROWS, cases
from random_queries import ALL, OPERATORS, ROOTS, Query, of_depth, of_one, of_pair

from dbt_trickle.tree import algebra
from dbt_trickle.tree.build import build

# Of these one of either in a query is refused.
MARKS, LOOKUPS = {"exists or", "in, shown"}, {"lookup", "lookup in groups", "lookup in where", "lateral"}
PAIRS = [
    (outer, inner) for outer in ALL for inner in OPERATORS if not ({outer, inner} & MARKS and {outer, inner} & LOOKUPS)
]
# Queries, each with HISTORIES.
OF_TREES, OF_FEW = 140, 24


@pytest.mark.parametrize(("outer", "inner"), PAIRS, ids=[f"{outer} of {inner}" for outer, inner in PAIRS])
def test_one_operator_in_another(lake: Lake, outer: str, inner: str) -> None:
    number = count()

    @tried(2)
    @given(cases(of_pair(outer, inner), HISTORIES))
    def holds(case: Case) -> None:
        if next(number):  # the first is the simplest there is, a row that comes into an empty table: it says little
            check(lake, case)

    holds()


@tried(OF_TREES)
@given(case=cases(of_depth(3), HISTORIES))
def test_operators_in_one_another(lake: Lake, case: Case) -> None:
    check(lake, case)


@tried(OF_TREES)
@given(case=cases(of_depth(2, among=list(ROOTS)), HISTORIES))
def test_first_rows(lake: Lake, case: Case) -> None:
    check(lake, case)


@pytest.mark.parametrize("operator", ["filter", "project", "groups"])
def test_few_rows_among_others_that_have_their_ids(lake: Lake, operator: str) -> None:
    @tried(OF_FEW)
    @given(cases(of_one(operator), HISTORIES, most=2, least=MOST_ROWS))
    def holds(case: Case) -> None:
        check(lake, case)

    holds()


@pytest.mark.parametrize("operator", ["groups", "groups, keys hidden", "whole", "lookup in groups"])
def test_rows_only_come(lake: Lake, operator: str) -> None:
    """As everywhere else they may, too; but here the least and the greatest are always brought forward."""

    @tried(OF_TREES)
    @given(cases(of_depth(2, among=[operator]), HISTORIES, least=1, grows=True))
    def holds(case: Case) -> None:
        check(lake, case)

    holds()


@tried(OF_FEW)
@given(case=cases(of_depth(2, among=("project", "join", "groups")), HISTORIES))
def test_a_change_that_is_brought_in_twice_is_told(lake: Lake, case: Case) -> None:
    check_twice(lake, case)


@pytest.mark.parametrize("operator", ALL)
def test_a_difference_of_all_rows(lake: Lake, operator: str) -> None:
    @tried(3)
    @given(cases(of_one(operator), HISTORIES))
    def holds(case: Case) -> None:
        check_whole(lake, case)

    holds()


@pytest.mark.parametrize("operator", ALL)
def test_by_way_of_a_table(lake: Lake, operator: str) -> None:
    @tried(3)
    @given(cases(of_one(operator), HISTORIES))
    def holds(case: Case) -> None:
        check_staged(lake, case)

    holds()


@pytest.mark.parametrize("grows", [False, True])
def test_operators_in_one_another_by_way_of_a_table(lake: Lake, grows: bool) -> None:
    @tried(OF_FEW)
    @given(cases(of_depth(2, among=list(ROOTS)), HISTORIES, grows=grows))
    def holds(case: Case) -> None:
        check_staged(lake, case)

    holds()


def test_the_grammar_has_every_operator_there_is() -> None:
    met: set[type[algebra.Operator]] = set()
    for operator in ALL:

        @tried(3)
        @given(of_one(operator))
        def meet(query: Query) -> None:
            met.update(type(each) for each in algebra.walk(build(query.text, SCHEMAS).tree))

        meet()
    assert met == set(algebra.Operator.__subclasses__())


def test_there_are_enough() -> None:
    """Of each pair one query, and what its rows go through; those of other tests come on top."""
    trees = 2 * OF_TREES
    assert (len(PAIRS) + trees) * HISTORIES >= 2000
