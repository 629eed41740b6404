"""A reader that never stops, through full refreshes and alters: no error, nothing empty, nothing mixed."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from time import monotonic

import pytest
from engine_world import World
from fault_thrift import ThriftSession
from thrift_server import ThriftServer

pytestmark = pytest.mark.thrift

# `make soak` takes 100 of each.
STEPS = int(os.environ.get("TRICKLE_READER_STEPS", "9"))
ROWS = 600
ALTER_EACH = 3


@dataclass
class Reader:
    """Reads all rows, over and over, on a connection of its own."""

    server: ThriftServer
    table: str
    stop: threading.Event = field(default_factory=threading.Event)
    reads: int = 0
    seen: list[tuple[int, int]] = field(default_factory=list)  # (source's version, query's version), each once
    wrong: list[str] = field(default_factory=list)

    def loop(self) -> None:
        session = ThriftSession(self.server.connect())
        while not self.stop.is_set():
            try:
                rows = session.query(f"SELECT version, text, id FROM {self.table}")
            except Exception as problem:  # noqa: BLE001 - whatever a reader meets is what the test is about
                self.wrong.append(f"read {self.reads}: {problem}")
                continue
            found = {(row["version"], row["text"]) for row in rows}
            self.reads += 1
            if len(rows) != ROWS or len({row["id"] for row in rows}) != ROWS or len(found) != 1:
                self.wrong.append(f"read {self.reads}: {len(rows)} rows of the versions {sorted(found)}")
            elif not self.seen or self.seen[-1] != next(iter(found)):
                self.seen.append(next(iter(found)))


@pytest.mark.parametrize("expose", ["view", "table"])
def test_a_reader_meets_whole_versions_only(expose: str, server: ThriftServer) -> None:
    session = ThriftSession(server.connect())
    world = World.create(lambda: session)
    source = world.relation("source").sql
    world.sql(f"CREATE TABLE {source} USING delta AS SELECT 0 AS version")

    def step(number: int) -> str:
        """The source moves each time; every third time the query changes as well."""
        text = number // ALTER_EACH
        # Many files, so that a mixed read would find some of each.
        query = (
            f"SELECT /*+ REPARTITION(4, id) */ version, {text} AS text, id FROM {source} "
            f"CROSS JOIN (SELECT explode(sequence(1, {ROWS})) AS id)"
        )
        return world.refreshed(world.request("shown", query, expose=expose))

    assert step(0) == "FULL"
    reader = Reader(server, world.relation("shown").sql)
    thread = threading.Thread(target=reader.loop)
    thread.start()
    began, actions = monotonic(), []
    try:
        for number in range(1, STEPS + 1):
            world.sql(f"INSERT OVERWRITE {source} VALUES ({number})")
            actions.append(step(number))
    finally:
        reader.stop.set()
        thread.join(60)
    print(
        f"{expose}: {actions.count('FULL')} full refreshes and {actions.count('ALTER')} alters in "
        f"{monotonic() - began:.0f} s, {reader.reads} reads, {len(reader.seen)} versions seen"
    )
    assert not thread.is_alive()
    assert not reader.wrong, f"{len(reader.wrong)} of {reader.reads}:\n" + "\n".join(reader.wrong[:20])
    assert actions == ["ALTER" if n % ALTER_EACH == 0 else "FULL" for n in range(1, STEPS + 1)]
    assert reader.seen == sorted(reader.seen), f"it went back: {reader.seen}"
    assert len(reader.seen) > STEPS / 3, f"the reader was too slow to see anything: {reader.seen}"
