"""A write of somebody else's that comes between a refresh's look and its commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from engine_world import World

from dbt_trickle.run.session import Session

pytestmark = pytest.mark.spark


class Meddled:
    """A session beside which somebody writes to the storage, right before the statement that counts."""

    def __init__(self, inner: Session, other: Session, meddle: str) -> None:
        self.inner, self.other, self.meddle = inner, other, meddle

    def execute(self, sql: str) -> None:
        self.inner.execute(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql.startswith("MERGE"):
            self.other.execute(self.meddle)
        return self.inner.query(sql)


class TestForeignWrite:
    def test_it_is_found_although_a_commit_of_ours_lies_above_it(self, world: World) -> None:
        orders = world.relation("orders").sql
        world.sql(f"CREATE TABLE {orders} (id INT, amount INT) USING delta", f"INSERT INTO {orders} VALUES (1, 1)")
        query = f"SELECT id, sum(amount) AS total FROM {orders} GROUP BY id"
        request = world.request("totals", query, refresh_mode="differential")
        world.run(request)
        storage = world.states()[request.pgt_id].storage.sql
        world.sql(f"INSERT INTO {orders} VALUES (1, 2)")
        meddle = f"INSERT INTO {storage} (id, total) VALUES (9, 9)"
        (outcome,) = world.run(request, session=Meddled(world.connect(), world.connect(), meddle))
        assert outcome.refresh.action == "DIFFERENTIAL", outcome.refresh
        assert world.rows(f"SELECT * FROM {request.public.sql}") != world.rows(query)
        assert world.states()[request.pgt_id].needs_reinit
        (outcome,) = world.run(request)
        assert outcome.refresh.action == "REINITIALIZE"
        assert "somebody else wrote" in outcome.refresh.reason
        assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(query)
        assert world.refreshed(request) == "NO_DATA"
