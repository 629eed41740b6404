"""The step of a recursion: the way from the recursion's rows to those that it makes of them, and what it reads beside.

It is linear where each operator on that way takes each row by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import (
    Aggregate,
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
    UnionAll,
    walk,
)
from dbt_trickle.tree.values import Expr, Field, Item


@dataclass(frozen=True)
class Beside:
    """`denied`: the more there is of it, the less does the step make."""

    operator: Operator
    denied: bool


def reads(tree: Operator, recursion: str) -> bool:
    return any(isinstance(each, Reference) and each.of == recursion for each in walk(tree))


def not_linear(tree: Operator, recursion: str) -> str:
    """What on the way does not take each row by itself."""
    within = [child for child in tree.inputs if reads(child, recursion)]
    match tree:
        case Reference():
            return ""
        case Project() | Filter() | Generate() if within:
            return not_linear(within[0], recursion)
        case InnerJoin() if len(within) == 1:
            return not_linear(within[0], recursion)
        case SemiJoin() if within == [tree.left]:
            return not_linear(tree.left, recursion)
        case UnionAll() if len(within) == 2:
            return not_linear(tree.left, recursion) or not_linear(tree.right, recursion)
        case InnerJoin() if within:
            return "the recursion joined with itself"
        case SemiJoin() | Mark() | Lookup() if within != [tree.inputs[0]]:
            return "a subquery over the recursion"
        case Mark() | Lookup():
            return "a subquery in an expression"
        case OuterJoin():
            return "an outer join"
        case UnionAll():
            return "a branch of UNION ALL without the recursion"
        case Aggregate():
            return "DISTINCT or GROUP BY"
        case SetOperation():
            return tree.word
        case _:
            return "this use of the recursion"


def beside(tree: Recursive) -> tuple[Beside, ...]:
    return tuple(_beside(tree.step, tree.name))


def _beside(tree: Operator, recursion: str) -> Iterator[Beside]:
    for child in tree.inputs:
        if reads(child, recursion):
            yield from _beside(child, recursion)
        else:
            yield Beside(child, isinstance(tree, SemiJoin) and tree.anti)


def with_beside(step: Operator, recursion: str, others: Mapping[Operator, Operator]) -> Operator:
    """The same step over other things beside the recursion's rows."""
    return _along(step, recursion, lambda on_way: on_way, lambda each: others.get(each, each))


def with_rows(step: Operator, recursion: str, rows: str) -> Operator:
    """The same step over what `rows` stands for, as if that were a source."""

    def scanned(tree: Operator) -> Operator:
        return Scan(rows, tree.alias, tree.fields) if isinstance(tree, Reference) else tree

    return _along(step, recursion, scanned, lambda each: each)


def carrying(step: Operator, recursion: str, column: str) -> Operator:
    """The same step over rows that have one more column, which those made of them have, too."""

    def carried(tree: Operator) -> Operator:
        match tree:
            case Reference():
                return replace(tree, fields=(*tree.fields, Field(column, "BIGINT", column)))
            case Project():
                return replace(tree, items=(*tree.items, Item(column, Expr(quote(column), frozenset([column])))))
            case _:
                return tree

    return _along(step, recursion, carried, lambda each: each)


def _along(
    tree: Operator,
    recursion: str,
    on_way: Callable[[Operator], Operator],
    apart: Callable[[Operator], Operator],
) -> Operator:
    """The way made anew from below."""
    if not reads(tree, recursion):
        return apart(tree)
    fields = {
        name: _along(value, recursion, on_way, apart) if isinstance(value, Operator) else value
        for name, value in vars(tree).items()
    }
    return on_way(type(tree)(**fields))
