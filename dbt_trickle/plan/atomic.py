"""Diamonds that are published together (`diamond_consistency: atomic`): what readers are shown until all have come.

Before a member's first commit that they are not to see yet, its public view is pinned to the rows that they see
(plan/public_view.py). It is let go when all members agree on all that two of them have in common, as stream tables that
are read together must (plan/agree.py). To stream tables that read one it makes no difference: they read storages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from dbt_trickle.catalog.state import HeldBack, StreamTable
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan.agree import Clash, clashes, told
from dbt_trickle.plan.edges import edges
from dbt_trickle.plan.graph import diamonds
from dbt_trickle.plan.points import State, point

ATOMIC = "atomic"
Group = tuple[StreamTable, ...]


def hold(table: StreamTable, now: str) -> StreamTable:
    """With what its readers are shown from now on: its rows as they are."""
    held = HeldBack(table.storage_relation, table.stored_version, table.columns, table.data_timestamp, now)
    return replace(table, held_back=held)


def groups(tables: Iterable[StreamTable]) -> list[Group]:
    """The members of each diamond, as the catalog knows it. None is of two."""
    loaded = {str(each.public): each for each in tables if each.is_populated}
    reads = edges(loaded.values(), {})
    return [tuple(loaded[name] for name in names) for names in _names(tuple(sorted(reads.items())))]


def members(table: StreamTable, tables: Iterable[StreamTable]) -> Group:
    """Of the diamond that it belongs to; none, where it does not."""
    return next((group for group in groups(tables) if table.pgt_id in _numbers(group)), ())


def is_atomic(group: Iterable[StreamTable]) -> bool:
    """The strictest wins: what one of them may not show early, none may."""
    return any(each.diamond_consistency == ATOMIC for each in group)


def apart(group: Iterable[StreamTable]) -> tuple[Clash, ...]:
    """What two of them have of different versions: something below both, or one of them that the other one reads."""
    return clashes(map(_state, group), {})


def due(tables: Collection[StreamTable], to_come: Collection[int] = ()) -> list[Group]:
    """Diamonds of which some are held back, and all may be shown; what is of none any more is one by itself. Not while
    one of them is still `to_come` in the same run: it may commit at any moment.
    """
    held = [table for table in tables if table.held_back is not None]
    if not held:
        return []  # of most runs
    known = groups(tables)
    alone = _numbers(held).difference(*map(_numbers, known))
    found = [*known, *((table,) for table in held if table.pgt_id in alone)]
    return [group for group in found if _numbers(group) & _numbers(held) and _may_be_shown(group, to_come)]


def why(table: StreamTable, tables: Collection[StreamTable]) -> str:
    """Why it is held back; nothing where its diamond agrees, or there is none any more."""
    group = members(table, tables)
    return told(apart(group)) if is_atomic(group) else ""


def _may_be_shown(group: Group, to_come: Collection[int]) -> bool:
    return _numbers(group).isdisjoint(to_come) and not (is_atomic(group) and apart(group))


def _numbers(group: Iterable[StreamTable]) -> set[int]:
    return {table.pgt_id for table in group}


def _state(table: StreamTable) -> State:
    found: Mapping[str, SourceVersion] = point(table.frontier, table.origins) or table.frontier
    key, storage = table.key, table.storage_relation
    own = SourceVersion(key, "STREAM_TABLE", str(table.public), storage, table.storage_version, table.storage_at)
    # Once, the time of a commit was not kept: then it is equal to nothing that was read of it.
    mine = {key: own} if table.storage_at else {}
    return State(own, {**found, **mine}, table.data_timestamp or "")


@lru_cache(maxsize=4)
def _names(reads: tuple[tuple[str, frozenset[str]], ...]) -> tuple[tuple[str, ...], ...]:
    """Asked for each refresh of a run, in which they seldom change."""
    return tuple(each.members for each in diamonds(dict(reads)))
