"""Two processes at once: one wins, the other goes on from what the winner has committed, and nothing is mixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest
from crash_cases import AGGREGATE, create_source, storages
from engine_world import World
from fault_child import PROCESSES, Failed, at_once, patiently
from fault_sessions import LONGEST, Meeting
from fault_thrift import ThriftSessions

from dbt_trickle.apply import few
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.errors import TrickleError, WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Marker
from dbt_trickle.run import recover
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.refresh import refresh
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session, is_conflict

pytestmark = [pytest.mark.thrift, pytest.mark.in_turn(3)]

# How a change is brought in: what the statement begins with, and how many rows are few then.
REPLACED, MERGED = ("INSERT INTO `{storages}`", few.MOST), ("MERGE", 0)
APPENDED = ("INSERT INTO `{storages}`", 0)
# A run's first INSERT INTO says that it began, its second one, where nothing moved, how it ended.
CLOSED = ("INSERT INTO", few.MOST)


def committing(world: World, request: Request, state: StreamTable, name: str, barrier: Barrier) -> None:
    session = Meeting(world.looking, "INSERT", barrier)
    marker = Marker(request.pgt_id, 2, 1, "FULL", "", "", {}, "", name, 0)
    for statement in delta.marked(marker)[0]:
        session.execute(statement)
    stored = [(column.stored, column.name) for column in state.columns]
    try:
        session.execute(delta.overwrite(state.storage, f"SELECT '{name}', 1L, 1L", stored))
    finally:
        session.require_met()


Done = tuple[str, int, int]


def running(
    world: World, request: Request, at: str, most: int, barrier: Barrier, number: int = 1, times: int = 1
) -> Done:
    """A run that meets the other one at a statement; in a process of its own."""
    few.MOST = most
    at = at.format(storages=world.schema if request.config.expose == "table" else world.settings.change_schema)
    run, session = world.invocation(wait=patiently), Meeting(world.looking, at, barrier, number, times)
    row = world.run(request, session=session, run=run)[0].refresh
    session.require_met()
    return row.action, row.rows_inserted, row.rows_deleted


def altering(world: World, request: Request, barrier: Barrier) -> Done:
    """All of a run while another one stands still."""
    barrier.wait(LONGEST)
    row = world.run(request, run=world.invocation(wait=patiently))[0].refresh
    barrier.wait(LONGEST)
    return row.action, row.rows_inserted, row.rows_deleted


def race(world: World, at: str, *requests: Request, most: int = few.MOST) -> list[Done]:
    """Both have looked, and planned, when the first one does what `at` begins."""
    barrier = PROCESSES.Barrier(len(requests))
    answers = at_once(*(partial(running, world, request, at, most, barrier) for request in requests))
    assert not [answer for answer in answers if isinstance(answer, Failed)], answers
    return answers


def totals(world: World, query: str = AGGREGATE, **more: Any) -> Request:
    query = query.format(orders=world.relation("orders").sql)
    return world.request("totals", query, **{"refresh_mode": "full", **more})


def all_right(world: World, *requests: Request) -> None:
    """What is shown is one of the queries' results, the catalog says so, and running on ends well."""
    request = requests[0]
    state = world.states()[request.pgt_id]
    assert state.storage == recover.serving_storage(world.looking, request.public, request.pgt_id)
    current = next(r for r in requests if r.query == state.defining_query)
    shown = f"SELECT * FROM {request.public.sql}"
    assert world.rows(shown) == world.rows(current.query)
    _, marker = recover.last_marked(world.looking, state.storage, request.pgt_id) or (None, None)
    assert marker is not None
    assert (marker.batch, marker.fingerprint) == (state.batch, state.fingerprint)
    assert world.run(current)[0].refresh.action == "NO_DATA"
    assert world.rows(shown) == world.rows(current.query)
    history = [row for row in world.history() if row["pgt_id"] == request.pgt_id]
    assert "RUNNING" not in {row["status"] for row in history}
    told = Counter(row["batch"] for row in history if row["status"] == "COMPLETED" and row["action"] != "NO_DATA")
    done = [row for row in history if row["status"] != "FAILED"]
    refreshed = {row["batch"] for row in done if row["action"] in ("DIFFERENTIAL", "FULL")}
    # Of two ALTERs at once both may have been seen, one after the other.
    assert all(told[batch] == 1 for batch in refreshed), f"a refresh that no reader has seen: {history}"


def test_of_one_batch_one_commit_is_made(world: World) -> None:
    """The guard itself, below the engine: one batch, two processes, the same storage."""
    create_source(world)
    request = totals(world)
    world.run(request)
    state = world.states()[request.pgt_id]
    barrier = PROCESSES.Barrier(2)
    answers = at_once(*(partial(committing, world, request, state, name, barrier) for name in ("a", "b")))
    commits = recover.marked_commits(world.looking, state.storage, request.pgt_id)
    assert [marker.batch for _, marker in commits] == [2, 1]
    winner = commits[0][1].run
    assert [row[0] for row in world.rows(f"SELECT * FROM {request.public.sql}")] == [winner]
    # The other was told, or its statement did nothing: that is what the engine reads the marker for.
    refused = [answer.problem for answer in answers if answer is not None]
    assert len(refused) <= 1
    assert all(is_conflict(WarehouseError("TRK-301", problem)) for problem in refused), refused


@pytest.mark.parametrize(("expose", "at"), [("view", "INSERT OVERWRITE"), ("table", "INSERT OVERWRITE")])
def test_two_full_refreshes(world: World, expose: str, at: str) -> None:
    create_source(world)
    request = totals(world, expose=expose)
    world.run(request)
    world.sql(f"INSERT INTO {world.relation('orders').sql} VALUES ('west', 4)")
    answers = race(world, at, request, request)
    assert sorted(action for action, _, _ in answers) == ["FULL", "NO_DATA"], answers
    assert world.states()[request.pgt_id].batch == 2
    all_right(world, request)


@pytest.mark.parametrize(
    ("expose", "way", "work"),
    [
        ("view", REPLACED, "replace"),
        ("view", MERGED, "merge"),
        ("view", APPENDED, "append"),
        ("table", REPLACED, "replace"),
        ("table", MERGED, "merge"),
    ],
)
def test_two_differential_refreshes(world: World, expose: str, way: tuple[str, int], work: str) -> None:
    """An INSERT that reads nothing of its table conflicts with no other one: it is the batch that keeps two apart."""
    orders = create_source(world).sql
    query = "SELECT region, amount FROM {orders}" if work == "append" else AGGREGATE
    request = totals(world, query, refresh_mode="differential", expose=expose)
    world.run(request)
    world.sql(f"INSERT INTO {orders} VALUES ('west', 4)")
    if work != "append":
        world.sql(f"DELETE FROM {orders} WHERE region = 'south'")
    at, most = way
    done = ("DIFFERENTIAL", 1, 0 if work == "append" else 1)
    assert sorted(race(world, at, request, request, most=most)) == [done, ("NO_DATA", 0, 0)]
    state = world.states()[request.pgt_id]
    commits = recover.marked_commits(world.looking, state.storage, request.pgt_id)
    assert [(marker.batch, marker.work) for _, marker in commits] == [(2, work), (1, "overwrite")]
    assert state.batch == 2
    all_right(world, request)


@pytest.mark.parametrize(
    ("expose", "at"),
    [
        ("view", "CREATE OR REPLACE"),
        ("view", "ALTER VIEW"),
        ("table", "CREATE OR REPLACE"),
    ],
)
def test_two_alters(world: World, expose: str, at: str) -> None:
    """Two deployments of different queries: the name ends on one of them, as a whole."""
    create_source(world)
    world.run(totals(world, expose=expose))
    requests = [totals(world, AGGREGATE.replace("count(*)", f"{n} + count(*)"), expose=expose) for n in (10, 20)]
    race(world, at, *requests)
    all_right(world, *requests)


@pytest.mark.parametrize(
    ("expose", "moved", "way", "number"),
    [
        ("view", False, CLOSED, 2),
        ("table", False, CLOSED, 2),
        ("view", True, REPLACED, 1),
        ("view", True, MERGED, 1),
    ],
    ids=["view-unmoved", "table-unmoved", "view-replaced", "view-merged"],
)
def test_an_alter_beside_a_refresh(world: World, expose: str, moved: bool, way: tuple[str, int], number: int) -> None:
    """A deployment alters, while the one before it has found nothing to do, or is about to bring changes in."""
    orders = create_source(world)
    old = totals(world, refresh_mode="differential", expose=expose)
    new = totals(world, AGGREGATE.replace("count(*)", "10 + count(*)"), refresh_mode="differential", expose=expose)
    world.run(old)
    if moved:
        world.sql(f"INSERT INTO {orders.sql} VALUES ('west', 4)")
    barrier = PROCESSES.Barrier(2)
    answers = at_once(partial(running, world, old, *way, barrier, number, 2), partial(altering, world, new, barrier))
    assert not [answer for answer in answers if isinstance(answer, Failed)], answers
    assert [action for action, _, _ in answers] == ["SKIP" if moved else "NO_DATA", "ALTER"]
    # Whose run it is that comes next decides what the name shows.
    for request in (old, new):
        world.run(request)
        assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(request.query), answers
    all_right(world, new)


@pytest.mark.parametrize(
    ("expose", "at"),
    [("view", "CREATE OR REPLACE"), ("view", "CREATE VIEW `fault"), ("table", "CREATE OR REPLACE")],
)
def test_two_first_loads(world: World, expose: str, at: str) -> None:
    create_source(world)
    world.run(world.request("other", "SELECT 1 AS a"))
    request = totals(world, expose=expose)
    race(world, at, request, request)
    all_right(world, request)


@pytest.mark.parametrize("at", ["CREATE SCHEMA", "CREATE TABLE", "CREATE VIEW"])
def test_two_create_the_catalog(connect: ThriftSessions, at: str) -> None:
    world = World.create(connect, None, connect.kept)
    requests = [world.request(name, "SELECT 1 AS a") for name in ("one", "two")]
    race(world, at, *requests)
    assert set(world.states()) == {request.pgt_id for request in requests}
    assert len(world.history()) == 2
    for request in requests:
        assert len(storages(world, request)) == 1
    assert {outcome.refresh.action for outcome in world.run(*requests)} == {"NO_DATA"}


def test_a_run_that_was_thought_dead(world: World) -> None:
    """Another run closes it while it lives; then it commits and is killed. Nobody doubts it any more."""
    create_source(world)
    request = totals(world)
    world.run(request)
    orders = world.relation("orders").sql
    world.sql(f"INSERT INTO {orders} VALUES ('west', 4)")
    slow, session = world.invocation(), world.connect()
    slow.open(session, [Planned(request.pgt_id, "slow", request.public)])
    world.run(world.request("other", "SELECT 1 AS a"))
    assert refresh(replace(request, existing="view"), session, slow).refresh.action == "FULL"

    # The catalog is a batch behind, which the guard of that batch tells the next run.
    world.sql(f"INSERT INTO {orders} VALUES ('west', 5)")
    assert world.refreshed(request) == "FULL"
    assert world.states()[request.pgt_id].batch == 3
    all_right(world, request)


def test_a_conflict_without_end_is_told(world: World) -> None:
    """Not more than a few attempts: then the user hears of it, and the next run goes on."""
    create_source(world)
    request = totals(world)
    world.run(request)
    world.sql(f"INSERT INTO {world.relation('orders').sql} VALUES ('west', 4)")

    class Loser:
        def __init__(self, inner: Session) -> None:
            self.inner = inner

        def execute(self, sql: str) -> None:
            if sql.startswith("INSERT OVERWRITE"):
                raise WarehouseError("TRK-301", "[DELTA_CONCURRENT_TRANSACTION] somebody else")
            self.inner.execute(sql)

        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            return self.inner.query(sql)

    run, session = world.invocation(), Loser(world.connect())
    with pytest.raises(TrickleError, match="DELTA_CONCURRENT_TRANSACTION"):
        world.begin([request], session, run)
    run.close(session)
    assert [row["status"] for row in world.history() if row["invocation_id"] == run.invocation_id] == ["FAILED"]
    assert world.refreshed(request) == "FULL"
    all_right(world, request)
