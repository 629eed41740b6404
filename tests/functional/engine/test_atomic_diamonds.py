"""Diamonds that are shown together, on Spark: whatever fails, is altered or dies, readers see one moment of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from engine_world import Rows, World

from dbt_trickle.errors import TrickleError
from dbt_trickle.run import held_back
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session
from dbt_trickle.run.verify import verify

pytestmark = pytest.mark.spark

FEED = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
TOTALS = "SELECT region, sum(amount) AS t FROM {orders} GROUP BY region"


class Dies(Exception):
    """The process is gone: nothing catches it."""


class Mortal:
    """A session whose next commit to a storage is its last statement."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def execute(self, sql: str) -> None:
        self.session.execute(sql)
        self._end(sql)

    def query(self, sql: str) -> Any:
        answer = self.session.query(sql)
        self._end(sql)
        return answer

    def _end(self, sql: str) -> None:
        if sql.startswith(("INSERT ", "MERGE ")) and ".`st_" in sql.split("\n")[0]:
            raise Dies


class Atomic:
    """Totals and rows of one table, and what reads both."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.orders = world, f"{world.schema}.{name}_orders"
        world.sql(
            f"CREATE TABLE {self.orders} (id INT, region STRING, amount INT) USING delta {FEED}",
            f"INSERT INTO {self.orders} VALUES (1, 'north', 10), (2, 'north', 5), (3, 'south', 7)",
        )
        self.totals = self.made(f"{name}_totals", TOTALS)
        self.rows = self.made(f"{name}_rows", "SELECT id, region, amount FROM {orders}")
        top = "SELECT r.id, r.amount, t.t FROM {rows} r JOIN {totals} t ON r.region = t.region"
        at = {"rows": self.rows.public.sql, "totals": self.totals.public.sql}
        self.top = self.made(f"{name}_top", top.replace("{rows}", at["rows"]).replace("{totals}", at["totals"]))
        self.run(*self.all)

    def made(self, name: str, query: str) -> Request:
        text = query.replace("{orders}", self.orders)
        return self.world.request(name, text, refresh_mode="differential", diamond_consistency="atomic")

    @property
    def all(self) -> list[Request]:
        return [self.totals, self.rows, self.top]

    def run(self, *requests: Request) -> list[str]:
        return [outcome.refresh.action for outcome in self.world.run(*requests)]

    def shown(self) -> list[Rows]:
        return [self.world.rows(f"SELECT * FROM {request.public.sql}") for request in self.all]

    def newest(self) -> list[Rows]:
        """What the queries would give over the sources as they are."""
        orders = self.orders
        top = f"SELECT r.id, r.amount, t.t FROM {orders} r JOIN ({self.totals.query}) t ON r.region = t.region"
        return [self.world.rows(query) for query in (self.totals.query, self.rows.query, top)]

    def held(self) -> list[str]:
        states = self.world.states()
        return [request.public.identifier for request in self.all if states[request.pgt_id].held_back is not None]

    def pinned(self) -> list[str]:
        """What the views say."""
        cached = self.world.as_cached([request.public for request in self.all])
        return sorted(name for name, (_, text) in cached.items() if "VERSION AS OF" in (text or ""))

    def require_right(self) -> None:
        session, states = self.world.looking, self.world.states()
        for request in self.all:
            assert verify(session, Frozen(session), states[request.pgt_id]).outcome == "ok"


class TestAtomicDiamonds:
    def test_by_runs_one_after_the_other(self, world: World) -> None:
        d = Atomic(world, "runs")
        before = d.shown()
        assert (before, d.pinned()) == (d.newest(), [])
        world.sql(f"INSERT INTO {d.orders} VALUES (4, 'south', 100)")
        with patch.object(held_back, "FRESH", timedelta()):
            assert d.run(d.totals) == ["DIFFERENTIAL"]
        assert (d.shown(), d.pinned(), d.held()) == (before, ["runs_totals"], ["runs_totals"])
        d.require_right()
        assert d.run(d.totals) == ["NO_DATA"]
        assert d.run(d.rows, d.top) == ["DIFFERENTIAL", "DIFFERENTIAL"]
        assert (d.shown(), d.pinned(), d.held()) == (d.newest(), [], [])
        d.require_right()
        reasons = world.looking.query(
            f"SELECT reason FROM {world.settings.catalog_schema}.pgt_refresh_history WHERE pgt_id = {d.totals.pgt_id} "
            "AND action = 'DIFFERENTIAL'"
        )
        assert "readers are shown what was there before, until all of its diamond have come" in reasons[0]["reason"]
        world.sql(f"DELETE FROM {d.orders} WHERE id = 1")
        assert d.run(*d.all) == ["DIFFERENTIAL"] * 3
        assert (d.shown(), d.pinned()) == (d.newest(), [])
        assert d.run(*d.all) == ["NO_DATA"] * 3

    def test_altered_failing_and_dying(self, world: World) -> None:
        d = Atomic(world, "ways")
        before, text = d.shown(), d.totals.query
        world.sql(f"UPDATE {d.orders} SET amount = amount + 1")
        d.totals = replace(d.totals, query=text.replace("sum(amount)", "sum(amount + 0)"))
        broken = replace(d.rows, query=f"SELECT id, region, nothing AS amount FROM {d.orders}")
        (action, _), (code, _) = world.attempt([d.totals, broken])
        assert (action, code) == ("ALTER", "TRK-301")
        assert (d.shown(), d.pinned()) == (before, ["ways_totals"])
        assert d.run(d.rows) == ["DIFFERENTIAL"], "and the one that was altered waits with its new storage"
        assert (d.shown(), d.held()) == (before, ["ways_totals", "ways_rows"])
        d.require_right()

        with pytest.raises(Dies):
            world.run(d.top, session=Mortal(world.connect()))
        assert d.shown() == before
        assert d.run(d.totals) == ["NO_DATA"], "the run that died had brought the last one"
        assert (d.shown(), d.pinned(), d.held()) == (d.newest(), [], [])
        d.require_right()

    def test_a_table_among_them(self, world: World) -> None:
        d = Atomic(world, "table")
        d.rows = replace(d.rows, config=replace(d.rows.config, diamond_consistency="none", expose="table"))
        d.run(d.rows)
        world.sql(f"DELETE FROM {d.orders} WHERE id = 1")
        with pytest.raises(TrickleError, match="TRK-217"):
            d.run(d.totals)
