"""Groups: brought forward from their stored state, or computed anew from the rows they have now."""

from __future__ import annotations

from dbt_trickle.apply import whole
from dbt_trickle.apply.base import GONE, WAS, Applied, named, quoted
from dbt_trickle.apply.keyed import per_key
from dbt_trickle.apply.merge import merge
from dbt_trickle.apply.restated import touched, touched_with_state
from dbt_trickle.apply.shape import Shape, output
from dbt_trickle.apply.stored import with_row_id
from dbt_trickle.delta import rules
from dbt_trickle.delta.aggregate import state
from dbt_trickle.delta.context import Context, Delta
from dbt_trickle.delta.rule import broadcast
from dbt_trickle.delta.touched import key_name
from dbt_trickle.errors import TrickleBug
from dbt_trickle.formats.delta import at_version
from dbt_trickle.names import Relation, quote
from dbt_trickle.tree.algebra import Aggregate
from dbt_trickle.tree.identity import ROW_ID

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
    """Without keys there is one group, and that would be a full refresh (apply/unrestricted.py)."""
    if not groups.keys:
        raise TrickleBug("one group was to be computed anew, of all rows, as a change of some")
    kept = shape.groups
    keys, now = touched_with_state(kept, context) if kept else touched(shape.tree.child, groups, context)
    fresh = keys.then(named("fresh"), output(shape, now, extra=f"true AS {quote(_FOUND)}"))
    values_of = dict(zip(shape.key, (f"k.{quote(key_name(i))}" for i in range(len(groups.keys))), strict=True))
    values = ", ".join(
        f"{values_of.get(name, f'f.{quote(name)}')} AS {quote(name)}" for name in shape.stored if name != ROW_ID
    )
    same = " AND ".join(f"f.{quote(name)} <=> {key}" for name, key in values_of.items())
    rows = (
        f"SELECT {values}, f.{quote(_FOUND)} IS NULL AS {quote(GONE)}, false AS {quote(WAS)}\n"
        f"FROM {quote(keys.name)} AS k\nLEFT JOIN {quote(fresh.name)} AS f ON {same}"
    )
    source = fresh.then(named("rows"), with_row_id(shape, rows))
    return Applied(merge(shape, source, storage, expected=False), "touched groups computed anew")


def differing(shape: Shape, kept: state.Stateful, context: Context, storage: Relation, version: int) -> Delta:
    """The touched groups, as they are now or gone, that are not as they are stored: also where that shows in what is
    kept of them alone. From that the next refresh goes on.
    """
    rows = anew(shape, kept, context, storage, version)
    return per_key(shape, rows, [name for name in shape.stored if name != ROW_ID])


def anew(shape: Shape, kept: state.Stateful, context: Context, storage: Relation, version: int) -> Delta:
    """The same, row by row."""
    keys, now = touched_with_state(kept, context)
    names = [name for name in shape.stored if name != ROW_ID]
    same = " AND ".join(
        f"t.{quote(name)} <=> {quote(keys.name)}.{quote(key_name(i))}" for i, name in enumerate(shape.key)
    )
    hint = broadcast(quote(keys.name), context.is_small(kept.tree))
    before = f"SELECT {hint}{quoted(names, 't.')}\nFROM {at_version(storage.sql, version)} AS t\n"
    before += f"LEFT SEMI JOIN {quote(keys.name)} ON {same}"
    rows = whole.differing(shape, names, f"SELECT {quoted(names)}\nFROM (\n{output(shape, now)}\n)", f"(\n{before}\n)")
    return Delta((*keys.ctes, *rows.ctes))


def forwarded(shape: Shape, groups: state.Stateful, changes: Delta, storage: Relation, version: int) -> Delta:
    """The same of groups that are brought forward: as they are now, less as they are stored."""
    before = at_version(storage.sql, version)
    names = [name for name in shape.stored if name != ROW_ID]
    columns, now = quoted(names), state.brought_forward(groups, changes.name, before, shape.key)
    rows = output(shape, now, extra=f"{state.gone(groups)} AS {quote(GONE)}")
    keys = [f"{quote(changes.name)}.{quote(key.name)}" for key in groups.tree.keys]
    same = [f"t.{quote(stored)} <=> {key}" for stored, key in zip(shape.key, keys, strict=True)]
    was = f"SELECT {quoted(names, 't.')}\nFROM {before} AS t\n"
    was += f"LEFT SEMI JOIN {quote(changes.name)} ON {' AND '.join(same) or 'true'}"
    come = f"SELECT {columns}\nFROM (\n{rows}\n)\nWHERE NOT {quote(GONE)}"
    return Delta((*changes.ctes, *whole.differing(shape, names, come, f"(\n{was}\n)").ctes))
