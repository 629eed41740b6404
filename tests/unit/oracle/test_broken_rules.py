"""The oracle can fail: each rule, broken in the way that is nearest to hand, is found out.

As a wrong result, or as the product's own error for what is stored and should not be; statements that do not even
run would prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from breaking import STATE_IS_NOT_COMPARED, Broken, find_out, instead_of, last, new_twice, text
from lake import Lake
from sqlglot import exp

from dbt_trickle.apply import bag, choose, restated, top
from dbt_trickle.apply.base import named
from dbt_trickle.capture import feed
from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta import groups, joins, recursion, sets
from dbt_trickle.delta.aggregate import functions, state
from dbt_trickle.delta.context import Cte, Delta
from dbt_trickle.names import quote
from dbt_trickle.tree import pivots, unpivots
from dbt_trickle.tree.algebra import (
    Filter,
    Generate,
    InnerJoin,
    Lookup,
    Mark,
    OuterJoin,
    Project,
    Recursive,
    Scan,
    SemiJoin,
    SetOperation,
)
from dbt_trickle.tree.render import state as state_of

_W = quote(WEIGHT)


def only_new(rows: str) -> str:
    return rows if "VERSION AS OF 1" in rows else f"SELECT * FROM (\n{rows}\n) WHERE false"


_UNION = "\nUNION ALL\n"


def without(part: str) -> Callable[[str], str]:
    """A rule without those of its terms that say this."""
    return lambda sql: _UNION.join(term for term in sql.split(_UNION) if part not in term)


def stays(*arguments: Any) -> Delta:
    *before, end = restated.restated(*arguments).ctes
    return Delta((*before, Cte(end.name, end.sql.split(_UNION)[0])))


_FIRST = top.restated


def never_told(*arguments: Any) -> Delta:
    *before, end = _FIRST(*arguments).ctes
    return Delta((*before, Cte(end.name, end.sql.replace("CASE WHEN NOT (", "CASE WHEN false AND ("))))


_TURNED = joins._turned


def was_is_now(*arguments: Any) -> list[Cte]:
    met, was, now, end = _TURNED(*arguments)
    return [met, Cte(was.name, now.sql), now, end]


_EXTREME = functions._extreme


def together(change: Callable[[str], str]) -> Callable[[str, str], functions.Rule | None]:
    """What is stored and what comes, made one in another way; what the hidden column is of the rows stays."""

    def instead(function: str, kind: str) -> functions.Rule | None:
        found = _EXTREME(function, kind)
        if found is None:
            return None
        (part,) = found.parts
        return replace(found, parts=(replace(part, together=change(part.together)),))

    return instead


_TURNED_AROUND = {"least": "greatest", "greatest": "least", "&": "|", "|": "&"}


def turned_around(sql: str) -> str:
    return re.sub("least|greatest|[&|]", lambda found: _TURNED_AROUND[found.group()], sql)


def distinct(sql: str) -> str:
    return sql.replace("SELECT", "SELECT DISTINCT", 1)


_FOLLOWED, _LED_ON, _OF_KEYS = recursion._followed, recursion._led_on, recursion.of_keys


def not_followed(*arguments: Any) -> list[Cte]:
    first, levels = _FOLLOWED(*arguments)
    return [first, Cte(levels.name, levels.sql.split(_UNION)[0])]


def none_went(*arguments: Any) -> tuple[Cte, ...]:
    *before, first, end = _LED_ON(*arguments)
    nothing = Cte(end.name, f"SELECT * FROM {quote(first.name)} WHERE false")
    return (*before, first, nothing if end.name.endswith("_gone") else end)


def as_if_none_went(*arguments: Any) -> tuple[Cte, ...]:
    tree, inputs, rows, *others = arguments
    return _LED_ON(tree, inputs, rows.split(_UNION)[0], *others)


def like_any(*arguments: Any, others: bool = False) -> str:
    tree, _, at, *_ = arguments
    return state_of(tree, at) if others else _OF_KEYS(*arguments)


BROKEN = (
    Broken(
        "a scan takes what goes for what comes",
        "project",
        rule=(Scan, last(lambda s: s.replace(_W, f"abs({_W}) AS {_W}"))),
    ),
    Broken("a filter lets all pass", "filter", rule=(Filter, last(lambda s: s.split("\nWHERE ")[0]))),
    Broken(
        "a projection loses copies",
        "project",
        rule=(Project, last(distinct)),
    ),
    Broken("a join without its second term", "join", rule=(InnerJoin, last(lambda s: s.split("\nUNION ALL\n")[0]))),
    Broken("a join with the new state in both terms", "join", rule=(InnerJoin, new_twice)),
    Broken("a cross join with the new state in both terms", "cross join", rule=(InnerJoin, new_twice)),
    Broken("groups as they were are forgotten", "groups, keys hidden", text(groups, "of_touched", only_new)),
    Broken("partitions as they were are forgotten", "windows", text(groups, "of_touched", only_new)),
    Broken("partitions are not all of their rows", "latest", text(restated, "of_touched", lambda s: f"{s} LIMIT 1")),
    Broken("what is stored of a partition stays", "window", instead_of(choose, "restated", stays)),
    Broken("an outer join forgets who is alone now", "outer join", rule=(OuterJoin, last(without("NULL AS")))),
    Broken(
        "an outer join takes who is alone for who is not any more",
        "outer join",
        rule=(OuterJoin, last(lambda s: s.replace(f"-{_W} AS", f"{_W} AS"))),
    ),
    Broken("an outer join with the new state in all terms", "outer join", rule=(OuterJoin, new_twice)),
    Broken("a semi join without who got a match", "semi join", rule=(SemiJoin, last(lambda s: s.split(_UNION)[0]))),
    Broken(
        "NOT EXISTS takes a first match for a last one", "exists", rule=(SemiJoin, last(lambda s: s.replace("-", "")))
    ),
    Broken("IN with the new state in all terms", "in", rule=(SemiJoin, new_twice)),
    Broken("who has a match is asked of the new state only", "exists", instead_of(joins, "_turned", was_is_now)),
    Broken("first rows are looked for in what is stored only", "first", instead_of(top, "restated", never_told)),
    Broken("what came goes first", "first", instead_of(top, "_ordered", lambda *_: [quote(named("came"))])),
    Broken("INTERSECT with the new state twice", "intersect", rule=(SetOperation, new_twice)),
    Broken("NULLs are not alike", "except", text(sets, "of_keys", lambda s: s.replace("<=>", "="))),
    Broken("a generator loses copies", "generate", rule=(Generate, last(distinct))),
    Broken("a value of a PIVOT is that of all rows", "pivot", instead_of(pivots, "filtered", lambda node, _: node)),
    Broken("UNPIVOT keeps what has no value", "unpivot", instead_of(unpivots, "_is_there", lambda _: exp.true())),
    Broken("a value that is another one now stays", "lookup", rule=(Lookup, last(lambda s: s.split(_UNION)[0]))),
    Broken("a value is looked up in the new state only", "lookup", rule=(Lookup, new_twice)),
    Broken("what LATERAL gives is looked up in the new state only", "lateral", rule=(Lookup, new_twice)),
    Broken("whether a row is IN is asked of the new state only", "in, shown", rule=(Mark, new_twice)),
    Broken("who is IN now was not before", "in, shown", rule=(Mark, last(lambda s: s.rsplit(_UNION, 1)[0]))),
    Broken(
        "what may be equal is not",
        "in, shown",
        text(joins, "meeting", lambda s: s.replace(" IS NULL", " <=> 0")),
    ),
    Broken(
        "groups are found by rows that came",
        "having",
        text(restated, "touched_keys", lambda s: f"{s}\nWHERE {_W} > 0"),
    ),
    Broken("NULL is no group", "having", text(restated, "of_touched", lambda s: s.replace("<=>", "="))),
    Broken(
        "NULLs are counted", "groups", instead_of(functions, "_COUNT", replace(functions._COUNT, of_changes="SUM({w})"))
    ),
    Broken(
        "what is stored of a group is not added",
        "groups",
        text(state, "brought_forward", lambda s: s.replace("coalesce(t.", "0 * coalesce(t.")),
    ),
    Broken(
        "stored groups are found by their row id alone",
        "groups",
        text(state, "brought_forward", lambda s: re.sub(" AND t.`[^`]+` <=> d.`[^`]+`", "", s)),
    ),
    Broken("the least is what the greatest is", "groups", instead_of(functions, "_extreme", together(turned_around))),
    Broken(
        "what comes counts for nothing beside what is stored",
        "whole",
        instead_of(functions, "_extreme", together(lambda _: "coalesce({t}, {d})")),
    ),
    Broken(
        "NULL is less than any",
        "groups",
        instead_of(functions, "_extreme", together(lambda s: f"CASE WHEN {{d}} IS NOT NULL THEN {s} END")),
    ),
    Broken("the greatest stays so when rows went", "groups", instead_of(state.Stateful, "follows", lambda *_: True)),
    Broken(
        "where a value is looked up rows only come", "lookup in groups", instead_of(state, "only_grows", lambda _: True)
    ),
    Broken(
        "of groups that are computed anew the state is not compared",
        "groups",
        STATE_IS_NOT_COMPARED,
    ),
    Broken("an empty group stays", "groups", text(state, "gone", lambda _: "false")),
    Broken("what follows from a change stays", "recursion by itself", instead_of(recursion, "_followed", not_followed)),
    Broken("a recursion over the new state only", "recursion", rule=(Recursive, new_twice)),
    Broken("what went from a recursion stays", "recursion", instead_of(recursion, "_led_on", none_went)),
    Broken("what came meets rows that went", "recursion", instead_of(recursion, "_led_on", as_if_none_went)),
    Broken("what went is followed over what went", "recursion over a join", instead_of(recursion, "of_keys", like_any)),
    Broken(
        "what follows from a change is followed once only",
        "recursion that asks",
        text(recursion, "_net", lambda s: s.replace(f"SUM({_W})", f"sign(SUM({_W}))")),
    ),
    Broken("of like rows all go", "project", text(bag, "_copies", lambda s: s.replace("'come'", "'none'", 1))),
    Broken("rows are found by their row id alone", "filter", instead_of(bag, "all_equal", lambda *_: ["true"])),
    Broken(
        "what an update replaced stays",
        "project",
        text(feed, "_WEIGHT", lambda s: s.replace("'update_preimage' THEN -1L", "'update_preimage' THEN 0L")),
    ),
)


@pytest.mark.parametrize("this", BROKEN, ids=[this.about for this in BROKEN])
def test_what_is_broken_is_found_out(lake: Lake, this: Broken) -> None:
    find_out(lake, this)
