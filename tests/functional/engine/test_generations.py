"""A stream table goes on from the storage that it has read to the one that its upstream has been loaded into since."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from engine_world import World, now

from dbt_trickle.run import recover
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.request import Request

pytestmark = pytest.mark.spark

QUERY = "SELECT region, amount, note FROM {t}"
ANEW = "by difference (it was loaded anew since)"


def right(world: World, *requests: Request) -> None:
    for request in requests:
        shown, due = world.rows(f"SELECT * FROM {request.public.sql}"), world.rows(request.query)
        assert shown == due, f"{request.name}: missing {due - shown}, surplus {shown - due}"


def told(outcome: Outcome) -> tuple[str, str]:
    return outcome.refresh.action, outcome.refresh.reason


def in_two_hours(world: World) -> Invocation:
    def clock() -> str:
        return (datetime.fromisoformat(now()) + timedelta(hours=2)).isoformat(timespec="milliseconds")

    return Invocation(world.invocation().invocation_id, world.settings, clock)


class Pair:
    """A table, a stream table over it, and one over that."""

    def __init__(self, world: World, name: str, reader: str = "SELECT region, amount FROM {up}", **config: str) -> None:
        self.world, self.t, self.name, self.config = world, world.relation(f"{name}_t").sql, name, config
        world.sql(
            f"CREATE TABLE {self.t} (region STRING, amount INT, note STRING) USING delta",
            f"INSERT INTO {self.t} VALUES ('north', 1, 'a'), ('north', 1, 'a'), ('south', NULL, 'b'), (NULL, 4, 'c')",
        )
        self.upstream = self.asked(QUERY)
        text = reader.format(up=self.upstream.public.sql)
        self.below = world.request(f"{name}_below", text, refresh_mode="differential")
        assert [each.refresh.action for each in world.run(self.upstream, self.below)] == ["FULL", "FULL"]

    def asked(self, query: str) -> Request:
        self.upstream = self.world.request(f"{self.name}_up", query.format(t=self.t), **self.config)
        return self.upstream

    def insert(self, values: str) -> None:
        self.world.sql(f"INSERT INTO {self.t} VALUES {values}")

    def generations(self) -> list[int]:
        found = recover.generations(self.world.looking, self.world.settings.change_schema, self.upstream.pgt_id)
        return sorted(found)


class TestGenerations:
    @pytest.mark.parametrize("expose", ["view", "table"])
    def test_the_query_upstream_is_altered(self, world: World, expose: str) -> None:
        """What was refreshed there and not read yet is neither lost nor there twice."""
        pair = Pair(world, f"altered_{expose}", expose=expose)
        pair.insert("('west', 7, 'd')")
        world.run(pair.upstream)
        pair.insert("('west', 8, 'd'), ('north', 1, 'a')")
        pair.asked(f"{QUERY} WHERE note <> 'b'")
        up, below = world.run(pair.upstream, pair.below)
        assert up.refresh.action == "ALTER"
        assert below.refresh.action == "DIFFERENTIAL"
        assert (ANEW if expose == "view" else "by difference") in below.refresh.reason
        assert (below.refresh.rows_inserted, below.refresh.rows_deleted) == (3, 1)
        right(world, pair.below)
        pair.insert("('east', 9, 'd')")
        assert [each.refresh.action for each in world.run(pair.upstream, pair.below)] == ["DIFFERENTIAL"] * 2
        right(world, pair.below)

    def test_a_column_that_is_not_read_goes(self, world: World) -> None:
        pair = Pair(world, "narrower")
        pair.asked("SELECT amount, region FROM {t}")
        up, below = world.run(pair.upstream, pair.below)
        assert up.refresh.action == "ALTER"
        assert told(below)[0] == "NO_DATA", told(below)[1]
        right(world, pair.below)

    def test_a_column_that_is_read_gets_another_type(self, world: World) -> None:
        pair = Pair(world, "retyped", "SELECT region, count(amount) AS n FROM {up} GROUP BY region")
        pair.asked("SELECT region, CAST(amount AS STRING) AS amount, note FROM {t}")
        action, reason = told(world.run(pair.upstream, pair.below)[1])
        assert (action, "column amount was int and is string" in reason) == ("REINITIALIZE", True), reason
        right(world, pair.below)

    def test_a_name_that_is_not_the_columns_own(self, world: World) -> None:
        """Stored by its place: at another one it is another column."""
        pair = Pair(world, "places")
        world.run(pair.asked("SELECT 1 AS one, region AS `a b`, note AS `c d` FROM {t}"))
        below = world.request("places_too", f"SELECT `a b` FROM {pair.upstream.public.sql}")
        world.run(below)
        due = {
            "SELECT 1 AS one, note AS `a b` FROM {t}": "DIFFERENTIAL",
            "SELECT 1 AS one, 2 AS two, region AS `a b` FROM {t}": "REINITIALIZE",
        }
        for query, action in due.items():
            world.run(pair.asked(query))
            assert told(world.run(below)[0])[0] == action
            right(world, below)

    def test_upstream_is_loaded_anew(self, world: World) -> None:
        pair = Pair(world, "reloaded")
        world.sql(f"DELETE FROM {world.states()[pair.upstream.pgt_id].storage.sql} WHERE region = 'south'")
        up, below = world.run(pair.upstream, pair.below)
        assert up.refresh.action == "REINITIALIZE"
        assert (told(below)[0], "none of its rows changed" in told(below)[1]) == ("NO_DATA", True)
        right(world, pair.below)

    def test_a_generation_is_kept_for_who_goes_on_from_it(self, world: World) -> None:
        pair = Pair(world, "kept")
        for number in (1, 2):
            pair.asked(f"{QUERY} WHERE coalesce(amount, 9) > {number}")
            world.run(pair.upstream)
        assert world.run(pair.upstream, run=in_two_hours(world))[0].refresh.action == "NO_DATA"
        assert pair.generations() == [1, 3], "the second one had no reader"
        action, reason = told(world.run(pair.upstream, pair.below, run=in_two_hours(world))[1])
        assert (action, ANEW in reason) == ("DIFFERENTIAL", True), reason
        right(world, pair.below)
        world.run(pair.upstream, run=in_two_hours(world))
        assert pair.generations() == [3]

    def test_a_public_table_becomes_a_view_and_a_table_again(self, world: World) -> None:
        """The table was the storage that was read, and goes with its name."""
        pair = Pair(world, "turned", expose="table")
        reader = replace(pair.below, config=replace(pair.below.config, refresh_mode="auto", max_change_ratio=1.0))
        told = {"view": "the storage that was read is gone", "table": ""}
        for expose, why in told.items():
            pair.config["expose"] = expose
            pair.insert(f"('{expose}', 5, 'd')")
            up, below = world.run(pair.asked(QUERY), reader)
            assert up.refresh.action == "ALTER"
            assert (below.refresh.action == "FULL", why in below.refresh.reason) == (bool(why), True), below.refresh
            right(world, pair.upstream, reader)

    def test_an_old_generation_that_is_gone(self, world: World) -> None:
        pair = Pair(world, "gone")
        first = world.states()[pair.upstream.pgt_id].storage
        pair.asked(f"{QUERY} WHERE note <> 'b'")
        world.run(pair.upstream)
        world.sql(f"DROP TABLE {first.sql}")
        code, what = world.attempt([pair.below])[0]
        assert (code, "the storage that was read is gone" in what) == ("TRK-203", True), what
        auto = replace(pair.below, config=replace(pair.below.config, refresh_mode="auto"))
        assert world.refreshed(auto) == "FULL"
        right(world, pair.below)
