"""Two at once: one wins, the other goes on from what the winner has committed, and nothing is mixed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from crash_cases import AGGREGATE, create_source, storages
from engine_world import World

from dbt_trickle.errors import TrickleError, WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Marker
from dbt_trickle.run import recover
from dbt_trickle.run.invocation import Planned
from dbt_trickle.run.refresh import refresh
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session, is_conflict

pytestmark = pytest.mark.spark

LONGEST = 120.0


@dataclass
class Meeting:
    """A session that waits for the other one in front of the first statement that `at` tells."""

    inner: Session
    at: str
    barrier: threading.Barrier
    met: bool = False

    def execute(self, sql: str) -> None:
        self._wait(sql)
        self.inner.execute(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self._wait(sql)
        return self.inner.query(sql)

    def _wait(self, sql: str) -> None:
        if not self.met and sql.startswith(self.at):
            self.met = True
            self.barrier.wait(LONGEST)


def at_once(*tasks: Callable[[], Any]) -> list[Any]:
    """What each answered, or the error it raised."""
    answers: list[Any] = [None] * len(tasks)

    def run(number: int) -> None:
        try:
            answers[number] = tasks[number]()
        except Exception as problem:  # noqa: BLE001 - looked at by the test
            answers[number] = problem

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST)
        assert not thread.is_alive()
    return answers


def totals(world: World, query: str = AGGREGATE, **more: Any) -> Request:
    query = query.format(orders=world.relation("orders").sql)
    return world.request("totals", query, **{"refresh_mode": "full", **more})


def all_right(world: World, *requests: Request) -> None:
    """What is shown is one of the queries' results, the catalog says so, and running on ends well."""
    request = requests[0]
    state = world.states()[request.pgt_id]
    assert state.storage == recover.serving_storage(world.connect(), request.public, request.pgt_id)
    current = next(r for r in requests if r.query == state.defining_query)
    shown = f"SELECT * FROM {request.public.sql}"
    assert world.rows(shown) == world.rows(current.query)
    _, marker = recover.last_marked(world.connect(), state.storage, request.pgt_id) or (None, None)
    assert marker is not None
    assert (marker.batch, marker.fingerprint) == (state.batch, state.fingerprint)
    assert world.run(current)[0].refresh.action == "NO_DATA"
    assert world.rows(shown) == world.rows(current.query)
    assert "RUNNING" not in {row["status"] for row in world.history() if row["pgt_id"] == request.pgt_id}


def test_of_one_batch_one_commit_is_made(world: World) -> None:
    """The guard itself, below the engine: one batch, two sessions, the same storage."""
    create_source(world)
    request = totals(world)
    world.run(request)
    state = world.states()[request.pgt_id]
    barrier = threading.Barrier(2)

    def commit(name: str) -> None:
        session = Meeting(world.connect(), "INSERT", barrier)
        marker = Marker(request.pgt_id, 2, 1, "FULL", "", "", {}, "", name, 0)
        for statement in delta.marked(marker)[0]:
            session.execute(statement)
        stored = [(column.stored, column.name) for column in state.columns]
        session.execute(delta.overwrite(state.storage, f"SELECT '{name}', 1L, 1L", stored))

    answers = at_once(lambda: commit("a"), lambda: commit("b"))
    commits = recover.marked_commits(world.connect(), state.storage, request.pgt_id)
    assert [marker.batch for _, marker in commits] == [2, 1]
    winner = commits[0][1].run
    assert [row[0] for row in world.rows(f"SELECT * FROM {request.public.sql}")] == [winner]
    # The other was told, or its statement did nothing: that is what the engine reads the marker for.
    refused = [answer for answer in answers if answer is not None]
    assert len(refused) <= 1
    assert all(isinstance(problem, WarehouseError) and is_conflict(problem) for problem in refused), refused


@pytest.mark.parametrize(
    ("expose", "at"), [("view", "INSERT OVERWRITE"), ("table", "INSERT OVERWRITE"), ("view", "DESCRIBE QUERY")]
)
def test_two_full_refreshes(world: World, expose: str, at: str) -> None:
    create_source(world)
    request = totals(world, expose=expose)
    world.run(request)
    world.sql(f"INSERT INTO {world.relation('orders').sql} VALUES ('west', 4)")
    barrier = threading.Barrier(2)
    answers = at_once(*[lambda: world.run(request, session=Meeting(world.connect(), at, barrier))] * 2)
    assert sorted(outcome.refresh.action for (outcome,) in answers) == ["FULL", "NO_DATA"], answers
    assert world.states()[request.pgt_id].batch == 2
    all_right(world, request)


@pytest.mark.parametrize("at", ["MERGE", "DESCRIBE QUERY"])
def test_two_differential_refreshes(world: World, at: str) -> None:
    create_source(world)
    request = totals(world, refresh_mode="differential")
    world.run(request)
    world.sql(
        f"INSERT INTO {world.relation('orders').sql} VALUES ('west', 4)",
        f"DELETE FROM {world.relation('orders').sql} WHERE region = 'south'",
    )
    barrier = threading.Barrier(2)
    answers = at_once(*[lambda: world.run(request, session=Meeting(world.connect(), at, barrier))] * 2)
    assert sorted(outcome.refresh.action for (outcome,) in answers) == ["DIFFERENTIAL", "NO_DATA"], answers
    done = [(outcome.refresh.rows_inserted, outcome.refresh.rows_deleted) for (outcome,) in answers]
    assert sorted(done) == [(0, 0), (1, 1)]
    assert world.states()[request.pgt_id].batch == 2
    all_right(world, request)


@pytest.mark.parametrize(
    ("expose", "at"),
    [
        ("view", "CREATE OR REPLACE"),
        ("view", "ALTER VIEW"),
        ("view", "INSERT INTO"),
        ("table", "CREATE OR REPLACE"),
    ],
)
def test_two_alters(world: World, expose: str, at: str) -> None:
    """Two deployments of different queries: the name ends on one of them, as a whole."""
    create_source(world)
    world.run(totals(world, expose=expose))
    requests = [totals(world, AGGREGATE.replace("count(*)", f"{n} + count(*)"), expose=expose) for n in (10, 20)]
    barrier = threading.Barrier(2)
    sessions = [Meeting(world.connect(), at, barrier) for _ in requests]
    answers = at_once(
        lambda: world.run(requests[0], session=sessions[0]), lambda: world.run(requests[1], session=sessions[1])
    )
    assert not [answer for answer in answers if isinstance(answer, Exception)], answers
    all_right(world, *requests)


@pytest.mark.parametrize(
    ("expose", "at"),
    [("view", "CREATE OR REPLACE"), ("view", "CREATE VIEW `fault"), ("table", "CREATE OR REPLACE")],
)
def test_two_first_loads(world: World, expose: str, at: str) -> None:
    create_source(world)
    world.run(world.request("other", "SELECT 1 AS a"))
    request = totals(world, expose=expose)
    barrier = threading.Barrier(2)
    answers = at_once(*[lambda: world.run(request, session=Meeting(world.connect(), at, barrier))] * 2)
    assert not [answer for answer in answers if isinstance(answer, Exception)], answers
    all_right(world, request)


@pytest.mark.parametrize("at", ["CREATE SCHEMA", "CREATE TABLE", "CREATE VIEW"])
def test_two_create_the_catalog(connect: Callable[[], Session], at: str) -> None:
    world = World.create(connect)
    requests = [world.request(name, "SELECT 1 AS a") for name in ("one", "two")]
    barrier = threading.Barrier(2)
    sessions = [Meeting(world.connect(), at, barrier) for _ in requests]
    answers = at_once(
        lambda: world.run(requests[0], session=sessions[0]), lambda: world.run(requests[1], session=sessions[1])
    )
    assert not [answer for answer in answers if isinstance(answer, Exception)], answers
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
