"""What tells the rows of a stream table apart, and the number that stands for it.

An output with a key has at most one row per key. One without is a bag: its rows are told apart by all they
hold, and rows that are alike are told apart by nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dbt_trickle.names import RESERVED_PREFIX, quote
from dbt_trickle.tree.algebra import Aggregate, Filter, Operator, Project, Recursive, Window
from dbt_trickle.tree.values import Expr, Item

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
        keys = shown_at(root, keys_above(found))
        if keys is not None:
            return Identity(keys, "its groups", by_groups=True)
    return Identity(None, "no key is known: its rows are compared as a whole")


def with_keys(root: Project) -> Project:
    """With the keys of its groups or partitions at the end, or the columns of its recursion, where not all are shown.

    So its rows are found by them, and what they gave before need not be computed again.
    """
    keyed = grouped(root) or _windowed(root) or _recursive(root)
    keys = keys_above(keyed) if keyed is not None else ()
    if shown_at(root, keys) is not None:
        return root
    hidden = tuple(Item(f"{RESERVED_PREFIX}by_{i}", key) for i, key in enumerate(keys))
    return replace(root, items=(*root.items, *hidden))


def keys_above(keyed: Aggregate | Window | Recursive) -> tuple[Expr, ...]:
    """As they are called above it."""
    if isinstance(keyed, Window):
        return keyed.partition
    names = keyed.columns if isinstance(keyed, Recursive) else (key.name for key in keyed.keys)
    return tuple(Expr(quote(name), frozenset([name])) for name in names)


def grouped(root: Project) -> Aggregate | None:
    """The aggregate whose groups are the output's rows, where there is one (HAVING may hide some)."""
    below = _without_filters(root.child)
    return below if isinstance(below, Aggregate) else None


def partitioned(root: Project) -> Window | None:
    """The window over whose partitions the output's rows are computed, where all that makes these is shown."""
    found = _windowed(root)
    return found if found is not None and shown_at(root, found.partition) else None


def _windowed(root: Project) -> Window | None:
    below = _without_filters(root.child)
    return below if isinstance(below, Window) else None


def _recursive(root: Project) -> Recursive | None:
    """The recursion whose rows are the output's rows."""
    return root.child if isinstance(root.child, Recursive) else None


def _without_filters(tree: Operator) -> Operator:
    while isinstance(tree, Filter):
        tree = tree.child
    return tree


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
