"""ORDER BY with LIMIT: brought forward while the stored rows tell the first ones, recomputed where they do not."""

from __future__ import annotations

import pytest
from engine_world import World

from dbt_trickle.errors import ModelError
from dbt_trickle.run.request import Request

pytestmark = pytest.mark.spark

FEW = "few of the first"
QUERY = "SELECT id, amount FROM {} ORDER BY amount DESC, id LIMIT 5"


class TestFirstRows:
    def source(self, world: World, name: str) -> str:
        table = f"{world.schema}.{name}"
        world.sql(
            f"CREATE TABLE {table} USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true) AS "
            "SELECT id, id % 10 AS amount FROM range(0, 1000, 1, 1)"
        )
        return table

    def step(self, world: World, request: Request, change: str, action: str, reason: str) -> None:
        world.sql(change)
        refreshed = world.run(request)[0].refresh
        assert (refreshed.action, reason in refreshed.reason) == (action, True), refreshed.reason
        assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(request.query)

    def test_some_come_and_go(self, world: World) -> None:
        table = self.source(world, "some")
        request = world.request("first_some", QUERY.format(table), refresh_mode="auto", max_change_ratio=1.0)
        world.run(request)
        state = world.states()[request.pgt_id]
        assert (state.topk_limit, state.topk_order_by) == (5, "amount DESC NULLS LAST, id ASC NULLS FIRST")
        self.step(world, request, f"INSERT INTO {table} VALUES (5000, 50), (5001, 3)", "DIFFERENTIAL", FEW)
        self.step(world, request, f"UPDATE {table} SET amount = 60 WHERE id IN (1, 9)", "DIFFERENTIAL", FEW)
        # What came takes the places of what went.
        gone = f"MERGE INTO {table} t USING (SELECT explode(array(1, 9, 7000, 7001)) AS k) s ON t.id = s.k "
        gone += "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, amount) VALUES (s.k, 70)"
        self.step(world, request, gone, "DIFFERENTIAL", FEW)

    def test_too_many_go(self, world: World) -> None:
        table = self.source(world, "many")
        request = world.request("first_many", QUERY.format(table), refresh_mode="auto", max_change_ratio=1.0)
        world.run(request)
        change = f"DELETE FROM {table} WHERE id IN (9, 19, 29)"
        self.step(world, request, change, "FULL", "too many of the first rows went")
        assert world.states()[request.pgt_id].last_diff_ms is None
        self.step(world, request, f"INSERT INTO {table} VALUES (5000, 50)", "DIFFERENTIAL", FEW)
        # All rows that there are, are stored: nothing is behind them.
        self.step(world, request, f"DELETE FROM {table} WHERE id > 1", "FULL", "")
        self.step(world, request, f"INSERT INTO {table} VALUES (5001, 51)", "DIFFERENTIAL", FEW)
        self.step(world, request, f"DELETE FROM {table} WHERE id = 5001", "DIFFERENTIAL", FEW)

    def test_differential_is_an_error_then(self, world: World) -> None:
        table = self.source(world, "strict")
        request = world.request("first_strict", QUERY.format(table), refresh_mode="differential")
        world.run(request)
        before = world.rows(f"SELECT * FROM {request.public.sql}")
        world.sql(f"DELETE FROM {table} WHERE id = 9")
        with pytest.raises(ModelError, match="too many of the first rows went") as problem:
            world.run(request)
        assert problem.value.code == "TRK-203"
        assert world.rows(f"SELECT * FROM {request.public.sql}") == before
