"""The server does a statement, and its answer is lost: the refresh goes on, and nothing is done twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from crash_cases import Alter, BringIn, Case, Create, create_source
from dbt_project import Project
from engine_world import World
from fault_proxy import cutting_proxy
from fault_sessions import Lossy, Watched, is_its_own
from fault_thrift import ThriftSession
from thrift_server import ThriftServer

from dbt_trickle.apply import few
from dbt_trickle.catalog import tables
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run import recover
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.refresh import refresh
from dbt_trickle.run.session import Session

pytestmark = pytest.mark.thrift

# With the number of statements that count. To bring few rows in are three: what is kept for it, the commit, and the end
# of what was kept, which went with the connection.
CASES: Sequence[tuple[type[Case], str, str, int]] = [
    (Create, "view", "FULL", 4),
    (BringIn, "view", "DIFFERENTIAL", 3),
    (Alter, "view", "ALTER", 4),
]


@pytest.mark.parametrize(("kind", "expose", "action", "count"), CASES, ids=[f"{c[0].__name__}-{c[1]}" for c in CASES])
def test_every_lost_answer(world: World, kind: type[Case], expose: str, action: str, count: int) -> None:
    orders = create_source(world)
    cases = [kind(world, expose, orders, number) for number in range(count + 1)]
    if kind.exists:
        world.run(*(case.request for case in cases))
    cases[0].move()
    for case in cases:
        case.provoke()
    for at, case in enumerate(cases):
        executed = lossy(case, at, action)
        assert at < count or executed == count, "the last one loses nothing"
    for outcome in world.run(*(case.request for case in cases)):
        assert outcome.refresh.action == "NO_DATA", outcome.refresh


@dataclass
class Journal:
    """Loses the answer of each append to the catalog once, and remembers what was sent."""

    connect: Callable[[], Session]
    inner: Session
    sent: list[str] = field(default_factory=list)

    def execute(self, sql: str) -> None:
        self.inner.execute(sql)
        if tables.JOURNAL in sql and sql.startswith("INSERT"):
            self.sent.append(sql)
            if self.sent.count(sql) == 1:
                self.inner = self.connect()
                raise WarehouseError("TRK-306", f"no answer of {sql[:60]}")

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        return self.inner.query(sql)


def test_what_is_told_to_the_catalog_twice_or_late_is_told_once(world: World) -> None:
    case = BringIn(world, "view", create_source(world), 0)
    world.run(case.request)
    case.move()
    session = Journal(world.connect, world.connect())
    run = world.invocation()
    (outcome,) = world.run(case.request, session=session, run=run)
    opened, again, closed, too = session.sent
    assert opened == again != closed == too
    world.sql(opened)  # the server is late with it
    told = f"invocation_id = '{run.invocation_id}'"
    (outcome,) = world.run(case.request)
    assert outcome.refresh.action == "NO_DATA"
    catalog = Relation.of(world.settings.catalog_schema, "pgt_refresh_history").sql
    history = world.rows(f"SELECT action, status, batch FROM {catalog} WHERE {told}")
    assert history == Counter([("DIFFERENTIAL", "COMPLETED", 2)])
    events = Relation.of(world.settings.catalog_schema, "pgt_events").sql
    completed = world.rows(f"SELECT count(*) FROM {events} WHERE pgt_id = {case.request.pgt_id}")
    assert completed == Counter([(2,)])


@dataclass
class Holding(Watched):
    """Does not drop a view of its own, once."""

    held: int = 1

    def before(self, sql: str) -> None:
        if self.held and is_its_own(sql) and sql.startswith("DROP"):
            self.held -= 1
            raise WarehouseError("TRK-301", "the server would not")


def lossy(case: Case, at: int, action: str) -> int:
    world, request = case.world, case.request
    run, session = world.invocation(), Lossy(world.connect, world.connect(), at)
    run.open(world.looking, [Planned(request.pgt_id, f"refresh {run.invocation_id}", request.public)])
    row = refresh(*world.with_what_is_there([request]), session, run).refresh
    run.close(world.looking)
    where = f"{at}: {row}"
    assert (row.action, row.status) == (action, "COMPLETED"), where
    assert case.shown() == world.rows(request.query), where
    state = world.states()[request.pgt_id]
    assert (state.batch, state.consecutive_errors) == (row.batch, 0), where
    commits = recover.marked_commits(world.looking, state.storage, request.pgt_id)
    assert [marker.batch for _, marker in commits].count(state.batch) == 1, where
    assert [marker.run for _, marker in commits].count(run.invocation_id) == 1, where
    assert state.rows == case.shown().total(), where
    return session.executed


def test_a_view_that_could_not_be_dropped(world: World) -> None:
    """The session lives on with it, and with it goes on."""
    case = BringIn(world, "view", create_source(world), 0)
    world.run(case.request)
    session = Holding(world.connect())
    for _ in range(2):
        case.move()
        (outcome,) = world.run(case.request, session=session)
        assert outcome.refresh.action == "DIFFERENTIAL"
        assert case.shown() == world.rows(case.request.query)
    assert session.held == 0


def test_a_connection_that_is_cut(server: ThriftServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    """dbt over a wire that is cut once the server was sent a statement that writes few rows, or many, or that reads."""
    other = ThriftSession(server.connect())
    other.execute("CREATE SCHEMA cut_sources")
    other.execute("CREATE TABLE cut_sources.orders USING delta AS SELECT 'north' AS region, 1 AS amount")
    query = "select region, sum(amount) as total from cut_sources.orders group by region"
    model = f"{{{{ config(materialized='stream_table', refresh_mode='differential') }}}} {query}"
    with cutting_proxy(server.host, server.port) as proxy:
        target = {**server.target("cut"), "port": proxy.port}
        project = Project.create(tmp_path_factory.mktemp("cut"), target, {"models/totals.sql": model})
        project.dbt("run").ok()
        moved = "VALUES ('north', 2), ('south', 3)"
        many = f"SELECT 'region ' || id, 1 FROM range({few.MOST + 1})"
        for word, rows in (("REPLACE WHERE", moved), ("MERGE INTO", many), ("DESCRIBE HISTORY", moved)):
            other.execute(f"INSERT INTO cut_sources.orders {rows}")
            proxy.cut_behind(word)
            project.dbt("run").ok()
            assert proxy.cuts == [word], "nothing was cut"
            proxy.cuts.clear()
            assert project.results()["totals"]["adapter_response"]["action"] == "DIFFERENTIAL"
            wanted = other.query(f"{query} order by region")
            assert other.query("SELECT region, total FROM cut.totals ORDER BY region") == wanted
    history = other.query(
        "SELECT action, status, batch FROM trickle.pgt_refresh_history "
        "WHERE pgt_id IN (SELECT pgt_id FROM trickle.pgt_stream_tables WHERE pgt_schema = 'cut') ORDER BY start_time"
    )
    assert [tuple(row.values()) for row in history] == [
        ("FULL", "COMPLETED", 1),
        *(("DIFFERENTIAL", "COMPLETED", batch) for batch in (2, 3, 4)),
    ]
