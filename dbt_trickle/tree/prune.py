"""A tree without the columns that nobody above reads. A scan's fields are then what the query reads of a source."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

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
from dbt_trickle.tree.unsupported import not_yet

_NESTED = ("array", "map", "struct", "variant")


def pruned(root: Project) -> Project:
    """The root keeps its items: they are the query's result."""
    return replace(root, child=_prune(root.child, _read_by(root)))


@singledispatch
def _prune(operator: Operator, needed: frozenset[str]) -> Operator:
    raise TrickleBug(f"{type(operator).__name__} cannot be pruned")


@_prune.register
def _(operator: Scan, needed: frozenset[str]) -> Operator:
    fields = tuple(field for field in operator.fields if field.name in needed)
    # Rows are to be counted: by a column that costs little, and that can be grouped by.
    plain = (field for field in operator.fields if not field.type.lower().startswith(_NESTED))
    return replace(operator, fields=fields or (next(plain, operator.fields[0]),))


@_prune.register(Constant)
@_prune.register(Reference)
def _(operator: Constant | Reference, needed: frozenset[str]) -> Operator:
    return operator


@_prune.register
def _(operator: Recursive, needed: frozenset[str]) -> Operator:
    """All its columns, as in Spark: of which of them a row that is needed comes, many steps on, is not asked."""
    every = tuple(range(len(operator.columns)))
    return replace(operator, base=_branch(operator.base, every), step=_branch(operator.step, every))


@_prune.register
def _(operator: Filter, needed: frozenset[str]) -> Operator:
    return replace(operator, child=_prune(operator.child, needed | operator.condition.columns))


@_prune.register(InnerJoin)
@_prune.register(OuterJoin)
@_prune.register(SemiJoin)
def _(operator: InnerJoin | OuterJoin | SemiJoin, needed: frozenset[str]) -> Operator:
    if operator.condition is not None:
        needed |= operator.condition.columns
    return replace(operator, left=_prune(operator.left, needed), right=_prune(operator.right, needed))


@_prune.register
def _(operator: Project, needed: frozenset[str]) -> Operator:
    items = tuple(item for item in operator.items if item.name in needed) or operator.items[:1]
    kept = replace(operator, items=items)
    child = _prune(operator.child, _read_by(kept))
    # What only passes columns on says nothing: those above find them below it.
    passes_on = all(item.value.columns == {item.name} for item in items)
    of_lateral = isinstance(child, Lookup) and child.lateral is not None  # whose value is no column, as it is written
    return child if passes_on and not of_lateral else replace(kept, child=child)


@_prune.register
def _(operator: UnionAll, needed: frozenset[str]) -> Operator:
    """Both branches by position, so each keeps its projection."""
    kept = tuple(i for i, name in enumerate(operator.columns) if name in needed) or (0,)
    return UnionAll(_branch(operator.left, kept), _branch(operator.right, kept))


@_prune.register
def _(operator: SetOperation, needed: frozenset[str]) -> Operator:
    """Which rows both have is told by all their columns."""
    every = tuple(range(len(operator.columns)))
    return replace(operator, left=_branch(operator.left, every), right=_branch(operator.right, every))


@_prune.register
def _(operator: Generate, needed: frozenset[str]) -> Operator:
    return replace(operator, child=_prune(operator.child, needed.difference(operator.names) | operator.call.columns))


@_prune.register
def _(operator: Lookup, needed: frozenset[str]) -> Operator:
    if not operator.calls and operator.name not in needed:
        raise not_yet("a scalar subquery that nobody reads")  # nor does Spark watch over its one row
    # Also one that nobody reads: its source is one of the query's, and moves.
    joined = operator.condition.columns if operator.condition is not None else frozenset()
    read = frozenset().union(*(call.value.columns for call in operator.calls)) or operator.item.value.columns
    child = _prune(operator.child, needed - {operator.name} | joined)
    return replace(operator, child=child, query=_prune(operator.query, joined | read))


@_prune.register
def _(operator: Mark, needed: frozenset[str]) -> Operator:
    child = _prune(operator.child, needed - {operator.name} | operator.condition.columns)
    return replace(operator, child=child, query=_prune(operator.query, operator.condition.columns))


@_prune.register
def _(operator: TopK, needed: frozenset[str]) -> Operator:
    return replace(operator, child=_branch(operator.child, tuple(range(len(operator.columns)))))


def _branch(branch: Project, kept: tuple[int, ...]) -> Project:
    shown = replace(branch, items=tuple(branch.items[i] for i in kept))
    return replace(shown, child=_prune(shown.child, _read_by(shown)))


@_prune.register
def _(operator: Aggregate, needed: frozenset[str]) -> Operator:
    pivoted = operator.pivoted
    apart = pivoted is not None and pivoted.apart  # what is picked is computed of all rows, whatever is read of it
    calls = tuple(call for call in operator.calls if apart or call.name in needed)
    if not operator.keys and not calls:
        calls = operator.calls[:1]
    read = [key.value.columns for key in operator.keys]
    read += [call.value.columns for call in calls]
    if pivoted is not None and not apart:
        # It is written with all that it computes.
        read += [*(call.columns for call in pivoted.calls), frozenset(name for name, _ in pivoted.columns)]
    return replace(operator, calls=calls, child=_prune(operator.child, frozenset().union(*read)))


@_prune.register
def _(operator: Window, needed: frozenset[str]) -> Operator:
    calls = tuple(call for call in operator.calls if call.name in needed)
    if not calls:
        return _prune(operator.child, needed)
    read = [each.columns for each in (*operator.partition, *(call.value for call in calls))]
    below = needed.difference(call.name for call in operator.calls).union(*read)
    return replace(operator, calls=calls, child=_prune(operator.child, below))


def _read_by(project: Project) -> frozenset[str]:
    return frozenset().union(*(item.value.columns for item in project.items))
