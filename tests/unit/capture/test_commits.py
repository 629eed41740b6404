"""What a commit can have done, from rows in the shape of DESCRIBE HISTORY's."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml

from dbt_trickle.capture.base import CommitFacts, Effect
from dbt_trickle.capture.commits import commit_facts, nothing_changed
from dbt_trickle.formats.base import Marker
from dbt_trickle.formats.delta import NO_CHANGE

CASES = yaml.safe_load((Path(__file__).parent / "fixtures" / "commits.yml").read_text(encoding="utf-8"))


def commit(case: dict[str, Any]) -> CommitFacts:
    row = {
        "version": 4,
        "timestamp": datetime(2026, 1, 8, 12, 0, tzinfo=timezone.utc),
        "operation": case["operation"],
        "operationParameters": case.get("parameters"),
        "operationMetrics": case.get("metrics"),
        "userMetadata": case.get("metadata"),
    }
    return commit_facts(row)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['operation']} {case['expect']}")
def test_effect(case: dict[str, Any]) -> None:
    found = commit(case)
    expect = {"rows": None, "feed": None, "vacuum": None, "size": 0, **case["expect"]}
    told = {"effect": found.effect.name, "rows": found.rows, "feed": found.feed, "size": found.size}
    assert {**told, "vacuum": found.removes_files_older_than} == expect


def marked(**given: Any) -> CommitFacts:
    marker = Marker(5, 2, 1, "FULL", "", "", {}, "", "run", 10, **given)
    metrics = {"numTargetRowsInserted": "5", "numTargetRowsUpdated": "0", "numTargetRowsDeleted": "4"}
    return commit({"operation": "MERGE", "metrics": metrics, "metadata": marker.to_json()})


def test_a_stream_table_says_more_of_its_commits_than_their_metrics() -> None:
    """A bag's merge counts rows that it only puts back."""
    assert (marked(work="bag").rows, marked(work="bag", moved=(2, 1)).rows) == (9, 3)
    assert marked(others=True).others
    assert not marked().others


def test_a_widened_column_is_a_change() -> None:
    """Also where storages, which nobody else alters, take it for none."""
    assert not nothing_changed([commit({"operation": "CHANGE COLUMN"})])
    assert {o for o in NO_CHANGE if commit({"operation": o}).effect is not Effect.NOTHING} == {
        "CHANGE COLUMN",
        "CHANGE COLUMNS",
    }


def test_maps_arrive_as_json_over_thrift() -> None:
    found = commit({"operation": "WRITE", "parameters": '{"mode":"Append"}', "metrics": '{"numOutputRows":"3"}'})
    assert (found.effect, found.rows) == (Effect.APPEND, 3)


def test_nothing_changed() -> None:
    quiet = [commit({"operation": o}) for o in ("OPTIMIZE", "SET TBLPROPERTIES", "VACUUM END")]
    assert nothing_changed(quiet)
    assert not nothing_changed([*quiet, commit({"operation": "WRITE", "parameters": {"mode": "Append"}})])
    assert not nothing_changed([commit({"operation": "SOMETHING NEW"})])
