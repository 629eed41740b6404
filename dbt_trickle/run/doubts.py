"""Where a tree may do otherwise than Spark although both have one plan: types that meet, and values told a second time.

Asked of Spark, by the types of what is compared; each doubt is the reason why the query is recomputed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dbt_trickle.apply.base import incomparable
from dbt_trickle.catalog.state import Column
from dbt_trickle.delta.aggregate.functions import same_again
from dbt_trickle.delta.touched import keys_of as keys_within
from dbt_trickle.errors import TrickleBug
from dbt_trickle.run.columns import described, types_of
from dbt_trickle.run.pivot_doubts import of_pivot, of_unpivot
from dbt_trickle.run.session import Session
from dbt_trickle.tree import algebra
from dbt_trickle.tree.algebra import (
    Aggregate,
    Generate,
    Lookup,
    Mark,
    Operator,
    Recursive,
    SemiJoin,
    SetOperation,
    TopK,
    Window,
    scans,
    walk,
)
from dbt_trickle.tree.linear_step import beside
from dbt_trickle.tree.printed import printed
from dbt_trickle.tree.render import state
from dbt_trickle.tree.values import Call, Over, Pivoted, Predicate, Unpivoted

_NUMBER = re.compile(r"tinyint|smallint|int|bigint|float|double|decimal\(.*\)")
_OF_THE_USER = re.compile(r"\w\.\w+\(")  # columns are quoted
_TOGETHER = (Aggregate, Window, SetOperation, TopK, Lookup)
# Of these nothing is computed that could come out otherwise.
_PLAIN = (
    algebra.Scan,
    algebra.Constant,
    algebra.Filter,
    algebra.Project,
    algebra.InnerJoin,
    algebra.OuterJoin,
    algebra.UnionAll,
    Generate,
    algebra.Reference,
    TopK,
)
_NEARLY_EQUAL = re.compile(r"\b(?:float|double)\b", re.IGNORECASE)


def doubt(session: Session, tree: Operator, top: Operator | None, at: Mapping[str, str]) -> str:
    """`top`: what is not told a second time, but compared with what is stored."""
    if any(isinstance(each, _TOGETHER) for each in walk(tree)):
        for field in (field for scan in scans(tree) for field in scan.fields):
            if "COLLATE" in field.type.upper():
                return f"column {field.source_name} has a collation, under which different values are equal"
    at = {**at, **{each.name: _of_base(each, at) for each in walk(tree) if isinstance(each, Recursive)}}
    for each in walk(tree):
        if found := _always(session, each, at) or ("" if each is top else _of(session, each, at)):
            return found
    return ""


def _always(session: Session, tree: Operator, at: Mapping[str, str]) -> str:
    """Of what is not told a second time as well."""
    match tree:
        case Aggregate(pivoted=Pivoted() as how):
            found = of_pivot(session, tree, how, at)
        case Generate(unpivoted=Unpivoted() as how):
            found = of_unpivot(session, tree, how, at)
        case _:
            found = ""
    return found or _of_keys(session, tree, at)


def _of(session: Session, tree: Operator, at: Mapping[str, str]) -> str:
    match tree:
        case Aggregate() | Window():
            return _told_again(session, tree.calls, tree.child, at)
        case Lookup():
            kind = dict(described(session, state(tree, at)))[tree.name]
            unlike = incomparable([Column(tree.name, kind, tree.name)])
            return unlike or _of_maps(tree.name, kind) or _told_again(session, tree.calls, tree.query, at)
        case SemiJoin():
            return _in(session, tree.left, tree.right, tree.predicate, at)
        case Mark():
            return _in(session, tree.child, tree.query, tree.predicate, at)
        case Recursive():
            return _of_recursion(session, tree, at)
        case SetOperation():
            sides = [[kind for _, kind in described(session, state(side, at))] for side in (tree.left, tree.right)]
            return _unlike(tree.word, *sides)
        case _ if isinstance(tree, _PLAIN):
            return ""
        case _:
            raise TrickleBug(f"{type(tree).__name__} was not looked at for doubts")


def _of_keys(session: Session, tree: Operator, at: Mapping[str, str]) -> str:
    """Touched groups and partitions are found by their keys, which have to be compared."""
    if not isinstance(tree, (Aggregate, Window)) or not _may_have_maps(tree):
        return ""
    keys = keys_within(tree)
    kinds = types_of(session, keys, tree.child, at)
    return next((found for key, kind in zip(keys, kinds, strict=True) if (found := _of_maps(key.sql, kind))), "")


def _may_have_maps(tree: Operator) -> bool:
    """A map is a source's, or its type or a function that makes one is named; what the user's own functions give their
    names do not tell. Most queries need not be asked about.
    """
    text = printed(tree).lower()
    of_source = any("map<" in field.type.lower() for scan in scans(tree) for field in scan.fields)
    return "map" in text or of_source or _OF_THE_USER.search(text) is not None


def _told_again(session: Session, calls: Sequence[Call | Over], over: Operator, at: Mapping[str, str]) -> str:
    kinds = types_of(session, [call.argument for call in calls], over, at)
    for call, kind in zip(calls, kinds, strict=True):
        if not same_again(call.function, kind) or (isinstance(call, Over) and call.by_position):
            return f"{call.value.sql} of a subquery may come out differently a second time"
    return ""


def _of_base(tree: Recursive, at: Mapping[str, str]) -> str:
    """Rows of the types that a recursion has."""
    return f"(\n{state(tree.base, at)}\n)"


def _of_recursion(session: Session, tree: Recursive, at: Mapping[str, str]) -> str:
    """What follows from a row must be what followed from it before: of 0.0 and -0.0 either may be stored."""
    for name, kind in described(session, state(tree.base, at)):
        if _NEARLY_EQUAL.search(kind):
            return f"column {name} of a recursion is {kind}, of which values that differ are equal"
        if unlike := incomparable([Column(name, kind, name)]) or _of_maps(name, kind):
            return unlike
    read = (column for each in beside(tree) for column in described(session, state(each.operator, at)))
    return next((unlike for name, kind in read if (unlike := _of_maps(name, kind))), "")


def _of_maps(what: str, kind: str | None) -> str:
    """Of maps Spark does not say whether they are equal."""
    return f"column {what} of type {kind} holds a map, by which rows are not compared" if "map<" in (kind or "") else ""


def _in(session: Session, left: Operator, right: Operator, predicate: Predicate | None, at: Mapping[str, str]) -> str:
    """IN makes one type of two by other rules than `=`, by which a refresh compares."""
    if predicate is None or not predicate.mine:
        return ""
    return _unlike("IN", types_of(session, predicate.mine, left, at), types_of(session, predicate.others, right, at))


def _unlike(what: str, mine: Sequence[str | None], others: Sequence[str | None]) -> str:
    for one, other in zip(mine, others, strict=True):
        if one != other and not all(kind is not None and _NUMBER.fullmatch(kind) for kind in (one, other)):
            return f"{what} compares {one} with {other}"
    return ""
