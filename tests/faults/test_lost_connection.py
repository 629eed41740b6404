"""The server does a statement, and its answer is lost: the refresh goes on, and nothing is done twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from crash_cases import Alter, BringIn, Case, Create, OverwriteAndDescribe, Reinitialize, create_source
from dbt_project import Project
from engine_world import World
from fault_proxy import cutting_proxy
from fault_thrift import ThriftSession
from thrift_server import ThriftServer

from dbt.adapters.trickle.statements import writes
from dbt_trickle.errors import WarehouseError
from dbt_trickle.run import recover
from dbt_trickle.run.invocation import Planned
from dbt_trickle.run.refresh import refresh
from dbt_trickle.run.session import Session


@dataclass
class Lossy:
    """Loses the answer of one statement, of those that write."""

    world: World
    inner: Session
    at: int | None = None
    executed: int = 0

    def execute(self, sql: str) -> None:
        self.inner.execute(sql)
        self._lose(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        answer = self.inner.query(sql)
        self._lose(sql)
        return answer

    def _lose(self, sql: str) -> None:
        if not writes(sql):
            return
        self.executed += 1
        if self.executed - 1 == self.at:
            self.inner = self.world.connect()  # which knows no setting of the old one's
            raise WarehouseError("TRK-306", f"no answer of {sql[:60]}")


CASES: Sequence[tuple[type[Case], str, str]] = [
    (Create, "view", "FULL"),
    (Create, "table", "FULL"),
    (BringIn, "view", "DIFFERENTIAL"),
    (OverwriteAndDescribe, "view", "FULL"),
    (Alter, "view", "ALTER"),
    (Alter, "table", "ALTER"),
    (Reinitialize, "view", "REINITIALIZE"),
]


@pytest.mark.spark
@pytest.mark.parametrize(("kind", "expose", "action"), CASES, ids=[f"{k.__name__}-{e}" for k, e, _ in CASES])
def test_every_lost_answer(world: World, kind: type[Case], expose: str, action: str) -> None:
    orders = create_source(world)
    trial = kind(world, expose, orders, 0)
    if kind.exists:
        world.run(trial.request)
    # How many statements there are, an undisturbed refresh tells; it is the first that sees the source move.
    spare = [kind(world, expose, orders, number) for number in range(1, 7)]
    if kind.exists:
        world.run(*(case.request for case in spare))
    trial.move()
    for case in (trial, *spare):
        case.provoke()
    count = lossy(trial, None, action)
    assert 0 < count <= len(spare)
    cases = spare[:count]
    for at, case in enumerate(cases):
        lossy(case, at, action)
    for outcome in world.run(*(case.request for case in cases)):
        assert outcome.refresh.action == "NO_DATA", outcome.refresh


def lossy(case: Case, at: int | None, action: str) -> int:
    world, request = case.world, case.request
    run, session = world.invocation(), Lossy(world, world.connect(), at)
    run.open(world.connect(), [Planned(request.pgt_id, f"refresh {run.invocation_id}", request.public)])
    row = refresh(replace(request, existing=world.kind_of(request.public)), session, run).refresh
    run.close(world.connect())
    where = f"{at}: {row}"
    assert (row.action, row.status) == (action, "COMPLETED"), where
    assert case.shown() == world.rows(request.query), where
    state = world.states()[request.pgt_id]
    assert (state.batch, state.consecutive_errors) == (row.batch, 0), where
    commits = recover.marked_commits(world.connect(), state.storage, request.pgt_id)
    assert [marker.batch for _, marker in commits].count(state.batch) == 1, where
    assert [marker.run for _, marker in commits].count(run.invocation_id) == 1, where
    assert state.rows == case.shown().total(), where
    return session.executed


@pytest.mark.thrift
@pytest.mark.parametrize("word", ["MERGE INTO", "DESCRIBE HISTORY"])
def test_a_connection_that_is_cut(server: ThriftServer, tmp_path_factory: pytest.TempPathFactory, word: str) -> None:
    """dbt over a wire that is cut behind the first statement of this kind."""
    schema = f"cut_{word[:5].lower()}"
    other = ThriftSession(server.connect())
    other.execute(f"CREATE SCHEMA {schema}_sources")
    orders = f"{schema}_sources.orders"
    other.execute(f"CREATE TABLE {orders} USING delta AS SELECT 'north' AS region, 1 AS amount")
    query = f"select region, sum(amount) as total from {orders} group by region"
    model = f"{{{{ config(materialized='stream_table', refresh_mode='differential') }}}} {query}"
    with cutting_proxy(server.host, server.port) as proxy:
        target = {**server.target(schema), "port": proxy.port}
        project = Project.create(tmp_path_factory.mktemp("cut"), target, {"models/totals.sql": model})
        project.dbt("run").ok()
        other.execute(f"INSERT INTO {orders} VALUES ('north', 2), ('south', 3)")
        proxy.cut_behind(word)
        project.dbt("run").ok()
        assert proxy.has_cut
    assert project.results()["totals"]["adapter_response"]["action"] == "DIFFERENTIAL"
    shown = other.query(f"SELECT * FROM {schema}.totals ORDER BY region")
    assert shown == [{"region": "north", "total": 3}, {"region": "south", "total": 3}]
    history = other.query("SELECT action, status, batch FROM trickle.pgt_refresh_history ORDER BY start_time")
    assert [tuple(row.values()) for row in history[-2:]] == [
        ("FULL", "COMPLETED", 1),
        ("DIFFERENTIAL", "COMPLETED", 2),
    ]
