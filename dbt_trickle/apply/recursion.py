"""The rows of a recursion, where a statement needs all of them: those that are stored, or worked out from the base.

Where the query shows all its columns, and nothing else was made of its rows, they are the stored ones. Any other is a
CTE beside the others, which is left out where nobody reads it.
"""

from __future__ import annotations

from dataclasses import replace

from dbt_trickle.apply.base import Applied
from dbt_trickle.apply.shape import Shape
from dbt_trickle.delta.context import Context, Cte, Source
from dbt_trickle.formats.delta import at_version
from dbt_trickle.names import Relation, quote
from dbt_trickle.tree.algebra import Recursive, scans, walk
from dbt_trickle.tree.identity import keys_above, shown_at
from dbt_trickle.tree.render import levels

_WAS, _NOW = "_was", "_now"


def with_rows(shape: Shape, context: Context, storage: Relation, version: int) -> Context:
    """What is within a recursion comes before it."""
    for tree in reversed([each for each in walk(shape.tree) if isinstance(each, Recursive)]):
        was, now = (f"{tree.name}{when}" if context.moved(tree) else tree.name for when in (_WAS, _NOW))
        heads = {was: context.old, now: context.new}
        known = Source(quote(was), quote(now))
        if stored := _stored(shape, tree):
            rows = at_version(storage.sql, version)
            known = replace(known, old=f"(\nSELECT {stored}\nFROM {rows}\n)")
        ctes = (Cte(name, levels(tree, quote(name), at), recursive=True) for name, at in heads.items())
        context = replace(context, recursions={**context.recursions, tree.name: known}, heads=(*context.heads, *ctes))
    return context


def _stored(shape: Shape, tree: Recursive) -> str:
    """Its columns from the storage's, where the output's rows are its rows."""
    if shape.tree.child is not tree:
        return ""
    found = shown_at(shape.tree, keys_above(tree))
    if found is None:
        return ""
    pairs = zip(found, tree.columns, strict=True)
    return ", ".join(f"{quote(shape.columns[position].stored)} AS {quote(name)}" for position, name in pairs)


def as_dear_as_anew(shape: Shape, done: Applied) -> str:
    """Why it may as well be recomputed: it reads nothing but recursions, and one of them is worked out as a whole."""
    recursions = [each for each in walk(shape.tree) if isinstance(each, Recursive) and scans(each)]
    within = {id(scan) for each in recursions for scan in scans(each)}
    if any(id(scan) not in within for scan in scans(shape.tree)):
        return ""
    heads = (f"{quote(f'{each.name}{when}')} AS (" for each in recursions for when in ("", _WAS, _NOW))
    text = done.stage or done.sql
    if not any(head in text for head in heads):
        return ""
    return "the rows of its recursion are not stored, and to work them out is to recompute the query"
