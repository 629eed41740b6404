"""On Spark: whatever happened to a table, each capture that may be chosen says what Python says of its rows."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from engine_world import embedded_sessions

pytest.register_assert_rewrite("capture_history")

from capture_history import ALWAYS, COLUMNS, History, told  # noqa: E402 (its assertions are rewritten as it is imported)

from dbt_trickle.capture.base import Appended, Capture  # noqa: E402
from dbt_trickle.capture.choose import Chosen, choose  # noqa: E402
from dbt_trickle.capture.commits import nothing_changed  # noqa: E402
from dbt_trickle.capture.difference import Difference  # noqa: E402
from dbt_trickle.capture.feed import Feed  # noqa: E402
from dbt_trickle.capture.log import Log  # noqa: E402
from dbt_trickle.formats import delta  # noqa: E402
from dbt_trickle.names import Relation  # noqa: E402
from dbt_trickle.run.session import Session  # noqa: E402
from dbt_trickle.run.windows import gather  # noqa: E402

pytestmark = pytest.mark.spark

# More of both: TRICKLE_HISTORIES=20 TRICKLE_HISTORY_COMMITS=30.
SEEDS = range(1, int(os.environ.get("TRICKLE_HISTORIES", "1")) + 1)
# Partitioned, with deletion vectors, with mapped columns (whose files have other names for them: no log is read there).
KINDS = [(False, False, True), (True, True, False), (False, True, False), (True, False, False), (True, True, True)]
KINDS = KINDS[: 2 if len(SEEDS) == 1 else None]
IDS = [
    "-".join(("partitioned" if p else "flat", "vectors" if v else "files", *["mapped"][: int(m)])) for p, v, m in KINDS
]
COMMITS = int(os.environ.get("TRICKLE_HISTORY_COMMITS", "8"))
SCHEMA = "capture_histories"


@pytest.fixture(scope="class")
def connect(dbt_profile_target: dict[str, Any]) -> Callable[[], Session]:
    return embedded_sessions(dbt_profile_target)


class TestRandomHistories:
    @pytest.mark.parametrize(("partitioned", "vectors", "mapped"), KINDS, ids=IDS)
    @pytest.mark.parametrize("seed", SEEDS)
    def test_every_capture_tells_the_same(
        self, connect: Callable[[], Session], seed: int, partitioned: bool, vectors: bool, mapped: bool
    ) -> None:
        session = connect()
        session.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        chance = random.Random(f"{seed} {partitioned} {vectors} {mapped}")
        relation = Relation.of(SCHEMA, f"t_{seed}_{partitioned}_{vectors}_{mapped}".lower())
        history = History(session, relation, chance, partitioned, vectors, mapped)
        history.create()
        history.live(COMMITS, ALWAYS[KINDS.index((partitioned, vectors, mapped)) :: len(KINDS)])
        committed = {
            row["version"]: delta.instant(row["timestamp"]) for row in session.query(f"DESCRIBE HISTORY {history.name}")
        }
        steps = [(version, version + 1) for version in range(COMMITS - 1)]
        spans = [tuple(sorted(chance.sample(range(COMMITS), 2))) for _ in range(3)] + [(0, COMMITS - 1)]
        for old, new in steps + spans:
            names = chance.sample(list(COLUMNS)[:-1], chance.randint(1, len(COLUMNS) - 1))
            window = history.window(old, new, *names)
            facts = gather(session, window, committed[old], "log")
            story = (window.names, history.statements[old + 1 : new + 1])
            expected = history.expected(window)
            if nothing_changed(facts.commits):
                assert expected == {}, story
                continue
            choice = choose("log", facts)
            assert isinstance(choice, Chosen), (choice, story)
            captures: dict[str, Capture] = {"feed": Feed(), "difference": Difference()}
            if choice.capture == "log":
                assert isinstance(facts.log, Appended)
                captures["log"] = Log(facts.log)
            for name, weights in told(session, window, captures):
                assert weights == expected, (name, story)
