"""How far the members of a diamond have come: those that agree on what they share have one epoch.

Epochs are numbers for people and grow by one whenever a member is the first at another state of what is shared. What is
read together does not hang on them, but on the states themselves (plan/agree.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from dbt_trickle.catalog.state import DiamondGroup, StreamTable
from dbt_trickle.plan.atomic import ATOMIC, is_atomic
from dbt_trickle.plan.edges import edges
from dbt_trickle.plan.graph import Diamond, diamonds
from dbt_trickle.plan.points import Point, point


def groups(tables: Collection[StreamTable], before: Mapping[str, DiamondGroup]) -> dict[str, DiamondGroup]:
    """By name, which is that of the first stream table where its branches meet."""
    loaded = {str(table.public): table for table in tables if table.is_populated}
    found = (_group(each, loaded, before.get(each.name)) for each in diamonds(edges(loaded.values(), {})))
    return {group.name: group for group in found}


def moved(before: StreamTable | None, after: StreamTable) -> bool:
    return before is None or _told(before) != _told(after)


def _told(table: StreamTable) -> tuple[object, ...]:
    return table.frontier, table.origins, table.diamond_consistency, table.held_back


def placed(table: StreamTable, found: Mapping[str, DiamondGroup]) -> StreamTable:
    """With the diamond whose branches meet in it, or else the one that it is a branch of."""
    name = str(table.public)
    mine = [group for group in found.values() if name in group.members]
    group = max(mine, key=lambda each: (name in each.converges, each.name), default=None)
    if group is None:
        return replace(table, diamond_group=None, epoch=None)
    return replace(table, diamond_group=group.name, epoch=group.epochs[name])


def _group(diamond: Diamond, tables: Mapping[str, StreamTable], before: DiamondGroup | None) -> DiamondGroup:
    known = before if before is not None and before.shared == diamond.shared else None
    epochs = dict(known.epochs) if known is not None else {}
    points = dict(known.points) if known is not None else {}
    at = {name: _of_shared(tables[name], diamond.shared) for name in diamond.members}
    stays = {name for name in at if name in epochs and at[name] == points[name]}
    now = {name: epochs[name] for name in stays}
    for name in diamond.members:
        if name not in stays:
            equal = [epoch for epoch in now.values() if _is_at(at[name], [at[n] for n in now if now[n] == epoch])]
            now[name] = max(equal) if equal else 1 + max((*now.values(), *epochs.values()), default=0)
    held = tuple(name for name in diamond.members if tables[name].held_back is not None)
    consistency = ATOMIC if is_atomic(tables[name] for name in diamond.members) else "none"
    return DiamondGroup(diamond.name, diamond.shared, diamond.members, diamond.converges, now, at, consistency, held)


def _of_shared(table: StreamTable, shared: Collection[str]) -> Point:
    found = point(table.frontier, table.origins) or table.frontier
    # A version by itself: where it is read is nothing that two can differ in.
    return {
        key: replace(version, seen_version=-1, seen_at="")
        for key, version in found.items()
        if version.relation in shared and not version.is_text
    }


def _is_at(one: Point, others: Collection[Point]) -> bool:
    """With all of an epoch, and with one at least there is something to agree on: each reads some of what is shared."""
    agrees = all(one[key].same_state(other[key]) for other in others for key in one.keys() & other.keys())
    return agrees and any(one.keys() & other.keys() for other in others)
