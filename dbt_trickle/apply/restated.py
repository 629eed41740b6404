"""Of the touched groups or partitions: what they give now, less what is stored of them.

What they gave before is not computed again. So it makes no difference if it would come out otherwise, as a sum of
doubles or a row_number() with ties may: what is stored is what goes.
"""

from __future__ import annotations

from dataclasses import replace

from dbt_trickle.apply.base import as_named, named
from dbt_trickle.apply.shape import Shape
from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta import rules
from dbt_trickle.delta.aggregate.state import Stateful, loaded
from dbt_trickle.delta.context import Context, Delta, columns_of
from dbt_trickle.delta.rule import broadcast
from dbt_trickle.delta.touched import key_name, keys_of, of_touched, rows_of_touched, touched_keys
from dbt_trickle.errors import TrickleBug
from dbt_trickle.formats.delta import at_version
from dbt_trickle.names import Relation, quote
from dbt_trickle.tree.algebra import Aggregate, Operator, Window
from dbt_trickle.tree.identity import keys_above, shown_at


def restated(shape: Shape, keyed: Aggregate | Window, context: Context, storage: Relation, version: int) -> Delta:
    """`keyed`: all of whose keys the output shows. The output's columns, under the names of the tree's root."""
    keys, now = touched(shape.tree, keyed, context)
    same = " AND ".join(
        f"t.{quote(shape.columns[position].stored)} <=> {quote(keys.name)}.{quote(key_name(i))}"
        for i, position in enumerate(shown_keys(shape, keyed))
    )
    weight, hint = quote(WEIGHT), broadcast(quote(keys.name), context.is_small(keyed))
    return keys.then(
        named("restated"),
        f"SELECT {columns_of(shape.tree)}, CAST(1 AS BIGINT) AS {weight}\nFROM (\n{now}\n)\nUNION ALL\n"
        f"SELECT {hint}{as_named(shape, 't.')}, CAST(-1 AS BIGINT) AS {weight}\n"
        f"FROM {at_version(storage.sql, version)} AS t\nLEFT SEMI JOIN {quote(keys.name)} ON {same}",
    )


def touched(tree: Operator, keyed: Aggregate | Window, context: Context) -> tuple[Delta, str]:
    """The touched keys, and the rows that they give now: of `keyed`, or of what is row by row above it."""
    keys = _keys(keyed, context)
    return keys, of_touched(tree, keyed, context.new, keys.name, context.is_small(keyed))


def touched_with_state(kept: Stateful, context: Context) -> tuple[Delta, str]:
    """The touched keys, and the groups that there are now of them with the state that is kept of each."""
    keys = _keys(kept.tree, context)
    rows, there = rows_of_touched(kept.tree, context.new, keys.name, context.is_small(kept.tree))
    return keys, loaded(replace(kept, tree=replace(kept.tree, child=rows)), there)


def _keys(keyed: Aggregate | Window, context: Context) -> Delta:
    below = rules.delta(keyed.child, context)
    return below.then(named("keys"), touched_keys(keys_of(keyed), below.name))


def shown_keys(shape: Shape, keyed: Aggregate | Window) -> tuple[int, ...]:
    """Where the output has the keys."""
    found = shown_at(shape.tree, keys_above(keyed))
    if not found:
        raise TrickleBug("the keys by which rows are restated are not shown")
    return found
