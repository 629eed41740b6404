"""A stream table is its query: after each of many changes, as multisets, and by the action that was due."""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import turns
import yaml
from engine_world import World
from histories import FIRST, SEED, change

from dbt_trickle.apply import few

QUERIES: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_name("queries.yml").read_text("utf-8"))
STEPS = int(os.environ.get("TRICKLE_ORACLE_STEPS", "2"))
# Where there are few steps, half of the queries have their turn, and each goes through one of them.
APART = 1
if STEPS <= 2:
    APART, QUERIES = 2, dict(turns.mine(QUERIES.items(), 2))

pytestmark = pytest.mark.spark


# How the same is said of few changed rows.
OF_FEW = {
    "rows merged by what they hold": "few rows replaced by what they hold",
    "groups brought forward from their stored state": "few groups brought forward from their stored state",
    "touched groups computed anew": "few touched groups computed anew",
    "touched partitions computed anew": "few touched partitions computed anew",
    "touched partitions replaced": "few touched partitions computed anew",
}


class TestOracle:
    def test_every_query_after_every_change(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        rng = random.Random(SEED)
        tables = {name: f"{world.schema}.{name}" for name in ("orders", "customers")}
        for statement in SEED_STATEMENTS:
            world.sql(statement.format(**tables))
        queries = {name: spec["sql"].format(**tables) for name, spec in QUERIES.items()}
        requests = [world.request(name, text, refresh_mode="differential") for name, text in queries.items()]
        for outcome in world.run(*requests):
            assert outcome.refresh.action == "FULL"
        before = {name: content(world, f"SELECT * FROM {world.schema}.{name}") for name in queries}
        most = few.MOST
        for step in range(STEPS):
            # So that each way to bring a change in is met, and goes on from what the other one has left.
            monkeypatch.setattr(few, "MOST", 0 if step % 2 else most)
            texts = FIRST[step] if step < len(FIRST) else change(rng)
            done = [text.format(**tables) for text in texts]
            world.sql(*done)
            mine = requests[step % APART :: APART]
            for request, outcome in zip(mine, world.run(*mine), strict=True):
                name = request.public.identifier
                now = content(world, queries[name])
                shown = content(world, f"SELECT * FROM {request.public.sql}")
                about = f"step {step}, {name}: {done}\n{outcome.refresh.reason}\n" + "\n".join(outcome.statements)
                assert shown == now, f"{about}\nmissing {now - shown}\nsurplus {shown - now}"
                moved = (outcome.refresh.rows_inserted, outcome.refresh.rows_deleted)
                due = ((now - before[name]).total(), (before[name] - now).total())
                before[name] = now
                if QUERIES[name].get("counts") == "state":
                    assert all(mine >= theirs for mine, theirs in zip(moved, due, strict=True)), about
                    continue
                assert moved == due, about
                assert outcome.refresh.action == ("DIFFERENTIAL" if any(due) else "NO_DATA"), about
                if any(due) and not all("insert" in text for text in done):
                    how = QUERIES[name]["how"]
                    assert (how if step % 2 else OF_FEW.get(how, how)) in outcome.refresh.reason, about


SEED_STATEMENTS = (
    """create table {orders} (id int, customer int, region string, amount bigint, price decimal(12,2), note string,
       weight double)""",
    "create table {customers} (customer int, name string, tier string)",
    "insert into {customers} values (1, 'ann', 'a'), (2, 'bob', 'b'), (2, 'bob', 'b'), (null, 'nobody', null)",
    """insert into {orders} values (1, 1, 'north', 10, 1.50, 'x', 0D),
       (2, 2, 'north', null, 2.00, null, double('-0.0')), (2, 2, 'north', null, 2.00, null, 0D),
       (3, 3, null, 7, null, 'y', double('NaN')), (4, 1, 'south', 3, -1.25, 'z', 1e16D),
       (4, 1, 'south', 3, -1.25, 'z', 1e16D)""",
)


def content(world: World, query: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(map(comparable, row.values())) for row in world.looking.query(query))


def comparable(value: Any) -> Any:
    """NaN is itself to Spark, unlike to Python."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value
