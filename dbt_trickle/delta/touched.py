"""Operators that take rows together by a key: all rows of the touched keys are looked at, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dbt_trickle.delta.context import columns_of
from dbt_trickle.delta.rule import broadcast
from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import RESERVED_PREFIX, quote
from dbt_trickle.tree.algebra import Aggregate, Filter, Operator, Project, Scan, Window
from dbt_trickle.tree.render import state
from dbt_trickle.tree.values import Expr, Field

_ROWS = f"{RESERVED_PREFIX}touched"


def key_name(position: int) -> str:
    return f"{RESERVED_PREFIX}key_{position}"


def keys_of(operator: Aggregate | Window) -> tuple[Expr, ...]:
    """Rows of different keys have nothing to do with each other."""
    if isinstance(operator, Aggregate):
        return tuple(key.value for key in operator.keys)
    return operator.partition


def touched_keys(keys: Sequence[Expr], changed: str) -> str:
    """Those that any changed row has or had."""
    return f"SELECT DISTINCT {_named(keys)}\nFROM {quote(changed)}"


def of_touched(tree: Operator, keyed: Aggregate | Window, at: dict[str, str], keys: str, small: bool) -> str:
    """The rows of a tree, `keyed` or something row by row above it, in one state, from the rows of those keys."""
    if not keys_of(keyed):
        return state(tree, at)
    rows, there = rows_of_touched(keyed, at, keys, small)
    return state(_over(tree, keyed, rows), there)


def rows_of_touched(
    keyed: Aggregate | Window, at: dict[str, str], keys: str, small: bool
) -> tuple[Scan, dict[str, str]]:
    """What `keyed` takes together, of the touched keys only, in place of what it reads; and where that is."""
    rows = of_keys(keyed.child, keys_of(keyed), at, keys, small)
    fields = tuple(Field(column, "", column) for column in keyed.child.columns)
    return Scan(_ROWS, _ROWS, fields), {_ROWS: f"(\n{rows}\n)"}


def of_keys(
    operator: Operator, values: Sequence[Expr], at: dict[str, str], keys: str, small: bool, *, others: bool = False
) -> str:
    """An operator's rows in one state, of which these values are among the keys; NULL is a key like others.

    `others`: those of which they are not.
    """
    columns = ", ".join(f"x.{quote(column)}" for column in operator.columns)
    same = " AND ".join(f"x.{quote(key_name(i))} <=> {quote(keys)}.{quote(key_name(i))}" for i in range(len(values)))
    kept = "LEFT ANTI JOIN" if others else "LEFT SEMI JOIN"
    return (
        f"SELECT {broadcast(quote(keys), small)}{columns}\nFROM (\nSELECT {columns_of(operator)}, {_named(values)}\n"
        f"FROM (\n{state(operator, at)}\n)\n) AS x\n{kept} {quote(keys)} ON {same}"
    )


def _named(values: Sequence[Expr]) -> str:
    return ", ".join(f"{value.sql} AS {quote(key_name(i))}" for i, value in enumerate(values))


def _over(tree: Operator, keyed: Aggregate | Window, rows: Scan) -> Operator:
    if tree is keyed:
        return replace(keyed, child=rows)
    if isinstance(tree, (Filter, Project)):
        return replace(tree, child=_over(tree.child, keyed, rows))
    raise TrickleBug(f"{type(tree).__name__} above the touched keys")
