"""Rows with a key that is not a group's: what came and what went of each key, from the delta."""

from __future__ import annotations

from collections.abc import Sequence

from dbt_trickle.apply.base import GONE, WAS, named, net, quoted, told_by
from dbt_trickle.apply.shape import SAME_KEY, Shape
from dbt_trickle.apply.stored import with_row_id
from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta.context import Delta
from dbt_trickle.names import literal, quote

_NOW, _ANY = named("now"), named("any")


def keyed(shape: Shape, delta: Delta) -> Delta:
    return per_key(shape, net(shape, delta), shape.outputs)


def per_key(shape: Shape, netted: Delta, names: Sequence[str]) -> Delta:
    """A row per key of rows of these columns, which are net. A key that nobody enforces is checked here."""
    weight = quote(WEIGHT)
    row = f"struct({quoted(names)})"
    came, went = f"SUM(greatest({weight}, 0))", f"SUM(greatest(-{weight}, 0))"
    gone = f"CASE WHEN {came} > 1 OR {went} > 1 THEN raise_error({literal(SAME_KEY)}) ELSE {came} = 0 END"
    per_key = (
        f"SELECT any_value({row}) FILTER (WHERE {weight} > 0) AS {quote(_NOW)}, any_value({row}) AS {quote(_ANY)},\n"
        f"{gone} AS {quote(GONE)}, {went} > 0 AS {quote(WAS)}\n"
        f"FROM {quote(netted.name)}\nGROUP BY {told_by(shape, shape.key) or 'true'}"
    )
    values = ", ".join(f"{quote(_ANY if name in shape.key else _NOW)}.{quote(name)} AS {quote(name)}" for name in names)
    rows = f"SELECT {values}, {quote(GONE)}, {quote(WAS)}\nFROM (\n{per_key}\n)"
    return netted.then(named("rows"), with_row_id(shape, rows))
