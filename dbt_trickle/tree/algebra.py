"""All operators on one page: what a query is, once its text has been understood.

Every column of a tree has a name of its own, `alias.column` where a table gave it, so that an expression
means the same wherever it is put, and no scope has to be looked up. Values are frozen; who meets an operator
that he does not know must raise, never pass it through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dbt_trickle.errors import TrickleBug


@dataclass(frozen=True)
class Expr:
    """Spark SQL over the columns of the operator below, quoted; and which columns those are."""

    sql: str
    columns: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Item:
    """A named expression."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Call:
    """A named aggregate: count(*) has no argument."""

    name: str
    function: str  # in lower case: count, sum, avg, min, max
    argument: Expr | None = None


class Operator:
    """What yields rows. `columns` are its output's names, in order."""

    @property
    def columns(self) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Operator, ...]:
        raise NotImplementedError


@dataclass(frozen=True)
class Field:
    """A column that a scan reads: the source's name for it, its type there, and its name in the tree."""

    source_name: str
    type: str
    name: str


@dataclass(frozen=True)
class Scan(Operator):
    """One place where the query reads a source; a self-join has two. `source` is the frontier's key."""

    source: str
    alias: str
    fields: tuple[Field, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return ()


@dataclass(frozen=True)
class Filter(Operator):
    child: Operator
    condition: Expr

    def __post_init__(self) -> None:
        _require_known(self.condition, self.child)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.child.columns

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.child,)


@dataclass(frozen=True)
class Project(Operator):
    child: Operator
    items: tuple[Item, ...]

    def __post_init__(self) -> None:
        for item in self.items:
            _require_known(item.value, self.child)
        _require_distinct(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(item.name for item in self.items)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.child,)


@dataclass(frozen=True)
class InnerJoin(Operator):
    """Every pair for which the condition is true; without a condition every pair."""

    left: Operator
    right: Operator
    condition: Expr | None = None

    def __post_init__(self) -> None:
        _require_distinct(self.columns)
        if self.condition is not None:
            _require_known(self.condition, self)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left.columns + self.right.columns

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class UnionAll(Operator):
    """The rows of both, by position; in types that Spark finds for both, so neither is ever read alone."""

    left: Project
    right: Project

    def __post_init__(self) -> None:
        if len(self.left.columns) != len(self.right.columns):
            raise TrickleBug(f"a union of {list(self.left.columns)} and {list(self.right.columns)}")

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left.columns

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class Aggregate(Operator):
    """Groups and what is computed of each; without keys it is one row, over no input too. Without calls: DISTINCT."""

    child: Operator
    keys: tuple[Item, ...]
    calls: tuple[Call, ...]

    def __post_init__(self) -> None:
        for key in self.keys:
            _require_known(key.value, self.child)
        for call in self.calls:
            if call.argument is not None:
                _require_known(call.argument, self.child)
        _require_distinct(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.keys) + tuple(call.name for call in self.calls)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.child,)


def walk(operator: Operator) -> Iterator[Operator]:
    yield operator
    for child in operator.inputs:
        yield from walk(child)


def scans(operator: Operator) -> tuple[Scan, ...]:
    return tuple(found for found in walk(operator) if isinstance(found, Scan))


def _require_known(value: Expr, below: Operator) -> None:
    unknown = value.columns - set(below.columns)
    if unknown:
        raise TrickleBug(f"{value.sql} reads {sorted(unknown)}, which is not among {list(below.columns)}")


def _require_distinct(names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        raise TrickleBug(f"two columns of one name among {list(names)}")
