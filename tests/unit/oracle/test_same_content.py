"""What must not matter: when a refresh runs, how a change is written down, how things are called and ordered."""

from __future__ import annotations

import re
from dataclasses import replace

from checked import content, tried
from hypothesis import given
from kept import Case
from lake import MOST_WINDOWS, Change, History, Lake
from random_cases import cases
from random_queries import of_depth
from sqlglot import exp, parse_one

QUERIES = 40
JOINS = ("join", "join using", "cross join", "outer join", "CTE joined to itself")


@tried(QUERIES)
@given(case=cases(of_depth(2), most=MOST_WINDOWS))
def test_one_refresh_or_one_after_each_change(lake: Lake, case: Case) -> None:
    stepwise = tuple(history.in_windows(1) for history in case.histories)
    assert content(lake, case) == content(lake, replace(case, histories=stepwise))


@tried(QUERIES)
@given(case=cases(of_depth(2)))
def test_an_update_or_a_delete_and_an_insert(lake: Lake, case: Case) -> None:
    apart = tuple(History(h.start, tuple(_apart(window) for window in h.windows)) for h in case.histories)
    assert content(lake, case) == content(lake, replace(case, histories=apart, feed=True))


def _apart(window: tuple[Change, ...]) -> tuple[Change, ...]:
    return tuple(
        part
        for change in window
        for part in (Change(change.table, change.gone, ()), Change(change.table, (), change.came))
    )


@tried(QUERIES)
@given(case=cases(of_depth(2)))
def test_other_aliases(lake: Lake, case: Case) -> None:
    renamed = re.sub(r"\bx(\d+)\b", r"`Of \1.a`", case.text)
    assert content(lake, case) == content(lake, replace(case, text=renamed))


@tried(QUERIES)
@given(case=cases(of_depth(2, among=JOINS)))
def test_the_order_of_a_join(lake: Lake, case: Case) -> None:
    assert content(lake, case) == content(lake, replace(case, text=_turned(case.text)))


def _turned(text: str) -> str:
    """The same with the two sides of each join of two changed over. Its columns are named, so they stay in order."""
    query = parse_one(text, dialect="spark")
    if len(list(query.find_all(exp.With))) > 1:
        return text  # sqlglot writes a WITH within another one beside it, whatever their names
    for select in query.find_all(exp.Select):
        joins = select.args.get("joins") or []
        if len(joins) == 1 and joins[0].kind not in ("SEMI", "ANTI") and not isinstance(joins[0].this, exp.Lateral):
            joins[0].set("side", {"LEFT": "RIGHT", "RIGHT": "LEFT"}.get(joins[0].side, joins[0].side))
            left, right = select.args["from_"].this, joins[0].this
            kept = left.copy()
            left.replace(right.copy())
            right.replace(kept)
    return query.sql(dialect="spark")
