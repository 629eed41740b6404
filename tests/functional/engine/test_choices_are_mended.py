"""`auto` was forced into the wrong choice: how many refreshes that lasts, with the times that a clock of ours tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from engine_world import World

from dbt_trickle.catalog.state import Experience
from dbt_trickle.run import situation
from dbt_trickle.run.session import Session

pytestmark = pytest.mark.spark

CHANGES = ("INSERT INTO", "MERGE INTO")


@dataclass
class Timed:
    """A session in which only what writes to a storage takes its time."""

    inner: Session
    took: Mapping[str, tuple[float, float]]  # storage → seconds of a full refresh, and of a differential one
    now: float = 0

    def execute(self, sql: str) -> None:
        self.query(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        for storage, (full, differential) in self.took.items():
            if sql.startswith(f"INSERT OVERWRITE {storage}"):
                self.now += full
            elif sql.startswith(tuple(f"{change} {storage}" for change in CHANGES)):
                self.now += differential
        return self.inner.query(sql)


class TestChoices:
    def test_a_wrong_choice_lasts_three_refreshes_at_most(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        orders, products = world.relation("orders").sql, world.relation("products").sql
        made = f"CREATE OR REPLACE TABLE {products} USING delta AS SELECT id, id * %d AS price FROM range(9)"
        world.sql(f"CREATE TABLE {orders} USING delta AS SELECT id, id AS amount FROM range(100)", made % 1)
        held_cheap = world.request("held_cheap", f"SELECT id, amount FROM {orders}")
        held_dear = world.request("held_dear", f"SELECT id, price FROM {products}")
        requests = held_cheap, held_dear
        world.run(*requests)
        state = world.states()
        took = {held_cheap.pgt_id: (0.5, 5.4), held_dear.pgt_id: (600.0, 1.0)}
        session = Timed(world.connect(), {state[number].storage.sql: seconds for number, seconds in took.items()})
        monkeypatch.setattr(situation, "perf_counter", lambda: session.now)

        run = world.invocation()
        run.load(session)
        run.doubt(replace(state[held_cheap.pgt_id], last_full_ms=500, told=Experience(((1, 1),) * 3)))
        run.doubt(replace(state[held_dear.pgt_id], last_full_ms=1, untold=Experience(((900_000, 0),) * 3)))
        found = []
        for number in range(4):
            world.sql(f"INSERT INTO {orders} VALUES ({1000 + number}, 1)", made % (number + 2))
            outcomes = world.run(*requests, session=session, run=run if number == 0 else None)
            found.append([outcome.refresh.action for outcome in outcomes])
            assert f"how many rows of {products.replace('`', '')} changed is not told" in outcomes[1].refresh.reason
        assert [list(each) for each in zip(*found, strict=True)] == [
            ["DIFFERENTIAL", "DIFFERENTIAL", "DIFFERENTIAL", "FULL"],
            ["FULL", "FULL", "DIFFERENTIAL", "DIFFERENTIAL"],
        ]
        for request in requests:
            assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(request.query)
