"""Death before and after every statement of every action; then a run, and all is right.

A case dies at each boundary once, each time as a stream table of its own, so that one run recovers
all of them and one more shows that nothing is left to do. To die is to be a process that ends; how the boundaries
are counted is said at Mortal.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeVar

import pytest
from crash_captures import BeginToChangeOver, ChangeOver, FailToChangeOver
from crash_cases import (
    Alter,
    BringIn,
    Case,
    Clustered,
    Create,
    Describe,
    Differ,
    FirstCreate,
    MaintainedAlter,
    MaintainedAnew,
    MaintainedReinitialize,
    Nothing,
    Overwrite,
    OverwriteAndDescribe,
    Placeholder,
    Reinitialize,
    Sweep,
    Switch,
    SwitchOn,
    act_until,
    boundaries,
    create_source,
)
from crash_checks import Dead, all_right, readers_are_served, serves
from crash_commands import Compact, Drop, DropAgain, DropAll, Leave, LeaveForIncremental, Repair
from crash_readers import FirstReader, FirstReaderOfStaged, LastReader, LastReaderOfStaged
from crash_ways import LATE_WAYS, WAYS, Appended, KeyedMerged
from engine_world import World
from fault_child import dies
from fault_proxy import Keeping
from fault_sessions import Interrupted, Recorder, counts
from fault_thrift import ThriftSessions
from listening import is_its_own

from dbt_trickle.catalog import tables
from dbt_trickle.config import ProjectSettings

pytestmark = pytest.mark.thrift

Kinds = tuple[type[Case], ...]
# Every boundary of every action: those of one line are prepared and recovered together.
ALWAYS: Sequence[tuple[Kinds, str]] = [
    ((FirstCreate,), "view"),
    ((Placeholder,), "view"),
    ((Nothing,), "view"),
    ((BringIn, *WAYS), "view"),
    ((MaintainedAnew, Clustered), "view"),
    ((Differ,), "view"),
    ((MaintainedReinitialize,), "view"),
    ((MaintainedAlter, Sweep, Switch), "view"),
    ((ChangeOver, BeginToChangeOver, FailToChangeOver), "view"),
    ((Drop, DropAll, DropAgain, Leave), "view"),
    ((FirstReader, LastReader, FirstReaderOfStaged, LastReaderOfStaged), "view"),
    ((Repair,), "view"),
    ((Compact,), "view"),
    ((Create, Placeholder, SwitchOn), "table"),
    ((Nothing, BringIn, KeyedMerged, Appended, ChangeOver, Reinitialize), "table"),
    ((OverwriteAndDescribe,), "table"),
    ((Alter, Switch), "table"),
    ((Drop, DropAgain, LeaveForIncremental), "table"),
    ((FirstReader, LastReader), "table"),
    ((Repair,), "table"),
]
# Parts of these, in other company, or the same with the other `expose`: `make soak`.
SOAK: Sequence[tuple[Kinds, str]] = [
    ((Create,), "view"),
    ((Describe,), "view"),
    ((Overwrite,), "view"),
    ((OverwriteAndDescribe,), "view"),
    ((Reinitialize,), "view"),
    ((Alter,), "view"),
    ((Describe,), "table"),
    ((Overwrite,), "table"),
    ((MaintainedAnew, MaintainedReinitialize, MaintainedAlter), "table"),
    ((BringIn, *WAYS), "table"),
]

# Reads as well: they leave the warehouse as it is, so this finds nothing more, but proves just that.
EVERY_STATEMENT = bool(os.environ.get("TRICKLE_EVERY_STATEMENT"))
EVERY_CASE = EVERY_STATEMENT or bool(os.environ.get("TRICKLE_EVERY_CASE"))
CASES = [*ALWAYS, *(SOAK if EVERY_CASE else ())]
# What changes rows, and what changes everything.
LATE: Sequence[tuple[Kinds, str]] = [((BringIn, *LATE_WAYS), "view")]
LATE_IN_SOAK: Sequence[tuple[Kinds, str]] = [
    ((Alter,), "view"),
    ((Overwrite,), "view"),
    ((Create,), "view"),
    ((Alter,), "table"),
]
LATE = [*LATE, *(LATE_IN_SOAK if EVERY_CASE else ())]


@pytest.fixture(scope="module")
def shared(connect: ThriftSessions, catalog: ProjectSettings) -> World:
    """Most cases share a catalog, which is there already."""
    world = World.create(connect, catalog, connect.kept)
    world.run(world.request("other", "SELECT 1 AS a"))
    return world


def _ids(cases: Sequence[tuple[Kinds, str]]) -> list[str]:
    return [f"{kinds[0].__name__}-{expose}" for kinds, expose in cases]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("kinds", "expose"), CASES, ids=_ids(CASES))
def test_death_at_every_boundary(
    kinds: Kinds, expose: str, shared: World, connect: ThriftSessions, wire: Keeping
) -> None:
    def world() -> World:
        return World.create(connect, None, connect.kept) if kinds[0].own_world else shared

    trials = _tried(world(), kinds, expose, "trial", EVERY_STATEMENT)
    lasts = [boundaries(trial, executed, EVERY_STATEMENT) for trial, executed in trials]
    cases = _prepared(world(), kinds, expose, "orders", [len(each) for each in lasts])
    dead = []
    for (_, executed), case, last in _each(trials, cases, lasts):
        case.provoke()
        old = case.shown() if case.exists else None
        one = _die(case, last, wire, EVERY_STATEMENT, closing=last >= _told_at(executed), by=executed)
        if last:
            wire.deliver()
        readers_are_served(case, old, one.where)
        dead.append(one if one.served is None else Dead(case, one.run, serves(case, one.run), one.where))
    for one in dead:
        one.case.recover()
    for group in _by_catalog(dead):
        all_right(group)
    print(f"{', '.join(kind.__name__ for kind in kinds)} ({expose}): {len(dead)} deaths survived")


@pytest.mark.parametrize(("kinds", "expose"), LATE, ids=_ids(LATE))
def test_the_server_is_slower_than_the_next_run(
    kinds: Kinds, expose: str, shared: World, connect: ThriftSessions, wire: Keeping
) -> None:
    """What a dead client sent last is done in the middle of the next run, right before that one does the same, or
    when that one has ended."""
    trials = _tried(shared, kinds, expose, "late_trial", every=False)
    pairs = [_pairs(trial, executed) for trial, executed in trials]
    cases = _prepared(shared, kinds, expose, "late", [len(each) for each in pairs])
    dead = []
    for (_, executed), case, (last, at) in _each(trials, cases, pairs):
        case.provoke()
        old = case.shown() if case.exists else None
        one = _die(case, last, wire, every=False, closing=True, by=executed)
        where = f"{one.where}, delivered before statement {at}"
        session = Interrupted(connect(), at, wire.deliver)
        case.world.run(case.request, session=session)
        if session.executed < at:
            wire.deliver()
        readers_are_served(case, old, where)
        dead.append(Dead(case, one.run, None, where))
    all_right(dead)


def _pairs(trial: Case, executed: Sequence[str]) -> list[tuple[int, int]]:
    """What comes late, and before which statement; what a session keeps for itself is late for nobody."""
    lasts = [n for n in boundaries(trial, executed, every=False) if n and not is_its_own(executed[n - 1])]
    return [(n, at) for n in lasts for at in _moments(n, len(executed))]


def _moments(last: int, count: int) -> list[int]:
    if EVERY_CASE:
        return list(range(1, count + 2))
    return [last, count + 1] if 1 < last < count else [last]


def _tried(world: World, kinds: Kinds, expose: str, name: str, every: bool) -> list[tuple[Case, list[str]]]:
    """One of each kind, alive, and what that executes: as far as that is not known from the first one."""
    unknown = [kind for n, kind in enumerate(kinds) if every or n == 0 or not kind.known]
    found: dict[type[Case], tuple[Case, list[str]]] = {}
    for trial in chain(*_prepared(world, tuple(unknown), expose, name, [1] * len(unknown))):
        trial.provoke()
        alive = Recorder(trial.world.connect(), every)
        trial.act(alive, trial.world.invocation())
        assert alive.executed, "it would die nowhere"
        done = [_words(sql) for sql in alive.executed if counts(sql) and tables.JOURNAL not in sql]
        assert not trial.due or done == [*trial.due], f"{type(trial).__name__} is done in another way"
        assert any(trial.asks in sql for sql in alive.asked), f"{type(trial).__name__} asks for nothing of it"
        found[type(trial)] = (trial, alive.executed)
    first, executed = found[kinds[0]]
    for kind in kinds:
        own = [executed[0], *kind.due, executed[-1]] if kind.due else executed
        found.setdefault(kind, (kind(world, expose, first.orders, 0), own))
    return [found[kind] for kind in kinds]


def _words(statement: str) -> str:
    return statement.split("`")[0].strip()


def _prepared(world: World, kinds: Kinds, expose: str, name: str, numbers: Sequence[int]) -> list[list[Case]]:
    """So many of each kind: loaded, and then their sources have moved."""
    prepared = []
    for kind, count in zip(kinds, numbers, strict=True):
        orders = create_source(world, f"{kind.__name__}_{expose}_{name}".lower())
        prepared.append([kind(world, expose, orders, number) for number in range(count)])
    if kinds[0].exists:
        world.run(*(case.request for case in chain(*prepared)))
    for cases in prepared:
        cases[0].move()
    return prepared


T = TypeVar("T")


def _each(
    trials: list[tuple[Case, list[str]]], cases: list[list[Case]], moments: list[list[T]]
) -> Iterator[tuple[tuple[Case, list[str]], Case, T]]:
    """Each case, with the trial of its kind, and its own moment."""
    for trial, of_kind, its in zip(trials, cases, moments, strict=True):
        for case, moment in zip(of_kind, its, strict=True):
            yield trial, case, moment


def _told_at(executed: Sequence[str]) -> int:
    """With which statement a run has said how it ended; what it does after that is told by nobody."""
    history = f"('{tables.HISTORY}',"
    told = [n for n, sql in enumerate(executed, 1) if sql.startswith("INSERT INTO") and history in sql]
    return max(told, default=len(executed))


def _die(case: Case, last: int, wire: Keeping, every: bool, *, closing: bool, by: Sequence[str]) -> Dead:
    """`by`: what it would execute, alive."""
    wire.expect()
    run = case.world.invocation().invocation_id
    statement = dies(act_until, case, last, run, every, ThriftSessions(wire.host, wire.port))
    assert statement is not None, "it lived on"
    assert every or not case.due or _words(statement) == _words(by[max(last, 1) - 1]), (
        f"{type(case).__name__}: {statement[:90]}"
    )
    where = f"{type(case).__name__}: death {'with' if last else 'before'} {statement[:90]!r}"
    return Dead(case, run, None if closing else False, where)


def _by_catalog(dead: list[Dead]) -> list[list[Dead]]:
    groups = defaultdict(list)
    for one in dead:
        groups[one.case.world.settings.catalog_schema].append(one)
    return list(groups.values())
