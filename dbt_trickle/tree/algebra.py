"""All operators on one page: what a query is, once its text has been understood.

Every column of a tree has a name of its own, `alias.column` where a table gave it, so that an expression
means the same wherever it is put, and no scope has to be looked up. Values are frozen; who meets an operator
that he does not know must raise, never pass it through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dbt_trickle.errors import TrickleBug
from dbt_trickle.tree.values import (
    Call,
    Expr,
    Field,
    Grouping,
    Item,
    Lateral,
    Over,
    Pivoted,
    Predicate,
    SortKey,
    Unpivoted,
)


class Operator:
    """What yields rows. `columns` are its output's names, in order."""

    @property
    def columns(self) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """What it reads, in the order of its fields."""
        return tuple(value for value in vars(self).values() if isinstance(value, Operator))


@dataclass(frozen=True)
class Scan(Operator):
    """One place where the query reads a source; a self-join has two. `source` is the frontier's key."""

    source: str
    alias: str
    fields: tuple[Field, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)


@dataclass(frozen=True)
class Constant(Operator):
    """Rows that the query spells out. They read nothing, so they never change."""

    rows: tuple[tuple[Expr, ...], ...]
    names: tuple[str, ...]
    alone: bool = field(default=False, compare=False)  # the one row of a query without FROM

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True)
class Filter(Operator):
    child: Operator
    condition: Expr

    def __post_init__(self) -> None:
        _require_known(self.condition, self.child)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.child.columns


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


@dataclass(frozen=True)
class OuterJoin(Operator):
    """The pairs of an inner join, and the rows of one side or of both that are in none, with NULLs beside them."""

    kind: str  # LEFT, RIGHT or FULL: the side whose rows all stay
    left: Operator
    right: Operator
    condition: Expr

    def __post_init__(self) -> None:
        _require_distinct(self.columns)
        _require_known(self.condition, self)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left.columns + self.right.columns


@dataclass(frozen=True)
class SemiJoin(Operator):
    """The left rows for which the condition is true with some right row; `anti`: with none."""

    left: Operator
    right: Operator
    condition: Expr
    anti: bool = False
    # How it was written, which makes no other rows of it: Spark plans it later than a join.
    predicate: Predicate | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        both = self.left.columns + self.right.columns
        _require_distinct(both)
        _require_among(self.condition, both)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left.columns


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


@dataclass(frozen=True)
class SetOperation(Operator):
    """By position: the rows of both, or of the left one only. `all`: each as often as that is true of it."""

    kind: str  # INTERSECT or EXCEPT
    all: bool
    left: Project
    right: Project

    def __post_init__(self) -> None:
        if len(self.left.columns) != len(self.right.columns):
            raise TrickleBug(f"{self.word} of {list(self.left.columns)} and {list(self.right.columns)}")

    @property
    def word(self) -> str:
        return f"{self.kind} ALL" if self.all else self.kind

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left.columns


@dataclass(frozen=True)
class Generate(Operator):
    """Each row once for each row that a generator makes of it; `outer`: once with NULLs where that is none."""

    child: Operator
    call: Expr
    outer: bool
    names: tuple[str, ...]
    unpivoted: Unpivoted | None = field(default=None, compare=False)  # how it was written

    def __post_init__(self) -> None:
        _require_known(self.call, self.child)
        _require_distinct(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.child.columns + self.names


@dataclass(frozen=True)
class Mark(Operator):
    """Each row with whether the condition is true with some row of `query`."""

    child: Operator
    query: Operator
    condition: Expr
    name: str
    predicate: Predicate = field(compare=False)  # how it was written

    def __post_init__(self) -> None:
        both = self.child.columns + self.query.columns
        _require_distinct(both)
        _require_among(self.condition, both)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.child.columns, self.name)


@dataclass(frozen=True)
class Lookup(Operator):
    """Each row with one value: of all rows of `query` for which `condition` is true, what `calls` make of them.

    Without calls there is one such row at most, which Spark watches over; none is NULL.
    """

    child: Operator
    query: Operator
    condition: Expr | None
    calls: tuple[Call, ...]
    item: Item  # over the calls, without any over the columns
    lateral: Lateral | None = field(default=None, compare=False)  # how it was written, if it has several columns

    def __post_init__(self) -> None:
        _require_distinct(self.child.columns + self.query.columns)
        if self.condition is not None:
            _require_among(self.condition, self.child.columns + self.query.columns)
        for call in self.calls:
            _require_known(call.value, self.query)
        _require_among(self.item.value, tuple(call.name for call in self.calls) or self.query.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.child.columns, self.name)

    @property
    def name(self) -> str:
        return self.item.name


@dataclass(frozen=True)
class Aggregate(Operator):
    """Groups and what is computed of each; without keys it is one row, over no input too. Without calls: DISTINCT."""

    child: Operator
    keys: tuple[Item, ...]
    calls: tuple[Call, ...]
    # How it was written, over a generator that makes the copies.
    grouping: Grouping | None = field(default=None, compare=False)
    pivoted: Pivoted | None = field(default=None, compare=False)  # as which its calls were written

    def __post_init__(self) -> None:
        for key in self.keys:
            _require_known(key.value, self.child)
        for call in self.calls:
            _require_known(call.value, self.child)
        _require_distinct(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.keys) + tuple(call.name for call in self.calls)


@dataclass(frozen=True)
class Window(Operator):
    """The rows with what is computed of each over the others of its partition."""

    child: Operator
    partition: tuple[Expr, ...]
    calls: tuple[Over, ...]

    def __post_init__(self) -> None:
        for each in (*self.partition, *(call.value for call in self.calls)):
            _require_known(each, self.child)
        _require_distinct(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.child.columns + tuple(call.name for call in self.calls)


@dataclass(frozen=True)
class TopK(Operator):
    """The first rows in an order; of rows that are equal in it, any. At the top of a query only."""

    child: Project
    keys: tuple[SortKey, ...]
    limit: int

    def __post_init__(self) -> None:
        for key in self.keys:
            _require_among(Expr(key.column, frozenset([key.column])), self.child.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.child.columns


@dataclass(frozen=True)
class Reference(Operator):
    """Within the step of a recursion: its rows, of which the step makes others. `of`: the recursion's name."""

    of: str
    alias: str
    fields: tuple[Field, ...]  # of the recursion's columns, all of them

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)


@dataclass(frozen=True)
class Recursive(Operator):
    """The base's rows, what the step makes of them, what it makes of that, and so on until that is nothing.

    The step takes each row by itself: of two it makes what it makes of the one, and what it makes of the other.
    """

    name: str
    base: Project
    step: Project

    def __post_init__(self) -> None:
        if len(self.base.columns) != len(self.step.columns):
            raise TrickleBug(f"a recursion from {list(self.base.columns)} to {list(self.step.columns)}")

    @property
    def columns(self) -> tuple[str, ...]:
        return self.base.columns


def walk(operator: Operator) -> Iterator[Operator]:
    yield operator
    for child in operator.inputs:
        yield from walk(child)


def scans(operator: Operator) -> tuple[Scan, ...]:
    return tuple(found for found in walk(operator) if isinstance(found, Scan))


def only_grows(operator: Operator) -> bool:
    """Whether rows that come, and none that go, make no row of the result go."""
    linear = (Scan, Constant, Filter, Project, InnerJoin, UnionAll, Generate, Recursive, Reference)
    if isinstance(operator, linear) or (isinstance(operator, SemiJoin) and not operator.anti):
        return all(map(only_grows, operator.inputs))
    return False


def _require_known(value: Expr, below: Operator) -> None:
    _require_among(value, below.columns)


def _require_among(value: Expr, columns: tuple[str, ...]) -> None:
    unknown = value.columns - set(columns)
    if unknown:
        raise TrickleBug(f"{value.sql} reads {sorted(unknown)}, which is not among {list(columns)}")


def _require_distinct(names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        raise TrickleBug(f"two columns of one name among {list(names)}")
