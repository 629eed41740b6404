"""A stream table's own changes: recorded and shown as long as another stream table reads it.

Those of `change_buffer: table` are in test_change_tables.py.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from engine_world import World

from dbt_trickle import names
from dbt_trickle.catalog import store
from dbt_trickle.run import leave
from dbt_trickle.run.request import Request

pytestmark = pytest.mark.spark


class TestBuffers:
    def chain(self, world: World, name: str, **config: Any) -> tuple[str, Request, Request]:
        t = world.relation(f"{name}_t").sql
        world.sql(
            f"CREATE TABLE {t} (region STRING, amount INT) USING delta",
            f"INSERT INTO {t} VALUES ('north', 1), ('north', 2), ('south', 3), ('south', 4)",
        )
        # A name that Delta cannot store, but where the storage itself is shown.
        called = "region" if config.get("expose") == "table" else "`a region`"
        query = f"SELECT region AS {called}, sum(amount) AS total FROM {t} GROUP BY region"
        upstream = world.request(f"{name}_up", query, max_change_ratio=1.0, **config)
        below = world.request(
            f"{name}_below", f"SELECT total FROM {upstream.public.sql}", cdc_mode="feed", refresh_mode="differential"
        )
        world.run(upstream, below)
        return t, upstream, below

    def shown(self, world: World, upstream: Request) -> Counter[tuple[Any, ...]]:
        """Net: by batch, and whether they came or went."""
        view = names.changes_view(world.settings.change_schema, upstream.pgt_id).sql
        found: Counter[tuple[Any, ...]] = Counter()
        for row in world.looking.query(f"SELECT * FROM {view}"):
            _, batch, action, _, *rest = row.values()
            found[(batch, *rest)] += 1 if action == "I" else -1
        return Counter({row: count for row, count in found.items() if count})

    def feed(self, world: World, upstream: Request) -> str | None:
        storage = world.states()[upstream.pgt_id].storage.sql
        rows = world.looking.query(f"SHOW TBLPROPERTIES {storage}")
        return {row["key"]: row["value"] for row in rows}.get("delta.enableChangeDataFeed")

    @pytest.mark.parametrize("expose", ["view", "table"])
    def test_from_the_first_reader_to_the_last(self, world: World, expose: str) -> None:
        t, upstream, below = self.chain(world, f"life_{expose}", expose=expose)
        assert self.feed(world, upstream) == "true", "also before it moves"
        assert self.shown(world, upstream) == Counter()
        world.sql(f"UPDATE {t} SET amount = 9 WHERE amount = 1")
        up, down = world.run(upstream, below)
        assert (up.refresh.action, down.refresh.action) == ("DIFFERENTIAL", "DIFFERENTIAL")
        assert "by feed (cdc_mode is feed)" in down.refresh.reason
        changes = {(2, "north", 3): -1, (2, "north", 11): 1}
        assert self.shown(world, upstream) == changes
        # Beside the stream table itself: Spark must not take one for the other.
        view = names.changes_view(world.settings.change_schema, upstream.pgt_id).sql
        both = f"SELECT 'all', count(*) FROM {upstream.public.sql} UNION ALL SELECT 'new', count(*) FROM {view}"
        counted = Counter({("all", 2): 1, ("new", world.looking.query(f"SELECT count(*) AS n FROM {view}")[0]["n"]): 1})
        assert world.rows(both) == counted
        # Another generation is shown instead, and recorded from its beginning.
        altered = replace(upstream, query=f"{upstream.query} HAVING sum(amount) > 0")
        auto = replace(below, config=replace(below.config, cdc_mode="auto"))
        assert [each.refresh.action for each in world.run(altered, auto)] == ["ALTER", "NO_DATA"]
        world.sql(f"DELETE FROM {t} WHERE region = 'south'")
        world.run(altered, auto)
        assert self.shown(world, upstream)[(4, "south", 7)] == -1
        tables = world.states()
        session = world.connect()
        leave.drop(session, world.settings, tables[below.pgt_id], list(tables.values()), cascade=False, reads={})
        for _ in range(2):
            assert self.feed(world, upstream) in (None, "false")
            pattern = names.literal(f"changes_pgt_{upstream.pgt_id}")
            assert not world.looking.query(f"SHOW VIEWS IN {world.settings.change_schema} LIKE {pattern}")
            assert world.refreshed(altered) == "NO_DATA"
        assert world.states()[upstream.pgt_id].buffer is None
        # A run of a reader alone, before what it reads has told the catalog anything, and after.
        for _ in range(2):
            world.run(auto)
            assert self.feed(world, upstream) == "true"
            tables = world.states()
            leave.drop(session, world.settings, tables[below.pgt_id], list(tables.values()), cascade=False, reads={})
            assert self.feed(world, upstream) in (None, "false")
        world.run(auto)
        world.sql(f"INSERT INTO {t} VALUES ('west', 8)")
        world.run(altered, auto)
        assert self.shown(world, upstream)[(5, "west", 8)] == 1

    def test_a_catalog_of_before_there_were_any(self, world: World) -> None:
        """The state knows of no buffer, and the storage may have one or not."""
        t, upstream, below = self.chain(world, "upgrade")
        state = world.states()[upstream.pgt_id]
        view = names.changes_view(world.settings.change_schema, upstream.pgt_id).sql
        for statements in ((), (f"DROP VIEW {view}",)):
            world.sql(*statements)
            entries = [store.stream_table(replace(state, buffer=None))]
            world.sql(store.append(world.settings.catalog_schema, "before", entries))
            assert world.refreshed(upstream) == "NO_DATA"
            assert world.states()[upstream.pgt_id].buffer is not None
            assert self.shown(world, upstream) == Counter()
        world.sql(f"UPDATE {t} SET amount = 9 WHERE amount = 1")
        assert [each.refresh.action for each in world.run(upstream, below)] == ["DIFFERENTIAL"] * 2

    def test_dropping_the_stream_table_drops_it(self, world: World) -> None:
        _, upstream, _ = self.chain(world, "dropped")
        tables = world.states()
        session = world.connect()
        leave.drop(session, world.settings, tables[upstream.pgt_id], list(tables.values()), cascade=True, reads={})
        pattern = names.literal(f"changes_pgt_{upstream.pgt_id}")
        assert not world.looking.query(f"SHOW VIEWS IN {world.settings.change_schema} LIKE {pattern}")
