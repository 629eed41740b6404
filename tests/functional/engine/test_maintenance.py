"""A run a minute for years: what is kept of it stays small, and nobody notices."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from engine_world import World

from dbt.adapters.trickle.statements import writes
from dbt_trickle.catalog import compaction, store, tables
from dbt_trickle.config import ProjectSettings
from dbt_trickle.names import Relation, literal
from dbt_trickle.run import maintain
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

pytestmark = pytest.mark.spark

SETTINGS = ProjectSettings(catalog_schema="kept_catalog", change_schema="kept_changes")
JOURNAL = tables.journal(SETTINGS.catalog_schema).sql
EVERY = 2
RUNS = 6


class Died(BaseException):
    """No handler may see it."""


class Dying:
    """Dies before it executes another statement that writes, and stays dead."""

    def __init__(self, inner: Session, life: int) -> None:
        self.inner, self.life = inner, life

    def execute(self, sql: str) -> None:
        self._live(sql)
        self.inner.execute(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self._live(sql)
        return self.inner.query(sql)

    def _live(self, sql: str) -> None:
        if self.life <= 0 and writes(sql):
            raise Died(sql)
        self.life -= writes(sql)


class TestMaintenance:
    @pytest.fixture(scope="class")
    def world(self, connect: Callable[[], Session]) -> World:
        session = connect()
        world = World.create(connect, SETTINGS, lambda: session)
        world.sql(f"CREATE TABLE {world.schema}.sales (k INT, x INT) USING delta")
        return world

    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(maintain, "EVERY", EVERY)

    @pytest.fixture
    def requests(self, world: World) -> tuple[Request, Request]:
        totals = f"SELECT k, sum(x) AS total FROM {world.schema}.sales GROUP BY k"
        above = f"SELECT k, total FROM {world.schema}.totals"
        return (
            world.request("totals", totals, refresh_mode="differential"),
            world.request("above", above, refresh_mode="differential"),
        )

    def test_the_journal_and_the_storages_stay_small(self, world: World, requests: tuple[Request, Request]) -> None:
        actions, files = [], []
        for n in range(RUNS):
            world.sql(f"INSERT INTO {world.schema}.sales VALUES ({n % 4}, {n})")
            actions += [outcome.refresh.action for outcome in world.run(*requests)]
            files.append(self.files(world, JOURNAL))
        assert actions == ["FULL", "FULL", *["DIFFERENTIAL"] * (2 * (RUNS - 1))]
        for request in requests:
            assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(request.query)

        # A run adds seven files, so without it they would be 42.
        print("files of the journal:", files)
        assert max(files) <= 7 * EVERY + 14, files
        assert {"MERGE", "OPTIMIZE", "VACUUM END"} <= self.operations(world, JOURNAL)
        for state in world.states().values():
            assert {"OPTIMIZE", "VACUUM END"} <= self.operations(world, state.storage.sql)
            assert self.files(world, state.storage.sql) < RUNS
        # All of the history is there, once, and nobody was taken for a foreign writer.
        assert len(world.history()) == 2 * RUNS
        assert {row["status"] for row in world.history()} == {"COMPLETED"}
        events = Relation.of(SETTINGS.catalog_schema, "pgt_events").sql
        assert set(world.rows(f"SELECT event FROM {events}")) == {("refresh_completed",), ("cdc_transition_complete",)}
        total = world.rows(f"SELECT total_refreshes FROM {SETTINGS.catalog_schema}.pg_stat_stream_tables")
        assert total == {(RUNS,): 2}

    def test_the_views_show_what_they_showed(self, world: World) -> None:
        world.sql(f"INSERT INTO {JOURNAL} VALUES {', '.join(self.entries())}")
        before, rows = self.shown(world), self.count(world)
        world.sql(compaction.compact(SETTINGS.catalog_schema, 90))
        assert self.shown(world) == before
        assert self.count(world) < rows - 100
        old = f"SELECT count(*) FROM {JOURNAL} WHERE kind IN ('history', 'event') AND at < current_date() - 90"
        # The last refresh of each of two stream tables, and one that nobody has closed.
        assert world.rows(old) == {(3,): 1}

    @pytest.mark.parametrize("life", range(1, 7))
    def test_a_run_dies_while_it_compacts(self, world: World, requests: tuple[Request, Request], life: int) -> None:
        ended = [(e("i"), e("j"), e("k")) for e in (lambda i: store.opened(i, {}), store.closed)]
        world.sql(store.append(SETTINGS.catalog_schema, "a test", [entry for three in ended for entry in three]))
        before = world.states()
        try:
            world.run(requests[0], session=Dying(world.connect(), life))
        except Died:
            assert life < 6
        else:
            assert life == 6, "opened, closed, compacted, optimized, vacuumed and noted"
        assert world.refreshed(requests[0]) == "NO_DATA"
        assert world.states().keys() == before.keys()
        own = [row for row in world.history() if row["pgt_id"] == requests[0].pgt_id]
        assert "RUNNING" not in {row["status"] for row in own}
        query = store.read_query(SETTINGS.catalog_schema)
        assert not store.parse(world.looking.query(query)).unclosed

    def entries(self) -> list[str]:
        """Of a year, in no order: states of three keys, ended runs, refreshes of two stream tables, events."""
        chance = random.Random(7)
        table = {"pgt_schema": "s", "pgt_name": "t", "dbt_unique_id": "m"}
        source = {"source": "s", "source_table_id": "", "source_type": "TABLE"}
        found: list[tuple[str, str, int, Any]] = [("history", "7 dead", 300, {"pgt_id": 7, "status": "RUNNING"})]
        for n in range(100):
            days, number = chance.randrange(91, 365), chance.choice((7, 8))
            key = f"{number} {chance.randrange(40)}"
            found += [
                ("stream_table", chance.choice("123"), days, {**table, "pgt_id": n}),
                ("dependencies", chance.choice("123"), days, {"rows": [{**source, "pgt_id": n}]}),
                ("meta", chance.choice("abc"), days, {"n": n}),
                ("invocation", f"r{n}", days, {"state": "CLOSED"}),
                ("history", key, days, {"pgt_id": number, "status": "COMPLETED", "rows_inserted": n}),
                ("event", f"{number}/{n}", days, {"event": "e", "pgt_id": number}),
            ]
        return [
            f"({literal(kind)}, {literal(key)}, current_timestamp() - INTERVAL {days} DAYS, {n}, 'a test', "
            f"{literal(json.dumps(payload))})"
            for n, (kind, key, days, payload) in enumerate(found)
        ]

    def shown(self, world: World) -> list[Any]:
        """All of the views but old history and events, and what a run reads."""
        at = SETTINGS.catalog_schema
        views = [
            f"SELECT to_json(struct(*)) FROM {at}.pgt_stream_tables",
            f"SELECT to_json(struct(*)) FROM {at}.pgt_dependencies",
            f"SELECT * FROM {at}.pgt_meta",
            f"SELECT refresh_id, status, action FROM {at}.pgt_refresh_history WHERE pgt_id NOT IN (7, 8)",
            f"SELECT * FROM {at}.pgt_events WHERE pgt_id NOT IN (7, 8)",
        ]
        return [world.rows(view) for view in views]

    def files(self, world: World, table: str) -> int:
        return int(world.looking.query(f"DESCRIBE DETAIL {table}")[0]["numFiles"])

    def operations(self, world: World, table: str) -> set[str]:
        return {str(row["operation"]) for row in world.looking.query(f"DESCRIBE HISTORY {table}")}

    def count(self, world: World) -> int:
        return int(world.looking.query(f"SELECT count(*) AS n FROM {JOURNAL}")[0]["n"])
