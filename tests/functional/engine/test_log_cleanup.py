"""Sources whose transaction logs were cleaned up, below and across the window, with checkpoints of both kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from engine_world import World

from dbt_trickle.run.request import Request

pytestmark = pytest.mark.spark

CLASSIC, V2 = "classic", "v2"
FEED = "delta.enableChangeDataFeed = true"
LOADED, NEWEST = 3, 6  # versions at the first refresh and at the second; every second one has a checkpoint


@dataclass(frozen=True)
class Case:
    """`begins`: the first version whose commit is still in the log; `checkpoint`: the first one that is kept."""

    name: str
    begins: int
    checkpoint: int
    reason: str
    policy: str = CLASSIC
    feed: bool = False
    update: bool = False
    outcome: str = "DIFFERENTIAL"


NOT_THERE = f"its history does not go back to version {LOADED}"
CASES = (
    Case("log", LOADED, 2, "by log (it is captured by its log; files were only added)"),
    Case("difference", LOADED, 2, f"UPDATE at version {NEWEST}", V2, update=True),
    Case("feed", LOADED, 2, "by feed (its change feed is on)", feed=True, update=True),
    # The old version's commit is there, the checkpoint below it is not: its rows cannot be told any more.
    Case("no_checkpoint", LOADED, 4, "its log was cleaned up", V2, outcome="TRK-203"),
    Case("gone", LOADED + 1, 4, NOT_THERE, feed=True, outcome="TRK-203"),
)


@dataclass(frozen=True)
class Logs:
    """Tables whose logs a test can reach."""

    world: World
    folder: Path

    def source(self, name: str) -> str:
        return self.world.relation(f"{name}_source").sql

    def create(self, name: str, policy: str = CLASSIC, feed: bool = False) -> None:
        more = f", {FEED}" if feed else ""
        self.world.sql(
            f"CREATE TABLE {self.source(name)} (id INT, amount INT, unread INT) USING delta "
            f"LOCATION '{self.folder / name}' "
            f"TBLPROPERTIES (delta.checkpointInterval = 2, delta.checkpointPolicy = '{policy}'{more})"
        )

    def insert(self, name: str, version: int) -> None:
        self.world.sql(f"INSERT INTO {self.source(name)} VALUES ({version}, {version}, 0), ({version}, 7, 0)")

    def request(self, name: str, mode: str = "differential") -> Request:
        query = f"SELECT id, sum(amount) AS total FROM {self.source(name)} GROUP BY id"
        return self.world.request(f"{name}_{mode}", query, refresh_mode=mode, max_change_ratio=1.0)

    def cleaned_up(self, name: str, begins: int, checkpoint: int) -> None:
        """As Delta does it when a retention is over: what is older goes, and nothing else is touched."""
        log = self.folder / name / "_delta_log"
        found = sorted(path for path in log.iterdir() if path.is_file() and path.name.lstrip(".")[:20].isdigit())
        assert any(version_of(path) == checkpoint and ".checkpoint." in path.name for path in found), found
        for path in found:
            if version_of(path) < (checkpoint if ".checkpoint." in path.name else begins):
                path.unlink()

    def right(self, *requests: Request) -> None:
        for request in requests:
            shown = self.world.rows(f"SELECT * FROM {request.public.sql}")
            assert shown == self.world.rows(request.query), request.name


def version_of(path: Path) -> int:
    return int(path.name.lstrip(".")[:20])


@pytest.fixture
def logs(world: World, tmp_path: Path) -> Logs:
    return Logs(world, tmp_path)


@pytest.fixture
def forget(connect: Callable[[], Any]) -> Callable[[], None]:
    """Spark keeps what it has read of a log; another process would not have it."""
    return lambda: connect().spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


class TestLogCleanup:
    def test_what_the_log_still_holds_decides(self, logs: Logs, forget: Callable[[], None]) -> None:
        for case in CASES:
            logs.create(case.name, case.policy, case.feed)
            for version in range(1, LOADED + 1):
                logs.insert(case.name, version)
        cases = [(case, logs.request(case.name)) for case in CASES]
        cases += [(case, logs.request(case.name, "auto")) for case in CASES if case.outcome == "TRK-203"]
        requests = [request for _, request in cases]
        assert {action for action, _ in logs.world.attempt(requests)} == {"FULL"}
        before = {r.name: logs.world.rows(f"SELECT * FROM {r.public.sql}") for r in requests}
        for case in CASES:
            for version in range(LOADED + 1, NEWEST):
                logs.insert(case.name, version)
            if case.update:
                logs.world.sql(f"UPDATE {logs.source(case.name)} SET amount = 9 WHERE id = 2")
            else:
                logs.insert(case.name, NEWEST)
            logs.cleaned_up(case.name, case.begins, case.checkpoint)
        forget()
        told = logs.world.attempt(requests)
        wrong = [
            (case, answer)
            for (case, request), answer in zip(cases, told, strict=True)
            if answer[0] != ("FULL" if request.config.refresh_mode == "auto" else case.outcome)
            or case.reason not in answer[1]
        ]
        assert wrong == []
        for request, (action, _) in zip(requests, told, strict=True):
            if action == "TRK-203":
                assert logs.world.rows(f"SELECT * FROM {request.public.sql}") == before[request.name]
            else:
                logs.right(request)

    def test_a_source_without_relevant_changes_is_not_lost(self, logs: Logs, forget: Callable[[], None]) -> None:
        """Each refresh goes on to the newest version, also where it found nothing to do."""
        names = ("rearranged", "unread")
        for name in names:
            logs.create(name)
            for version in range(1, LOADED + 1):
                logs.insert(name, version)
        requests = [logs.request(name) for name in names]
        assert [action for action, _ in logs.world.attempt(requests)] == ["FULL", "FULL"]
        logs.world.sql(
            f"OPTIMIZE {logs.source('rearranged')}",
            f"ALTER TABLE {logs.source('rearranged')} SET TBLPROPERTIES (x = 1)",
            *[f"UPDATE {logs.source('unread')} SET unread = {n} WHERE id = 1" for n in (1, 2)],
        )
        assert [action for action, _ in logs.world.attempt(requests)] == ["NO_DATA", "NO_DATA"]
        for name in names:
            logs.insert(name, NEWEST)
            logs.cleaned_up(name, LOADED + 2, 4)
        forget()
        assert [action for action, _ in logs.world.attempt(requests)] == ["DIFFERENTIAL", "DIFFERENTIAL"]
        logs.right(*requests)
