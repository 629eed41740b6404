"""`trickle_float_aggregates: fast`: sums of doubles go on from what is stored, also past what is no number."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from engine_world import World

pytestmark = pytest.mark.spark

QUERY = (
    "SELECT k, sum(d) AS total, avg(d) AS mean, sum(f) AS floats, sum(d) FILTER (WHERE f > 1) AS some, count(*) AS n "
    "FROM {} GROUP BY k"
)
ODD = ("double('NaN')", "double('Infinity')", "-double('Infinity')")
CHANGES = (
    *(f"INSERT INTO {{}} VALUES (1, {odd}, float('NaN'))" for odd in ODD),
    "INSERT INTO {} VALUES (3, double('Infinity'), 2F), (3, 1D, 2F)",
    *(f"DELETE FROM {{}} WHERE d = {odd} AND k = 1" for odd in ODD),
    "INSERT INTO {} VALUES (4, 0.1D, 0.1F), (4, 0.1D, 0.1F), (4, 0.1D, 0.1F), (5, 1D, 3e38F), (5, 1D, 3e38F)",
    "DELETE FROM {} WHERE k = 5",
    "UPDATE {} SET d = NULL WHERE k = 2",
    "UPDATE {} SET d = 0.1D, f = -0.0F WHERE k = 2",
    "DELETE FROM {} WHERE k = 1",
    "INSERT INTO {} VALUES (1, 0.25D, 1.5F)",
)


class TestFastFloats:
    @pytest.fixture(scope="class")
    def fast(self, world: World) -> World:
        return replace(world, settings=replace(world.settings, float_aggregates="fast"))

    def table(self, world: World, name: str, rows: str) -> str:
        table = f"{world.schema}.{name}"
        world.sql(
            f"CREATE TABLE {table} (k int, d double, f float) USING delta "
            "TBLPROPERTIES (delta.enableChangeDataFeed = true)",
            f"INSERT INTO {table} VALUES {rows}",
        )
        return table

    def test_what_is_no_number_comes_and_goes(self, fast: World) -> None:
        table = self.table(fast, "odd", "(1, 1.5D, 2.5F), (1, 0.1D, 1F), (1, 0.2D, NULL), (2, -0.0D, 0F), (2, 3D, 9F)")
        request = fast.request("fast_odd", QUERY.format(table), refresh_mode="differential")
        fast.run(request)
        for change in CHANGES:
            fast.sql(change.format(table))
            refreshed = fast.run(request)[0].refresh
            assert (refreshed.action, "from their stored state" in refreshed.reason) == ("DIFFERENTIAL", True), change
            assert self.near(fast, f"SELECT * FROM {request.public.sql}", request.query), change

    def test_a_sum_that_is_infinite_itself_is_told(self, fast: World) -> None:
        table = self.table(fast, "large", "(1, 1e308D, 1F)")
        request = fast.request("fast_large", QUERY.format(table), refresh_mode="differential")
        fast.run(request)
        fast.sql(f"INSERT INTO {table} VALUES (1, 1e308D, 1F)")
        told = fast.attempt([request])
        assert [code for code, why in told if "[TRK-313]" in why] == ["TRK-301"], told

    def test_exact_is_what_it_is_otherwise(self, world: World) -> None:
        table = self.table(world, "exact", "(1, 1e16D, 1F), (1, 1D, 1F), (2, 1D, 1F)")
        request = world.request("not_fast", QUERY.format(table), refresh_mode="differential")
        world.run(request)
        world.sql(f"DELETE FROM {table} WHERE d = 1e16D")
        assert "computed anew" in world.run(request)[0].refresh.reason
        assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(request.query)

    def near(self, world: World, shown: str, query: str) -> bool:
        ordered = "SELECT * FROM ({}) ORDER BY k"
        pairs = zip(*(self.values(world, ordered.format(text)) for text in (shown, query)), strict=True)
        return all(self.same(one, other) for one, other in pairs)

    def values(self, world: World, query: str) -> list[Any]:
        return [value for row in world.looking.query(query) for value in row.values()]

    def same(self, one: Any, other: Any) -> bool:
        if one is None or other is None or math.isnan(one) or math.isnan(other):
            return str(one) == str(other)
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)
