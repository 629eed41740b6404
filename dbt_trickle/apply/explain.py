"""How the change of each operator is worked out, and what tells the output's rows apart, in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

from dbt_trickle.apply.partitions import same_again
from dbt_trickle.apply.shape import Shape
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
from dbt_trickle.tree.identity import grouped, partitioned
from dbt_trickle.tree.printed import line


@dataclass(frozen=True)
class Line:
    """`depth`: how far below the root; `reason`: why this strategy, where it could be another one."""

    depth: int
    kind: str
    operator: str
    strategy: str
    reason: str = ""

    @property
    def told(self) -> str:
        return f"{self.strategy}: {self.reason}" if self.reason else self.strategy


def lines(shape: Shape) -> tuple[Line, ...]:
    top = grouped(shape.tree) if shape.identity.by_groups else partitioned(shape.tree)
    return tuple(_lines(shape.tree, shape, top, 0))


def key(shape: Shape) -> tuple[str, ...] | None:
    """The columns that tell rows apart; of a bag it is all that they hold."""
    return None if shape.identity.key is None else tuple(shape.columns[at].name for at in shape.identity.key)


def identity(shape: Shape) -> str:
    if shape.identity.key is None:
        return shape.identity.why
    visible = len(shape.shown)
    names = ", ".join(
        shape.columns[position].name + (", not shown" if position >= visible else "") for position in shape.identity.key
    )
    return f"{names} ({shape.identity.why})" if names else "there is one row"


def _lines(operator: Operator, shape: Shape, top: Aggregate | Window | None, depth: int) -> list[Line]:
    strategy, reason = _strategy(operator), ""
    if isinstance(top, Window) and operator is top:
        then = "are compared with" if same_again(top) else "replace"
        strategy = f"its touched partitions are computed anew, and {then} what is stored of them"
        reason = "" if same_again(top) else "its values may come out otherwise a second time"
    elif operator is top:
        strategy, reason = _of_groups(shape), shape.why
    below = [each for child in operator.inputs for each in _lines(child, shape, top, depth + 1)]
    return [Line(depth, type(operator).__name__, line(operator), strategy, reason), *below]


def _of_groups(shape: Shape) -> str:
    kept = shape.groups
    if kept is None:
        return "its touched groups are computed anew"
    if not kept.growing:
        return "brought forward from kept state"
    otherwise = "its touched groups are computed anew" if kept.tree.keys else "it is recomputed"
    return f"brought forward from kept state while rows come and none goes; otherwise {otherwise}"


@singledispatch
def _strategy(operator: Operator) -> str:
    raise TrickleBug(f"{type(operator).__name__} cannot be explained")


@_strategy.register
def _(operator: Scan) -> str:
    return "its changed rows, of these columns"


@_strategy.register
def _(operator: Constant) -> str:
    return "never changes"


@_strategy.register(Filter)
@_strategy.register(Project)
@_strategy.register(Generate)
def _(operator: Operator) -> str:
    return "of the changed rows"


@_strategy.register
def _(operator: InnerJoin) -> str:
    return "changes of the left with the right as it is, changes of the right with the left as it was"


@_strategy.register
def _(operator: OuterJoin) -> str:
    return "changes of each side with the other one, and the rows whose first match came or whose last one went"


@_strategy.register
def _(operator: SemiJoin) -> str:
    return "changes of the left, and its rows whose first match on the right came or whose last one went"


@_strategy.register
def _(operator: UnionAll) -> str:
    return "changes of both"


@_strategy.register
def _(operator: Aggregate) -> str:
    return "its touched groups, as they were and as they are"


@_strategy.register
def _(operator: Window) -> str:
    return "its touched partitions, as they were and as they are"


@_strategy.register
def _(operator: SetOperation) -> str:
    return "the rows that are like a changed one, as they were and as they are"


@_strategy.register(Lookup)
@_strategy.register(Mark)
def _(operator: Lookup | Mark) -> str:
    return "changes of the rows, and the rows whose value is another one"


@_strategy.register
def _(operator: Recursive) -> str:
    return "what follows from rows that changed: first of all that went, then of all that came"


@_strategy.register
def _(operator: Reference) -> str:
    return "the rows that what changed beside them meets, and those that follow"


@_strategy.register
def _(operator: TopK) -> str:
    return "the stored ones with what came and without what went; all anew where too many of them went"
