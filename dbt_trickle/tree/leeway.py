"""What of a query's result Spark may give otherwise each time: what rests on an order that nobody gave.

The values of some columns (`row_number()` over rows that are equal in its ORDER BY, `collect_list()`), or even which
rows there are, where such a value is filtered, joined or grouped by. Sums of doubles are not meant: they are nearly the
same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from dbt_trickle import sql
from dbt_trickle.errors import TrickleBug
from dbt_trickle.tree.algebra import (
    Aggregate,
    Constant,
    Filter,
    Generate,
    InnerJoin,
    Lookup,
    Mark,
    Operator,
    OuterJoin,
    Project,
    Recursive,
    Reference,
    Scan,
    SemiJoin,
    SetOperation,
    TopK,
    UnionAll,
    Window,
)
from dbt_trickle.tree.functions import ORDERED, POSITIONS
from dbt_trickle.tree.values import Call, Expr, Over


@dataclass(frozen=True)
class Leeway:
    """`columns` and why; `rows`: why not even the rows are certain."""

    columns: tuple[tuple[str, str], ...] = ()
    rows: str = ""

    def to_row(self) -> dict[str, Any]:
        return {"columns": dict(self.columns), "rows": self.rows}

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Leeway:
        return cls(tuple(row["columns"].items()), row["rows"])

    def why(self, values: Iterable[Expr | None]) -> str:
        """Of the first of these that reads what is uncertain."""
        known = dict(self.columns)
        read = (name for value in values if value is not None for name in sorted(value.columns))
        return next((known[name] for name in read if name in known), "")


NO_LEEWAY = Leeway()
_LIMIT = "LIMIT, where ORDER BY leaves rows equal"
# Of the same values in another order these make the same.
_LISTS = ("collect_list()", "collect_set()", "array_agg()")
_IN_ANY_ORDER = re.compile(
    r"(?:sort_array|array_sort|size|array_size|cardinality|array_max|array_min)\(`[^`]+`\)", re.IGNORECASE
)


def leeway(root: Project) -> Leeway:
    return _of(root)


def leeway_of_text(text: str) -> Leeway:
    """Of a query that is not understood: by the words of its text, so that any of its rows may be meant."""
    words = [word.lower() for word in sql.words(text)]
    for before, word, after in zip(["", *words], words, words[1:], strict=False):
        if before == ".":
            continue  # a function of a schema, or a column
        if after == "(" and word in ORDERED | POSITIONS:
            return Leeway(rows=f"{word}()")
        if word in ("limit", "offset") and (after in ("(", "all") or after[:1].isdigit()):
            return Leeway(rows=_LIMIT)
    return NO_LEEWAY


@singledispatch
def _of(tree: Operator) -> Leeway:
    raise TrickleBug(f"of {type(tree).__name__} it is not known what is certain")


@_of.register(Scan)
@_of.register(Constant)
@_of.register(Reference)
def _(tree: Operator) -> Leeway:
    return Leeway()


@_of.register
def _(tree: Filter) -> Leeway:
    return _read(_of(tree.child), [tree.condition])


@_of.register
def _(tree: Project) -> Leeway:
    below = _of(tree.child)
    lists = {name for name, why in below.columns if why in _LISTS}
    shown = (
        (item.name, "" if item.value.columns <= lists and _IN_ANY_ORDER.fullmatch(item.value.sql) else why)
        for item in tree.items
        if (why := below.why([item.value]))
    )
    return Leeway(tuple((name, why) for name, why in shown if why), below.rows)


@_of.register(InnerJoin)
@_of.register(OuterJoin)
def _(tree: InnerJoin | OuterJoin) -> Leeway:
    return _read(_beside(_of(tree.left), _of(tree.right)), [tree.condition])


@_of.register
def _(tree: SemiJoin) -> Leeway:
    left = _of(tree.left)
    return Leeway(left.columns, _read(_beside(left, _of(tree.right)), [tree.condition]).rows)


@_of.register
def _(tree: UnionAll) -> Leeway:
    left, right = _of(tree.left), _of(tree.right)
    second = dict(zip(tree.right.columns, tree.left.columns, strict=True))
    return _beside(left, Leeway(tuple((second[name], why) for name, why in right.columns), right.rows))


@_of.register
def _(tree: SetOperation) -> Leeway:
    both = _beside(_of(tree.left), _of(tree.right))
    return Leeway(rows=both.rows or next((why for _, why in both.columns), ""))


@_of.register
def _(tree: Recursive) -> Leeway:
    """What is uncertain of a row may decide about those that follow from it."""
    both = _beside(_of(tree.base), _of(tree.step))
    return Leeway(rows=both.rows or next((why for _, why in both.columns), ""))


@_of.register
def _(tree: Generate) -> Leeway:
    below = _of(tree.child)
    why = below.why([tree.call])
    return Leeway((*below.columns, *((name, why) for name in tree.names if why)), below.rows or why)


@_of.register
def _(tree: Mark) -> Leeway:
    child, query = _of(tree.child), _of(tree.query)
    why = query.rows or _beside(child, query).why([tree.condition])
    return _beside(child, Leeway(((tree.name, why),) if why else ()))


@_of.register
def _(tree: Lookup) -> Leeway:
    child, query = _of(tree.child), _of(tree.query)
    why = query.rows or _beside(child, query).why([tree.condition]) or _called(query, tree.calls)
    if not tree.calls:
        why = why or query.why([tree.item.value])
    return _beside(child, Leeway(((tree.name, why),) if why else ()))


@_of.register
def _(tree: Aggregate) -> Leeway:
    below = _of(tree.child)
    rows = below.rows or below.why(key.value for key in tree.keys)
    each = ((call.name, rows or _called(below, [call])) for call in tree.calls)
    return Leeway(tuple((name, why) for name, why in each if why), rows)


@_of.register
def _(tree: Window) -> Leeway:
    below = _of(tree.child)
    among = below.rows or below.why(tree.partition)
    each = ((call.name, among or _called(below, [call])) for call in tree.calls)
    return Leeway((*below.columns, *((name, why) for name, why in each if why)), below.rows)


@_of.register
def _(tree: TopK) -> Leeway:
    """What is ordered by is certain, at the top: of rows that are equal in it, other ones may be the first."""
    below = _of(tree.child)
    keys = {key.column for key in tree.keys}
    if rows := below.rows or next((why for name, why in below.columns if name in keys), ""):
        return Leeway(below.columns, rows)
    return Leeway(tuple((name, _LIMIT) for name in tree.columns if name not in keys))


def _read(below: Leeway, values: Sequence[Expr | None]) -> Leeway:
    """Where rows are chosen by these."""
    return Leeway(below.columns, below.rows or below.why(values))


def _beside(one: Leeway, other: Leeway) -> Leeway:
    return Leeway((*one.columns, *other.columns), one.rows or other.rows)


def _called(below: Leeway, calls: Sequence[Call | Over]) -> str:
    for call in calls:
        if call.function.removesuffix(" distinct") in ORDERED or (isinstance(call, Over) and call.by_position):
            return f"{call.function}()"
        if why := below.why([call.value]):
            return why
    return ""
