"""What the account of a service has to be allowed: sources are read and nothing else, whatever is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from engine_world import World
from listening import CATALOG, CHANGES, PUBLIC, SOURCES, Listening, listed

from dbt.adapters.trickle.statements import writes
from dbt_trickle.config import SourceSettings
from dbt_trickle.names import Relation
from dbt_trickle.run import leave, verify
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

pytestmark = pytest.mark.thrift


def files(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Of its files nothing may change. Root may write all the same, so they are looked at as well."""
    folders, before = [folder, *(path for path in folder.rglob("*") if path.is_dir())], files(folder)
    for each in folders:
        each.chmod(0o555)
    try:
        yield
        assert files(folder) == before
    finally:
        for each in folders:
            each.chmod(0o755)


class TestPrivileges:
    def test_sources_are_only_read(self, world: World, tmp_path: Path) -> None:
        raw = f"{world.schema}_raw"
        columns, feed = "(id INT, region STRING, amount INT)", "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
        world.sql(
            f"CREATE SCHEMA {raw}",
            *(
                f"CREATE TABLE {raw}.{name} {columns} USING {kind} LOCATION '{tmp_path / name}' {more}"
                for name, kind, more in (("fed", "delta", feed), ("logged", "delta", ""), ("sheet", "parquet", ""))
            ),
            *(f"INSERT INTO {raw}.{name} VALUES (1, 'n', 1), (2, 's', 2)" for name in ("fed", "logged", "sheet")),
            f"CREATE VIEW {raw}.seen AS SELECT * FROM {raw}.logged WHERE id > 0",
        )
        session = Listening(world.connect())
        requests = self.requests(world, raw)
        with read_only(tmp_path):
            assert self.run(world, session, requests) == ["FULL"] * 4
            assert self.run(world, session, requests[:3]) == ["NO_DATA"] * 3
        for name in ("fed", "logged"):
            world.sql(
                f"INSERT INTO {raw}.{name} VALUES (3, 'n', 3)", f"UPDATE {raw}.{name} SET amount = 5 WHERE id = 1"
            )
        with read_only(tmp_path):
            assert self.run(world, session, requests) == ["DIFFERENTIAL"] * 3 + ["FULL"]
            altered = [replace(requests[0], query=f"SELECT id, amount FROM {raw}.fed WHERE amount > 1"), *requests[1:]]
            assert self.run(world, session, altered) == ["ALTER", "NO_DATA", "NO_DATA", "FULL"]
            again = [replace(request, full_refresh=True) for request in altered]
            assert self.run(world, session, again) == ["FULL"] * 4
            states = world.states()
            for request in requests[:3]:
                verdict = verify.verify(session, Frozen(session), states[request.pgt_id])
                assert (verdict.outcome, verdict.reason) == (verify.OK, "")
            for request in requests:
                leave.drop(session, world.settings, states[request.pgt_id], [], False, {})
        written = self.written(world, session, raw)
        assert {(PUBLIC, "CREATE VIEW"), (CHANGES, "INSERT INTO"), (CATALOG, "INSERT INTO")} <= written
        assert written <= listed()  # the whole list is gone through in functional/engine/test_statements_listed.py
        assert SOURCES not in {schema for schema, _ in written}

    def written(self, world: World, session: Listening, raw: str) -> set[tuple[str, str]]:
        own = {world.settings.change_schema: CHANGES, world.settings.catalog_schema: CATALOG}
        return session.written({**own, world.schema: PUBLIC, raw: SOURCES})

    def requests(self, world: World, raw: str) -> list[Request]:
        return [
            world.request("rows", f"SELECT id, amount FROM {raw}.fed WHERE amount > 0", refresh_mode="differential"),
            world.request(
                "sums", f"SELECT region, sum(amount) AS n FROM {raw}.seen GROUP BY region", refresh_mode="differential"
            ),
            world.request(
                "both",
                f"SELECT f.id, l.amount FROM {raw}.fed f JOIN {raw}.logged l ON f.id = l.id",
                refresh_mode="differential",
                expose="table",
            ),
            world.request("sheets", f"SELECT id FROM {raw}.sheet"),
        ]

    def run(self, world: World, session: Session, requests: list[Request]) -> list[str]:
        return [outcome.refresh.action for outcome in world.run(*requests, session=session)]

    def test_but_for_a_feed_that_the_user_allowed(self, world: World) -> None:
        source = Relation.of(world.schema, "allowed")
        world.sql(f"CREATE TABLE {source.sql} (id INT) USING delta")
        request = world.request("of_allowed", f"SELECT id FROM {source.sql}", refresh_mode="differential")
        session = Listening(world.connect())
        request = replace(request, sources={source.key: SourceSettings(enable_change_feed=True)})
        assert self.run(world, session, [request]) == ["FULL"]
        assert [sql for sql in session.heard if writes(sql) and source.sql in sql.split("\n")[0]] == [
            f"ALTER TABLE {source.sql} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
        ]
