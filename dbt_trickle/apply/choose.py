"""Which statement brings a delta into a storage."""

from __future__ import annotations

from dataclasses import replace

from dbt_trickle.apply import few, partitions, recursion, top
from dbt_trickle.apply import staged as by_table
from dbt_trickle.apply.bag import appended, bag, contents
from dbt_trickle.apply.base import Applied, net
from dbt_trickle.apply.groups import anew, brought_forward, changed, computed_anew, differing, forwarded
from dbt_trickle.apply.keyed import keyed
from dbt_trickle.apply.merge import merge
from dbt_trickle.apply.restated import restated
from dbt_trickle.apply.shape import Shape
from dbt_trickle.apply.staged import Place
from dbt_trickle.delta import rules
from dbt_trickle.delta.context import Context, Delta, Source
from dbt_trickle.names import Relation
from dbt_trickle.tree.algebra import Recursive, only_grows, scans, walk
from dbt_trickle.tree.identity import grouped, partitioned


def applied(shape: Shape, context: Context, storage: Relation, version: int, append_only: bool) -> Applied:
    """`version`: the storage's, that the change is worked out for; `append_only`: no source lost a row."""
    context = recursion.with_rows(shape, replace(context, grows=append_only), storage, version)
    groups = grouped(shape.tree)
    if shape.groups is not None and shape.groups.follows(append_only):
        changes = changed(shape.groups, context)
        many = brought_forward(shape, shape.groups, changes, storage, version)
        return replace(many, few=few.groups(shape, shape.groups, changes, storage, version))
    if shape.identity.by_groups and groups is not None:
        many = computed_anew(shape, groups, context, storage)
        if shape.groups is not None:
            rows = differing(shape, shape.groups, context, storage, version)
        else:
            rows = keyed(shape, restated(shape, groups, context, storage, version))
        by_id = few.keyed(shape, rows, storage, version)
        return replace(many, few=replace(by_id, how="few touched groups computed anew"))
    if first := top.top_of(shape.tree):
        found = _rows(shape, top.restated(shape, first, context, storage, version), storage, version)
        few_ = found.few and replace(found.few, how="few of the first rows replaced")
        return replace(found, how="first rows brought forward from those stored", few=few_)
    if window := partitioned(shape.tree):
        found = _rows(shape, restated(shape, window, context, storage, version), storage, version)
        few_ = found.few and replace(found.few, how="few touched partitions computed anew")
        if not partitions.same_again(window):
            return replace(partitions.replaced(shape, window, context, storage), few=few_)
        return replace(found, how="touched partitions computed anew", few=few_)
    delta = rules.delta(shape.tree, context)
    if shape.identity.is_bag and append_only and only_grows(shape.tree):
        return appended(shape, delta, storage)
    return _rows(shape, delta, storage, version)


def staged(shape: Shape, context: Context, into: Place, storage: Relation, version: int, append_only: bool) -> Applied:
    """The same by way of a table: first what comes and goes of all stored columns, then the statement over that.

    Worked out once, so partitions that come out otherwise each time are compared with what is stored like others.
    """
    context = recursion.with_rows(shape, replace(context, grows=append_only), storage, version)
    groups = grouped(shape.tree)
    if shape.groups is not None and shape.groups.follows(append_only):
        rows = forwarded(shape, shape.groups, changed(shape.groups, context), storage, version)
        how = "groups brought forward from their stored state"
    elif shape.identity.by_groups and groups is not None and shape.groups is not None:
        rows, how = anew(shape, shape.groups, context, storage, version), "touched groups computed anew"
    elif shape.identity.by_groups and groups is not None:
        rows = net(shape, restated(shape, groups, context, storage, version))
        how = "touched groups computed anew"
    elif first := top.top_of(shape.tree):
        rows = net(shape, top.restated(shape, first, context, storage, version))
        how = "first rows brought forward from those stored"
    elif window := partitioned(shape.tree):
        rows = net(shape, restated(shape, window, context, storage, version))
        how = "touched partitions computed anew"
    else:
        rows = net(shape, rules.delta(shape.tree, context))
        if shape.identity.is_bag and append_only and only_grows(shape.tree):
            return by_table.appended(shape, rows, into, storage, version)
        how = "rows merged by what they hold" if shape.identity.is_bag else "rows merged by their key"
    return by_table.staged(shape, rows, how, into, storage, version)


def never_cheaper(shape: Shape) -> str:
    """Why the query may as well be recomputed whichever of its sources moves; nothing where that is not so."""
    if not any(isinstance(each, Recursive) for each in walk(shape.tree)):
        return ""
    standing = {scan.source: Source("", "") for scan in scans(shape.tree)}
    found = []
    for key in standing:
        context = Context({**standing, key: Source("", "", "")})
        done = applied(shape, context, Relation.of("storage", "storage"), 0, append_only=False)
        found.append(recursion.as_dear_as_anew(shape, done))
    return found[0] if found and all(found) else ""


def _rows(shape: Shape, delta: Delta, storage: Relation, version: int) -> Applied:
    if shape.identity.is_bag:
        rows = contents(shape, delta)
        return replace(bag(shape, rows, storage, version), few=few.bag(shape, rows, storage, version))
    rows = keyed(shape, delta)
    many = Applied(merge(shape, rows, storage, expected=True), "rows merged by their key")
    return replace(many, few=few.keyed(shape, rows, storage, version))
