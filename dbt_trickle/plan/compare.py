"""Two relations compared as multisets, in one statement and in both directions.

Written for `verify`, and for nothing else: what checks the refreshes may share no idea with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from dbt_trickle.names import literal, quote
from dbt_trickle.plan import canonical
from dbt_trickle.plan.canonical import Type

COPIES, DIFFERENCE = "__pgt_copies", "__pgt_difference"
MISSING, SURPLUS, PLACE = "__pgt_missing", "__pgt_surplus", "__pgt_place"
_LEFT, _RIGHT, _WEIGHT, _NEAR = "__pgt_has", "__pgt_should", "__pgt_weight", "__pgt_near"


def differing_rows(has: str, should: str, columns: Sequence[tuple[str, Type]]) -> str:
    """A query of the rows that differ: `has` has more of them ('surplus') or fewer ('missing')."""
    chosen = ", ".join(f"{_column(i)} AS {quote(name)}" for i, (name, _) in enumerate(columns))
    kind = f"IF({quote(COPIES)} > 0, {literal('surplus')}, {literal('missing')}) AS {quote(DIFFERENCE)}"
    copies = f"abs({quote(COPIES)}) AS {quote(COPIES)}"
    return f"SELECT {kind}, {copies}, {chosen} FROM (\n{_difference(has, should, [t for _, t in columns])}\n)"


def report(has: str, should: str, columns: Sequence[tuple[str, Type]], sample: int) -> str:
    """How many rows differ in each direction, beside a sample of each; no row where none does."""
    types = [canonical.exact_type(kind) for _, kind in columns]
    order = ", ".join(_column(i) for i in range(len(columns)))
    texts = ", ".join(f"{canonical.shown(_column(i), kind)} AS {_column(i)}" for i, kind in enumerate(types))
    copies = quote(COPIES)
    counted = (
        f"SELECT {texts}, {copies}, "
        f"SUM(GREATEST(-{copies}, 0)) OVER () AS {quote(MISSING)}, "
        f"SUM(GREATEST({copies}, 0)) OVER () AS {quote(SURPLUS)}, "
        f"ROW_NUMBER() OVER (PARTITION BY {copies} > 0 ORDER BY {order}) AS {quote(PLACE)} "
        f"FROM (\n{_difference(has, should, [t for _, t in columns])}\n)"
    )
    return f"SELECT * FROM ({counted}) WHERE {quote(PLACE)} <= {sample} ORDER BY {copies} > 0, {quote(PLACE)}"


def _difference(has: str, should: str, types: Sequence[Type]) -> str:
    """Rows with the number of copies that `has` has more (below zero: fewer)."""
    names = ", ".join(_column(i) for i in range(len(types)))
    values = ", ".join(f"{canonical.exact(_column(i), kind)} AS {_column(i)}" for i, kind in enumerate(types))
    copies = quote(COPIES)
    # The line break keeps a comment on the query's last line from swallowing the parenthesis.
    both = (
        f"SELECT {values}, 1 AS {quote(_WEIGHT)} FROM (\n{has}\n) AS {quote(_LEFT)} ({names}) UNION ALL "
        f"SELECT {values}, -1 AS {quote(_WEIGHT)} FROM (\n{should}\n) AS {quote(_RIGHT)} ({names})"
    )
    counted = f"SELECT {names}, SUM({quote(_WEIGHT)}) AS {copies} FROM ({both}) GROUP BY {names}"
    differing = f"SELECT * FROM ({counted}) WHERE {copies} <> 0"
    types = [canonical.exact_type(kind) for kind in types]
    if not any(map(canonical.is_floating, types)):
        return differing
    return _unless_near(differing, types)


def _unless_near(differing: str, types: Sequence[Type]) -> str:
    """Of the rows that differ, those that differ in more than the last digits of their doubles.

    One grid of rounded values after the other: a row that has met its like in the first must not stand for
    another one in the second, or a lost duplicate would pass.
    """
    names = ", ".join(_column(i) for i in range(len(types)))
    copies, near, left = quote(COPIES), quote(_NEAR), differing
    for shifted in (False, True):
        keys = ", ".join(canonical.rounded(_column(i), kind, shifted) for i, kind in enumerate(types))
        left = (
            f"SELECT {names}, {copies} FROM (SELECT {names}, {copies}, "
            f"SUM({copies}) OVER (PARTITION BY {keys}) AS {near} FROM ({left})) WHERE {near} <> 0"
        )
    # What is left of a rounded value is told once: its copies may differ among themselves.
    keys = ", ".join(canonical.rounded(_column(i), kind, False) for i, kind in enumerate(types))
    values = ", ".join(f"MAX({_column(i)}) AS {_column(i)}" for i in range(len(types)))
    told = f"SELECT {values}, SUM({copies}) AS {near} FROM ({left}) GROUP BY {keys}"
    return f"SELECT {names}, {near} AS {copies} FROM ({told}) WHERE {near} <> 0"


def _column(position: int) -> str:
    return quote(f"__pgt_{position}")
