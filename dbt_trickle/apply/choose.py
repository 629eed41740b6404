"""Which statement brings a delta into a storage."""

from __future__ import annotations

from dataclasses import replace

from dbt_trickle.apply import few
from dbt_trickle.apply.bag import appended, bag, contents
from dbt_trickle.apply.base import Applied
from dbt_trickle.apply.groups import brought_forward, changed, computed_anew
from dbt_trickle.apply.keyed import keyed
from dbt_trickle.apply.merge import merge
from dbt_trickle.apply.shape import Shape
from dbt_trickle.delta import rules
from dbt_trickle.delta.context import Context
from dbt_trickle.names import Relation
from dbt_trickle.tree.algebra import Aggregate, walk
from dbt_trickle.tree.identity import grouped


def applied(shape: Shape, context: Context, storage: Relation, version: int, append_only: bool) -> Applied:
    """`version`: the storage's, that the change is worked out for; `append_only`: no source lost a row."""
    groups = grouped(shape.tree)
    if shape.groups is not None:
        changes = changed(shape.groups, context)
        many = brought_forward(shape, shape.groups, changes, storage, version)
        return replace(many, few=few.groups(shape, shape.groups, changes, storage, version))
    if shape.identity.by_groups and groups is not None:
        return computed_anew(shape, groups, context, storage)
    delta = rules.delta(shape.tree, context)
    if not shape.identity.is_bag:
        rows = keyed(shape, delta)
        many = Applied(merge(shape, rows, storage, expected=True), "rows merged by their key")
        return replace(many, few=few.keyed(shape, rows, storage, version))
    # Of a group that changed, the old row goes: only without aggregates do rows that come make rows come.
    if append_only and not any(isinstance(each, Aggregate) for each in walk(shape.tree)):
        return appended(shape, delta, storage)
    rows = contents(shape, delta)
    return replace(bag(shape, rows, storage, version), few=few.bag(shape, rows, storage, version))
