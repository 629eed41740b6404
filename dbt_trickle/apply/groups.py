"""Groups: brought forward from their stored state, or computed anew from the rows they have now."""

from __future__ import annotations

from dbt_trickle.apply.base import GONE, WAS, Applied, named
from dbt_trickle.apply.merge import merge
from dbt_trickle.apply.restated import touched
from dbt_trickle.apply.shape import Shape, output
from dbt_trickle.apply.stored import with_row_id
from dbt_trickle.delta import rules
from dbt_trickle.delta.aggregate import state
from dbt_trickle.delta.context import Context, Delta
from dbt_trickle.delta.touched import key_name
from dbt_trickle.formats.delta import at_version
from dbt_trickle.names import Relation, quote
from dbt_trickle.tree.algebra import Aggregate

_FOUND = named("found")


def changed(groups: state.Stateful, context: Context) -> Delta:
    """What is added to the state of each touched group."""
    return state.changed(groups, rules.delta(groups.tree.child, context), named("groups"))


def brought_forward(shape: Shape, groups: state.Stateful, changes: Delta, storage: Relation, version: int) -> Applied:
    before = at_version(storage.sql, version)
    now = state.brought_forward(groups, changes.name, before, shape.key)
    rows = output(shape, now, extra=f"{state.gone(groups)} AS {quote(GONE)}, false AS {quote(WAS)}")
    source = changes.then(named("rows"), rows)
    return Applied(merge(shape, source, storage, expected=False), "groups brought forward from their stored state")


def computed_anew(shape: Shape, groups: Aggregate, context: Context, storage: Relation) -> Applied:
    """Groups with keys: without any it would be all rows (apply/unrestricted.py)."""
    keys, now = touched(shape.tree.child, groups, context)
    fresh = keys.then(named("fresh"), output(shape, now, extra=f"true AS {quote(_FOUND)}"))
    values_of = dict(zip(shape.key, (f"k.{quote(key_name(i))}" for i in range(len(groups.keys))), strict=True))
    values = ", ".join(f"{values_of.get(name, f'f.{quote(name)}')} AS {quote(name)}" for name in shape.outputs)
    same = " AND ".join(f"f.{quote(name)} <=> {key}" for name, key in values_of.items())
    rows = (
        f"SELECT {values}, f.{quote(_FOUND)} IS NULL AS {quote(GONE)}, false AS {quote(WAS)}\n"
        f"FROM {quote(keys.name)} AS k\nLEFT JOIN {quote(fresh.name)} AS f ON {same}"
    )
    source = fresh.then(named("rows"), with_row_id(shape, rows))
    return Applied(merge(shape, source, storage, expected=False), "touched groups computed anew")
