"""ROLLUP, CUBE and GROUPING SETS: each row once for each set, with NULL for what the set does not group by.

A generator makes the copies, so that what is above it are groups like others: by the keys, and by the number that
grouping_id() gives, which tells a key that is NULL from one that is not grouped by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dbt_trickle.tree.algebra import Aggregate, Generate, Operator
from dbt_trickle.tree.expressions import column, expr
from dbt_trickle.tree.unsupported import not_yet, unsupported
from dbt_trickle.tree.values import Call, Expr, Grouping, Item

SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_Sets = list[tuple[exp.Expr, ...]]


@dataclass(frozen=True)
class Copies:
    """`sets`: positions among the keys; `id`: the column with the set's number."""

    sets: tuple[tuple[int, ...], ...]
    id: str

    def number(self, of: Sequence[int], keys: int) -> int:
        """A bit for each key, the first one the highest, set where it is not grouped by."""
        return sum(1 << (keys - 1 - at) for at in range(keys) if at not in of)

    def aggregate(self, child: Operator, keys: tuple[Item, ...], calls: tuple[Call, ...]) -> Aggregate:
        """`keys`: over the child, under the names that they have above."""
        rows = []
        for each in self.sets:
            values = [f"'k{at}', {key.value.sql if at in each else 'NULL'}" for at, key in enumerate(keys)]
            values.append(f"'id', {self.number(each, len(keys))}L")
            rows.append(f"named_struct({', '.join(values)})")
        read = frozenset().union(*(key.value.columns for key in keys))
        call = Expr(f"inline(array({', '.join(rows)}))", read)
        made = Generate(child, call, False, (*(key.name for key in keys), self.id))
        grouped = tuple(Item(name, expr(column(name))) for name in made.names)
        return Aggregate(made, grouped, calls, Grouping(tuple(key.value for key in keys), self.sets))


def sets_of(elements: Sequence[exp.Expr]) -> _Sets:
    """All of them together: of two elements each set of the one with each of the other."""
    found: _Sets = [()]
    for each in elements:
        found = [(*before, *more) for before in found for more in _of(each)]
    return found


def _of(node: exp.Expr) -> _Sets:
    match node:
        case exp.Rollup():
            parts = [_together(each) for each in node.expressions]
            return [tuple(value for part in parts[:end] for value in part) for end in range(len(parts), -1, -1)]
        case exp.Cube():
            return _cube([_together(each) for each in node.expressions])
        case exp.GroupingSets():
            return [part for each in node.expressions for part in _of(each)]
        case _:
            return [_together(node)]


def _cube(parts: list[tuple[exp.Expr, ...]]) -> _Sets:
    if not parts:
        return [()]
    rest = _cube(parts[1:])
    return [(*parts[0], *each) for each in rest] + rest


def _together(node: exp.Expr) -> tuple[exp.Expr, ...]:
    plain = node.unnest()
    return tuple(plain.expressions) if isinstance(plain, exp.Tuple) else (plain,)


def grouping(node: exp.Anonymous, keys: Sequence[str], text: str, number: str) -> exp.Expr:
    """grouping_id() as the set's number, grouping(a) as one of its bits."""
    id_ = column(number)
    if node.name == "grouping_id" and not node.expressions:
        return id_
    if node.name != "grouping" or text not in keys:
        raise not_yet(f"{node.name}() of these columns", node)
    if len(keys) > 60:
        raise unsupported("grouping sets of more than 60 keys", node)
    place = exp.Literal.number(len(keys) - 1 - list(keys).index(text))
    shifted = exp.Anonymous(this="shiftright", expressions=[id_, place])
    bit = exp.Paren(this=exp.BitwiseAnd(this=shifted, expression=exp.Literal.number(1)))
    return exp.Cast(this=bit, to=exp.DataType.build("TINYINT"))
