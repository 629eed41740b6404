"""The state machine of `cdc_mode: auto`: its steps as data, and what no sequence of steps may do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_trickle.capture.base import Appended, CommitFacts, Effect, LogFacts, Window
from dbt_trickle.capture.choose import Chosen, without_feed
from dbt_trickle.capture.read import changes, disagreement
from dbt_trickle.capture.transition import SMALL, Capturing, Seen, asks, reading, step
from dbt_trickle.names import Relation

STEPS = yaml.safe_load((Path(__file__).parent / "fixtures" / "transitions.yml").read_text(encoding="utf-8"))
TIMEOUT = 300


def at(time: str | None) -> str | None:
    return f"2026-01-01T{time}:00.000+00:00" if time else None


NOW = at("12:00") or ""


@pytest.mark.parametrize("case", STEPS, ids=[case["name"] for case in STEPS])
def test_step(case: dict[str, Any]) -> None:
    before = None
    if "before" in case:
        state, reason = case["before"]
        failed = case.get("failed", "")
        transitioning = state == "TRANSITIONING"
        since = at(case.get("since_before", "12:00")) if transitioning else None
        mark = failed or (case.get("mark_before", "m") if transitioning else "")
        before = Capturing(state, reason, since, mark, bool(failed))
    seen = Seen(**{"moved": True, "feed": True, "mark": "m", **case.get("seen", {})})
    found = step(case.get("mode", "auto"), before, seen, NOW, TIMEOUT)
    stays = case.get("stays_failed", False)
    mark = case.get("mark", "m" if stays else "")
    assert found.after == Capturing(*case["expect"], at(case.get("since")), mark, stays)
    assert found.ending == case.get("event")


EFFECTS = st.sampled_from([Effect.APPEND, Effect.ROWS, Effect.NOTHING, Effect.SCHEMA, Effect.RENAME, Effect.REPLACE])
COMMIT = st.tuples(EFFECTS, st.sampled_from([None, None, None, True, False]))
RUN = st.fixed_dictionaries(
    {
        "commits": st.lists(COMMIT, max_size=3),
        "feed": st.booleans(),
        "size": st.sampled_from([1, SMALL + 1]),
        "readable": st.booleans(),
        "succeeds": st.booleans(),
        "recomputed": st.booleans(),
        "agree": st.sampled_from(["", "they differ"]),
        "mark": st.sampled_from("mmmn"),
        "hours": st.integers(0, 1),
    }
)


def window_facts(old: int, run: dict[str, Any]) -> LogFacts:
    commits = tuple(
        CommitFacts(version, NOW, effect.name, effect, feed=feed)
        for version, (effect, feed) in enumerate(run["commits"], old + 1)
    )
    columns = (("id", "int"),)
    return LogFacts(
        Window(Relation.of("shop", "orders"), old, old + len(commits), columns),
        commits,
        known_at=NOW,
        found_at=NOW if run["readable"] else None,
        properties={"delta.enableChangeDataFeed": str(run["feed"]).lower()},
        size=run["size"],
        old_columns=columns,
        log=Appended(("file",), 1),
    )


def versions_read(chosen: Chosen, facts: LogFacts) -> range:
    """The commits whose changes a statement reads, by the statement itself."""
    text = changes(chosen, facts)
    if found := re.search(r"table_changes\('`shop`.`orders`', (\d+), (\d+)\)", text):
        return range(int(found[1]), int(found[2]) + 1)
    if found := re.search(r"VERSION AS OF (\d+)\nUNION ALL.*VERSION AS OF (\d+)", text, re.DOTALL):
        return range(int(found[2]) + 1, int(found[1]) + 1)
    assert "parquet.`file`" in text, text  # the facts have the files of the window's commits
    return range(facts.window.old + 1, facts.window.new + 1)


@settings(deadline=None)  # a busy machine is no failure
@given(st.sampled_from(["auto", "feed", "log"]), st.lists(RUN, max_size=12))
def test_no_sequence_of_runs_loses_or_doubles_a_change(mode: Any, runs: list[dict[str, Any]]) -> None:
    """As the engine goes about it: a window begins where the last refresh that succeeded ended."""
    frontier, newest, hour, successes = 0, 0, 0, 0
    before: Capturing | None = None
    content: list[int] = []  # the commits whose changes the stream table has
    for run in runs:
        hour += run["hours"]
        newest += len(run["commits"])
        since = [(Effect.ROWS, None)] * (newest - len(run["commits"]) - frontier)
        facts = window_facts(frontier, {**run, "commits": [*since, *run["commits"]]}) if newest > frontier else None
        seen, read = Seen(newest > frontier, run["feed"], run["mark"]), None
        if successes and facts is not None and not run["recomputed"]:
            needs = asks(mode, before)
            found = reading(mode, before, facts)
            if isinstance(found.chosen, Chosen):
                read = versions_read(found.chosen, facts)
                assert found.chosen.capture != "feed" or without_feed(facts) is None
                assert found.rival is None or found.rival.capture != "feed"
            seen = Seen(True, run["feed"], run["mark"], found.serves, found.obstacle)
            if found.rival is not None:
                assert before is not None and before.state == "TRANSITIONING"
                assert needs == "log"
                seen = Seen(True, run["feed"], run["mark"], agreed=not run["agree"], problem=run["agree"])
        if not run["succeeds"]:
            continue
        now = f"2026-01-01T{hour:02d}:00:00.000+00:00"
        stepped = step(mode, before, seen, now, TIMEOUT)
        if not successes:
            assert stepped.after.state != "TRANSITIONING"
            assert stepped.ending is None
        if stepped.ending == "complete":
            assert before is not None and before.state == "TRANSITIONING" and seen.agreed
        if stepped.after.state == "WAL" and before is not None and before.state == "TRIGGER":
            assert mode != "auto" or not run["feed"]
        content = [*content, *read] if read is not None else list(range(1, newest + 1))
        before, frontier, successes = stepped.after, newest, successes + 1
        assert content == list(range(1, newest + 1))


def test_what_is_not_read_by_name_is_not_compared() -> None:
    facts = window_facts(0, {"commits": [(Effect.APPEND, None)], "feed": True, "size": 1, "readable": True})
    for mode in ("feed", "log"):
        assert reading(mode, Capturing("TRANSITIONING", "", NOW), facts).rival is None  # type: ignore[arg-type]


def test_the_question_whether_two_captures_agree() -> None:
    window = Window(Relation.of("shop", "orders"), 0, 1, (("id", "int"),))
    assert disagreement(window, "SELECT 1", "SELECT 2").split("\n") == [
        "SELECT 1 AS differs FROM (",
        "SELECT `id`, SUM(`__pgt_row_weight`) AS `__pgt_weight`",
        "FROM (",
        "SELECT `id`, `__pgt_weight` AS `__pgt_row_weight`",
        "FROM (",
        "SELECT 1",
        ")",
        "UNION ALL",
        "SELECT `id`, -`__pgt_weight` AS `__pgt_row_weight`",
        "FROM (",
        "SELECT 2",
        ")",
        ")",
        "GROUP BY `id`",
        "HAVING SUM(`__pgt_row_weight`) <> 0",
        ") LIMIT 1",
    ]
