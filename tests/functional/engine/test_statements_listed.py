"""Each statement that docs/operations.md lists for the account is sent, and no other one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from engine_world import World
from listening import CATALOG, CHANGES, PUBLIC, SOURCES, Listening, listed

from dbt_trickle.apply import few
from dbt_trickle.catalog import store, tables
from dbt_trickle.config import SourceSettings
from dbt_trickle.names import Relation
from dbt_trickle.plan.steps import Docs
from dbt_trickle.run import leave, maintain, retire
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

pytestmark = pytest.mark.spark

DOCS = Docs("what was spent", (("total", "in a region"),))
TOTALS = "SELECT region, sum(amount) AS total FROM {} GROUP BY region"


class TestStatements:
    def test_all_of_them_are_listed(
        self, connect: Callable[[], Session], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        world, session = World.create(connect), Listening(connect())
        orders = Relation.of(f"{world.schema}_raw", "orders")
        world.sql(
            f"CREATE SCHEMA {orders.schema}",
            f"CREATE TABLE {orders.sql} USING delta AS SELECT 'north' AS region, 1 AS amount",
        )

        def asked(name: str, **config: Any) -> Request:
            feed = {orders.key: SourceSettings(enable_change_feed=True)}
            config = {"refresh_mode": "differential", "docs": DOCS, "sources": feed, **config}
            return world.request(name, TOTALS.format(orders.sql), **config)

        def run(action: str, *requests: Request) -> None:
            outcomes = world.run(*requests, session=session)
            assert [outcome.refresh.action for outcome in outcomes] == [action] * len(requests), outcomes

        view, table = asked("shown"), asked("exposed", expose="table")
        placed = [asked(f"placed_{expose}", expose=expose, location_root=str(tmp_path)) for expose in ("view", "table")]
        staged = asked("staged", change_buffer="table")
        run("FULL", view, table, *placed, staged)
        for most in (few.MOST, 0):
            world.sql(f"INSERT INTO {orders.sql} VALUES ('north', 2)")
            with monkeypatch.context() as patched:
                patched.setattr(few, "MOST", most)
                run("DIFFERENTIAL", view, table)
        run("FULL", replace(view, full_refresh=True), replace(table, full_refresh=True))
        # Now its changes are shown, and the generation's behind an ALTER.
        for name, read in (("reader", view), ("reader_of_staged", staged)):
            run("FULL", world.request(name, f"SELECT count(*) AS n FROM {read.public.sql}"))
        with monkeypatch.context() as patched:  # a run tidies up one table
            patched.setattr(maintain, "EVERY", 2)
            for request in (view, table) * 3:
                run("NO_DATA", request)
        old = store.Entry(tables.META, "schema_version", "1")
        world.sql(store.append(world.settings.catalog_schema, "a test", [old]))
        others = [replace(each, query=each.query.replace("sum", "max")) for each in (view, table)]
        run("ALTER", *others)
        with monkeypatch.context() as patched:
            patched.setattr(retire, "GRACE", timedelta())
            run("NO_DATA", others[0])
        run("ALTER", asked("shown", expose="table"), asked("exposed"))
        run("DIFFERENTIAL", staged)
        for state in world.states().values():
            leave.drop(session, world.settings, state, [], False, {})

        schemas = {
            orders.schema: SOURCES,
            world.schema: PUBLIC,
            world.settings.change_schema: CHANGES,
            world.settings.catalog_schema: CATALOG,
        }
        assert session.written(schemas) == listed()
