"""Stream tables over stream tables: each is its query, at every level, whatever becomes of those above it."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from engine_world import World

from dbt_trickle.errors import CommandError
from dbt_trickle.run import leave, verify
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.request import Request

pytestmark = pytest.mark.spark

ROUNDS = int(os.environ.get("TRICKLE_CHAIN_ROUNDS", "4"))
SEED = 7


def right(world: World, requests: Sequence[Request], about: str) -> None:
    for request in requests:
        shown, due = world.rows(f"SELECT * FROM {request.public.sql}"), world.rows(request.query)
        assert shown == due, f"{about}: {request.name}: missing {due - shown}, surplus {shown - due}"


def verified(world: World, requests: Sequence[Request], about: str) -> None:
    states, session = world.states(), world.looking
    for request in requests:
        verdict = verify.verify(session, Frozen(session), states[request.pgt_id])
        assert verdict.outcome == verify.OK, f"{about}: {request.name}: {verdict}"


def actions(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.refresh.action for outcome in outcomes]


def orders(world: World, name: str) -> str:
    t = world.relation(name).sql
    world.sql(
        f"CREATE TABLE {t} (id INT, customer INT, region STRING, amount BIGINT) USING delta "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true)",
        f"INSERT INTO {t} VALUES (1, 1, 'north', 10), (2, 2, 'north', NULL), (2, 2, 'north', NULL), "
        "(3, 3, NULL, 7), (4, 1, 'south', 3)",
    )
    return t


def change(rng: random.Random, t: str) -> str:
    number, amount = rng.randint(1, 7), rng.choice(["NULL", str(rng.randint(-3, 12))])
    region = rng.choice(["'north'", "'south'", "'east'", "NULL"])
    return rng.choice(
        [
            f"INSERT INTO {t} VALUES ({number}, {rng.randint(1, 3)}, {region}, {amount}), ({number}, 1, 'west', 1)",
            f"DELETE FROM {t} WHERE id = {number}",
            f"UPDATE {t} SET amount = {amount}, region = {region} WHERE id <= {number}",
            f"UPDATE {t} SET customer = {rng.randint(1, 3)} WHERE id = {number}",
        ]
    )


class TestChain:
    def test_three_levels_over_changing_tables(self, world: World) -> None:
        """Differential at all levels, also below a full refresh, an ALTER and a REINITIALIZE of the middle."""
        rng = random.Random(SEED)
        t, c = orders(world, "levels"), world.relation("levels_customers").sql
        world.sql(f"CREATE TABLE {c} (customer INT, tier STRING) USING delta")
        world.sql(f"INSERT INTO {c} VALUES (1, 'a'), (2, 'b'), (3, NULL)")

        def asked(name: str, query: str) -> Request:
            return world.request(f"levels_{name}", query, refresh_mode="differential")

        joined = f"SELECT o.id, o.region, c.tier, o.amount FROM {t} AS o JOIN {c} AS c ON c.customer = o.customer"
        low = asked("low", joined)
        sums = f"SELECT region, tier, sum(amount) AS total, count(*) AS n FROM {low.public.sql} GROUP BY region, tier"
        middle = asked("middle", sums)
        top = asked("top", f"SELECT region, max(total) AS best, sum(n) AS n FROM {middle.public.sql} GROUP BY region")
        assert actions(world.run(low, middle, top)) == ["FULL"] * 3
        for number in range(1, ROUNDS + 1):
            done = [change(rng, t) for _ in range(rng.randint(1, 3))]
            if rng.random() < 0.3:
                done.append(f"UPDATE {c} SET tier = {rng.choice(['NULL', repr('a'), repr('c')])} WHERE customer = 2")
            world.sql(*done)
            due, now = "DIFFERENTIAL", middle
            match number % 4:
                case 2:
                    due, now = "FULL", replace(middle, full_refresh=True)
                case 3:
                    middle = now = asked("middle", f"{sums} HAVING count(*) > 0")
                    due = "ALTER"
                case 0:
                    world.sql(f"DELETE FROM {world.states()[middle.pgt_id].storage.sql} WHERE n > 0")
                    due, now = "REINITIALIZE", replace(middle, config=replace(middle.config, refresh_mode="auto"))
                case _:
                    pass
            found = world.run(low, now, top)
            about = f"round {number}: {done}: {[outcome.refresh.reason for outcome in found]}"
            first, second, third = actions(found)
            assert {first, third} <= {"DIFFERENTIAL", "NO_DATA"}, about
            assert second == due or (due == "DIFFERENTIAL" and second == "NO_DATA"), about
            right(world, (low, middle, top), about)
        verified(world, (low, middle, top), "at the end")

    def test_a_chain_of_ten(self, world: World) -> None:
        t = orders(world, "ten")
        requests: list[Request] = []
        for number in range(10):
            read = requests[-1].public.sql if requests else t
            text = f"SELECT id, region, amount + 1 AS amount FROM {read} WHERE id > 0"
            requests.append(world.request(f"ten_{number}", text, refresh_mode="differential"))
        world.run(*requests)
        world.sql(f"UPDATE {t} SET amount = 5 WHERE id = 3", f"DELETE FROM {t} WHERE id = 2")
        assert actions(world.run(*requests)) == ["DIFFERENTIAL"] * 10
        right(world, requests[-1:], "after ten")
        assert actions(world.run(*requests)) == ["NO_DATA"] * 10

    def test_fan_out_fan_in_and_different_speeds(self, world: World) -> None:
        """What reads a table and stream tables over it reads all of them at one moment (run/together.py)."""
        rng, t = random.Random(SEED), orders(world, "fan")
        up = world.request(
            "fan_up", f"SELECT id, region, amount FROM {t} WHERE amount > 0", refresh_mode="differential"
        )

        def asked(name: str, query: str) -> Request:
            return world.request(f"fan_{name}", query, refresh_mode="differential")

        fast = asked("fast", f"SELECT region, sum(amount) AS total FROM {up.public.sql} GROUP BY region")
        slow = asked("slow", f"SELECT region, count(*) AS n FROM {up.public.sql} GROUP BY region")
        both = asked(
            "both",
            f"SELECT f.region, f.total, s.n, o.id FROM {fast.public.sql} AS f "
            f"JOIN {slow.public.sql} AS s ON s.region <=> f.region JOIN {t} AS o ON o.region <=> f.region",
        )
        world.run(up, fast, slow, both)
        for number in range(max(1, ROUNDS // 4)):
            world.sql(change(rng, t))
            world.run(up, fast)
            right(world, (up, fast), f"round {number}, the fast one alone")
            world.sql(change(rng, t))
            found = world.run(up, fast, slow, both)
            assert set(actions(found)) <= {"DIFFERENTIAL", "NO_DATA"}, [each.refresh.reason for each in found]
            right(world, (up, fast, slow, both), f"round {number}")
        verified(world, (up, fast, slow, both), "at the end")

    def test_a_name_that_turns_from_one_kind_into_another(self, world: World) -> None:
        """A table, a stream table, a view, a table again: its reader's content is that of each."""
        t, name = orders(world, "kinds"), world.relation("kinds_middle")
        below = world.request("kinds_below", f"SELECT region, amount FROM {name.sql}", max_change_ratio=1.0)
        middle = world.request("kinds_middle", f"SELECT region, amount FROM {t} WHERE id < 4")

        def turned(*statements: str) -> None:
            world.sql(*statements)
            for _ in range(2):
                outcome = world.run(below)[0]
                right(world, (below,), f"{statements}: {outcome.refresh.reason}")
                world.sql(f"INSERT INTO {t} VALUES (1, 1, 'east', 2)")

        turned(f"CREATE TABLE {name.sql} USING delta AS SELECT region, amount FROM {t}")
        world.sql(f"DROP TABLE {name.sql}")
        world.run(middle)
        for _ in range(2):
            world.run(middle, below)
            right(world, (middle, below), "a stream table")
            world.sql(f"UPDATE {t} SET amount = 8 WHERE id = 1")
        tables = world.states()
        session = world.connect()
        with pytest.raises(CommandError, match="TRK-501"):
            leave.drop(session, world.settings, tables[middle.pgt_id], list(tables.values()), cascade=False, reads={})
        run = world.invocation()
        run.load(session)
        world.sql(f"DROP VIEW {name.sql}", f"CREATE VIEW {name.sql} AS SELECT region, amount FROM {t} WHERE id > 1")
        leave.after_other_materialization(session, run, name, built=True)
        run.close(session)
        turned()
        turned(f"DROP VIEW {name.sql}", f"CREATE TABLE {name.sql} USING delta AS SELECT region, amount FROM {t}")

    def test_the_middle_is_suspended_and_dropped_by_hand(self, world: World) -> None:
        t = orders(world, "broken")
        middle = world.request("broken_middle", f"SELECT region, amount FROM {t}", max_change_ratio=1.0)
        below = world.request("broken_below", f"SELECT region FROM {middle.public.sql}", max_change_ratio=1.0)
        last = world.request("broken_last", f"SELECT region FROM {below.public.sql}", max_change_ratio=1.0)
        world.run(middle, below, last)
        world.sql(f"INSERT INTO {t} VALUES (9, 1, 'east', 1)")
        still = world.request("broken_middle", middle.query, status="suspended")
        for outcome in world.run(still, below, last)[1:]:
            assert outcome.refresh.action == "NO_DATA"
            assert f"{middle.name}, which it reads, is suspended" in outcome.refresh.reason
        before = world.rows(f"SELECT * FROM {below.public.sql}")
        world.sql(f"DROP TABLE {world.states()[middle.pgt_id].storage.sql}")
        code, what = world.attempt([below])[0]
        assert (code, middle.name in what) == ("TRK-202", True), what
        assert world.rows(f"SELECT * FROM {below.public.sql}") == before, "the old content serves"
        found = world.run(world.request("broken_middle", middle.query, status="active"), below, last)
        assert actions(found)[:2] == ["REINITIALIZE", "FULL"], [each.refresh.reason for each in found]
        right(world, (middle, below, last), "back again")
