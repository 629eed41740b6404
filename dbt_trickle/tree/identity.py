"""What tells the rows of a stream table apart, and the number that stands for it.

An output with a key has at most one row per key. One without is a bag: its rows are told apart by all they
hold, and rows that are alike are told apart by nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbt_trickle.names import RESERVED_PREFIX, quote
from dbt_trickle.tree.algebra import Aggregate, Filter, Project, Window
from dbt_trickle.tree.values import Expr

ROW_ID = f"{RESERVED_PREFIX}row_id"


@dataclass(frozen=True)
class Identity:
    """`key`: positions among the output's columns; none for a bag."""

    key: tuple[int, ...] | None
    why: str
    by_groups: bool = False
    is_declared: bool = False

    @property
    def is_bag(self) -> bool:
        return self.key is None


def identity(root: Project, declared: Sequence[int] = ()) -> Identity:
    if declared:
        return Identity(tuple(declared), "its primary_key", is_declared=True)
    found = grouped(root)
    if found is not None:
        keys = shown_at(root, [Expr(quote(key.name)) for key in found.keys])
        if keys is not None:
            return Identity(keys, "its groups", by_groups=True)
    return Identity(None, "no key is known: its rows are compared as a whole")


def grouped(root: Project) -> Aggregate | None:
    """The aggregate whose groups are the output's rows, where there is one (HAVING may hide some)."""
    below = root.child
    while isinstance(below, Filter):
        below = below.child
    return below if isinstance(below, Aggregate) else None


def partitioned(root: Project) -> Window | None:
    """The window over whose partitions the output's rows are computed, where all that makes these is shown."""
    below = root.child
    while isinstance(below, Filter):
        below = below.child
    return below if isinstance(below, Window) and shown_at(root, below.partition) else None


def shown_at(root: Project, values: Sequence[Expr]) -> tuple[int, ...] | None:
    """The positions of these among the output's columns, if all are there."""
    shown = {item.value.sql: position for position, item in enumerate(root.items)}
    found = [shown.get(value.sql) for value in values]
    return tuple(each for each in found if each is not None) if None not in found else None


def row_id(columns: Iterable[str]) -> str:
    """The only place that makes a row id. Of NULL Spark's hash takes no notice: whether it is one is hashed, too.

    `columns`: SQL of the identifying columns, in order.
    """
    framed = [part for column in columns for part in (f"{column} IS NULL", column)]
    return f"xxhash64({', '.join(framed)})" if framed else "CAST(0 AS BIGINT)"
