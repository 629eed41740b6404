"""Branches that were refreshed in different runs, on Spark: what meets again reads one state of all that is shared."""

from __future__ import annotations

from typing import Any

import pytest
from engine_world import World

from dbt_trickle.names import Relation, literal
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.request import Request
from dbt_trickle.run.verify import verify

pytestmark = pytest.mark.spark

FEED = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"


class Diamond:
    """Totals and rows of one table, and what reads both: a row of it is right, or has never been."""

    def __init__(self, world: World, name: str, top: str) -> None:
        self.world, self.orders, self.more = world, f"{world.schema}.{name}_orders", f"{world.schema}.{name}_more"
        world.sql(
            f"CREATE TABLE {self.orders} (id INT, region STRING, amount INT) USING delta {FEED}",
            f"INSERT INTO {self.orders} VALUES (1, 'north', 10), (2, 'north', 5), (3, 'south', 7)",
            f"CREATE TABLE {self.more} (region STRING, boss STRING) USING delta {FEED}",
            f"INSERT INTO {self.more} VALUES ('north', 'Ann')",
        )
        self.totals = self._made(
            f"{name}_totals", f"SELECT region, sum(amount) AS t FROM {self.orders} GROUP BY region"
        )
        self.large = self._made(f"{name}_large", f"SELECT id, region, amount FROM {self.orders} WHERE amount > 5")
        at = {each: getattr(self, each).public.sql for each in ("totals", "large")}
        self.top = self._made(f"{name}_top", top.format(orders=self.orders, more=self.more, **at))

    def _made(self, name: str, query: str) -> Request:
        return self.world.request(name, query, refresh_mode="differential")

    @property
    def all(self) -> list[Request]:
        return [self.totals, self.large, self.top]

    def run(self, *requests: Request) -> Outcome:
        """Of the last one; and what reads both is what it promises to be."""
        outcome = self.world.run(*requests)[-1]
        self.require_right(self.top)
        return outcome

    def require_right(self, *requests: Request) -> None:
        session, states = self.world.looking, self.world.states()
        for request in requests:
            verdict = verify(session, Frozen(session), states[request.pgt_id])
            assert verdict.outcome == "ok", verdict

    def epochs(self) -> tuple[int, int]:
        """What all of its members have reached, and the furthest of them."""
        at = Relation.of(self.world.settings.catalog_schema, "diamond_groups").sql
        group = literal(str(self.top.public))
        (row,) = self.world.looking.query(f"SELECT * FROM {at} WHERE diamond_group = {group}")
        assert row["shared"] == [self.orders] and row["epochs"].keys() == set(row["members"])
        return row["epoch"], row["newest_epoch"]

    def shown(self) -> set[tuple[Any, ...]]:
        return set(self.world.rows(f"SELECT * FROM {self.top.public.sql}"))


class TestDiamonds:
    def test_branches_of_different_runs(self, world: World) -> None:
        top = """SELECT l.id, l.amount, t.t, m.boss FROM {large} l JOIN {totals} t ON l.region = t.region
            LEFT JOIN {more} m ON l.region = m.region"""
        d = Diamond(world, "runs", top)
        d.run(*d.all)
        first = {(1, 10, 15, "Ann"), (3, 7, 7, None)}
        assert (d.shown(), d.epochs()) == (first, (1, 1))
        world.sql(f"INSERT INTO {d.orders} VALUES (4, 'south', 100)")
        d.run(d.large)
        waits = d.run(d.top).refresh
        assert (waits.action, waits.status, d.shown()) == ("SKIP", "SKIPPED", first)
        assert d.epochs() == (1, 2)
        assert waits.reason.startswith(f"{d.orders} is at version 2 in {d.large.public} and at 1 in {d.totals.public};")

        world.sql(f"INSERT INTO {d.more} VALUES ('south', 'Bob')")
        went_on = d.run(d.top).refresh
        assert (went_on.action, d.shown()) == ("DIFFERENTIAL", {(1, 10, 15, "Ann"), (3, 7, 7, "Bob")})
        assert went_on.reason.find("what is read is an older state, on which its branches agree") > 0

        world.sql(f"DELETE FROM {d.orders} WHERE id = 2")
        d.run(d.totals)
        assert d.run(d.top).refresh.action == "SKIP", "one is at the newest, the other one between"
        d.run(d.large)  # none of its rows changed: it is right for the newest state, too
        assert d.run(d.top).refresh.action == "DIFFERENTIAL"
        assert d.shown() == {(1, 10, 10, "Ann"), (3, 7, 107, "Bob"), (4, 100, 107, "Bob")}

        world.sql(f"UPDATE {d.orders} SET amount = amount + 1")
        assert [each.refresh.action for each in world.run(*d.all)] == ["DIFFERENTIAL"] * 3
        d.require_right(*d.all)
        assert d.epochs() == (4, 4)
        assert d.shown() == {(1, 11, 11, "Ann"), (3, 8, 109, "Bob"), (4, 101, 109, "Bob")}

    def test_a_table_read_directly_and_through_a_stream_table(self, world: World) -> None:
        top = """SELECT o.id, o.amount, t.t, m.boss FROM {orders} o JOIN {totals} t ON o.region = t.region
            LEFT JOIN {more} m ON o.region = m.region"""
        d = Diamond(world, "direct", top)
        d.run(*d.all)
        world.sql(f"DELETE FROM {d.orders} WHERE id = 1", f"OPTIMIZE {d.orders}")
        before = {(1, 10, 15, "Ann"), (2, 5, 15, "Ann"), (3, 7, 7, None)}
        assert (d.run(d.top).refresh.action, d.shown()) == ("SKIP", before)
        world.sql(f"INSERT INTO {d.more} VALUES ('south', 'Bob')")
        assert d.run(d.top).refresh.action == "DIFFERENTIAL"
        assert d.shown() == {(1, 10, 15, "Ann"), (2, 5, 15, "Ann"), (3, 7, 7, "Bob")}
        d.run(d.totals)
        assert (d.run(d.top).refresh.action, d.shown()) == ("DIFFERENTIAL", {(2, 5, 5, "Ann"), (3, 7, 7, "Bob")})
        world.sql(
            f"OPTIMIZE {d.orders}", f"ALTER TABLE {d.orders} SET TBLPROPERTIES ('note' = 'a version, and no row')"
        )
        assert d.run(d.top).refresh.action == "NO_DATA"
