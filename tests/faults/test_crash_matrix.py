"""Death before and after every statement of every action; then a run, and all is right.

A case dies at each boundary once, each time as a stream table of its own, so that one run recovers
all of them and one more shows that nothing is left to do. To die is to be a process that ends; how the boundaries
are counted is said at Mortal.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence

import pytest
from crash_cases import (
    Alter,
    BringIn,
    Case,
    ChangeOver,
    Create,
    Describe,
    FirstCreate,
    Nothing,
    Overwrite,
    OverwriteAndDescribe,
    Placeholder,
    Reinitialize,
    act_until,
    boundaries,
    create_source,
)
from crash_checks import Dead, all_right, readers_are_served, serves
from crash_commands import Compact, Drop, DropAgain, Repair
from engine_world import World
from fault_child import dies
from fault_proxy import Keeping
from fault_sessions import Interrupted, Recorder
from fault_thrift import ThriftSessions

from dbt_trickle.catalog import tables
from dbt_trickle.config import ProjectSettings

pytestmark = pytest.mark.thrift

# Each action, and each sequence of statements that a run may be in the middle of.
ALWAYS: Sequence[tuple[type[Case], str]] = [
    (FirstCreate, "view"),
    (Nothing, "view"),
    (BringIn, "view"),
    (OverwriteAndDescribe, "view"),
    (Reinitialize, "view"),
    (Alter, "view"),
    (Alter, "table"),
    (ChangeOver, "view"),
    (Drop, "view"),
    (Repair, "view"),
    (Compact, "view"),
]
# The rest are parts of these, or the same in other company: `make soak`.
SOAK: Sequence[tuple[type[Case], str]] = [
    (Create, "view"),
    (Create, "table"),
    (Describe, "view"),
    (Placeholder, "view"),
    (Overwrite, "view"),
    (Overwrite, "table"),
    (Describe, "table"),
    (Placeholder, "table"),
    (Drop, "table"),
    (DropAgain, "view"),
    (DropAgain, "table"),
    (Repair, "table"),
]

# Reads as well: they leave the warehouse as it is, so this finds nothing more, but proves just that.
EVERY_STATEMENT = bool(os.environ.get("TRICKLE_EVERY_STATEMENT"))
EVERY_CASE = EVERY_STATEMENT or bool(os.environ.get("TRICKLE_EVERY_CASE"))
CASES = [*ALWAYS, *(SOAK if EVERY_CASE else ())]
# What changes rows, and what changes everything.
LATE: list[tuple[type[Case], str]] = [(BringIn, "view"), (Alter, "view")]


@pytest.fixture(scope="module")
def shared(connect: ThriftSessions, catalog: ProjectSettings) -> World:
    """Most cases share a catalog, which is there already."""
    world = World.create(connect, catalog, connect.kept)
    world.run(world.request("other", "SELECT 1 AS a"))
    return world


def _ids(cases: Sequence[tuple[type[Case], str]]) -> list[str]:
    return [f"{kind.__name__}-{expose}" for kind, expose in cases]


@pytest.mark.parametrize(("kind", "expose"), CASES, ids=_ids(CASES))
def test_death_at_every_boundary(
    kind: type[Case], expose: str, shared: World, connect: ThriftSessions, wire: Keeping
) -> None:
    def world() -> World:
        return World.create(connect, None, connect.kept) if kind.own_world else shared

    trial, executed = _tried(world(), kind, expose, "trial", EVERY_STATEMENT)
    lasts = boundaries(trial, executed, EVERY_STATEMENT)
    cases = _prepared(world(), kind, expose, "orders", len(lasts))
    dead = []
    for case, last in zip(cases, lasts, strict=True):
        case.provoke()
        old = case.shown() if case.exists else None
        one = _die(case, last, wire, EVERY_STATEMENT, closing=last >= _told_at(executed))
        if last:
            wire.deliver()
        readers_are_served(case, old, one.where)
        dead.append(one if one.served is None else Dead(case, one.run, serves(case, one.run), one.where))
    for one in dead:
        one.case.recover()
    for group in _by_catalog(dead):
        all_right(group)
    print(f"{kind.__name__}-{expose}: {len(dead)} deaths survived")


@pytest.mark.parametrize(("kind", "expose"), LATE, ids=_ids(LATE))
def test_the_server_is_slower_than_the_next_run(
    kind: type[Case], expose: str, shared: World, connect: ThriftSessions, wire: Keeping
) -> None:
    """What a dead client sent last is done in the middle of the next run, right before that one does the same, or
    when that one has ended."""
    _, executed = _tried(shared, kind, expose, "late_trial", every=False)
    pairs = [(n, at) for n in range(1, len(executed) + 1) for at in _moments(n, len(executed))]
    dead = []
    for case, (last, at) in zip(_prepared(shared, kind, expose, "late", len(pairs)), pairs, strict=True):
        case.provoke()
        old = case.shown()
        one = _die(case, last, wire, every=False, closing=True)
        where = f"{one.where}, delivered before statement {at}"
        session = Interrupted(connect(), at, wire.deliver)
        case.world.run(case.request, session=session)
        if session.executed < at:
            wire.deliver()
        readers_are_served(case, old, where)
        dead.append(Dead(case, one.run, None, where))
    all_right(dead)


def _moments(last: int, count: int) -> list[int]:
    if EVERY_CASE:
        return list(range(1, count + 2))
    return [last, count + 1] if 1 < last < count else [last]


def _tried(world: World, kind: type[Case], expose: str, name: str, every: bool) -> tuple[Case, list[str]]:
    (trial,) = _prepared(world, kind, expose, name, 1)
    trial.provoke()
    alive = Recorder(trial.world.connect(), every)
    trial.act(alive, trial.world.invocation())
    assert alive.executed, "it would die nowhere"
    return trial, alive.executed


def _prepared(world: World, kind: type[Case], expose: str, name: str, count: int) -> list[Case]:
    orders = create_source(world, f"{kind.__name__}_{expose}_{name}".lower())
    cases = [kind(world, expose, orders, number) for number in range(count)]
    if cases[0].exists:
        world.run(*(case.request for case in cases))
    cases[0].move()
    return cases


def _told_at(executed: Sequence[str]) -> int:
    """With which statement a run has said how it ended; what it does after that is told by nobody."""
    history = f"('{tables.HISTORY}',"
    told = [n for n, sql in enumerate(executed, 1) if sql.startswith("INSERT INTO") and history in sql]
    return max(told, default=len(executed))


def _die(case: Case, last: int, wire: Keeping, every: bool, *, closing: bool) -> Dead:
    wire.expect()
    run = case.world.invocation().invocation_id
    statement = dies(act_until, case, last, run, every, ThriftSessions(wire.host, wire.port))
    assert statement is not None, "it lived on"
    return Dead(case, run, None if closing else False, f"death {'with' if last else 'before'} {statement[:90]!r}")


def _by_catalog(dead: list[Dead]) -> list[list[Dead]]:
    groups = defaultdict(list)
    for one in dead:
        groups[one.case.world.settings.catalog_schema].append(one)
    return list(groups.values())
