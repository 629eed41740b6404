"""Which capture reads a window, one row a case (fixtures/choices.yml), and how columns are compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from dbt_trickle.capture.base import Appended, CommitFacts, Effect, LogFacts, Unlogged, Window
from dbt_trickle.capture.choose import Chosen, Refused, Why, choose, needs_log
from dbt_trickle.capture.types import Incomparable, comparison
from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import Relation

FIXTURES = Path(__file__).parent / "fixtures"
CASES = yaml.safe_load((FIXTURES / "choices.yml").read_text(encoding="utf-8"))
COMPARISONS = yaml.safe_load((FIXTURES / "comparisons.yml").read_text(encoding="utf-8"))
OLD = 3


def commits(given: list[Any], first: int) -> tuple[CommitFacts, ...]:
    facts = []
    for version, commit in enumerate(given, first):
        told = {"effect": commit} if isinstance(commit, str) else commit
        at, effect = told.get("at", "12:00"), Effect[told["effect"]]
        operation = told.get("operation", told["effect"])
        facts.append(CommitFacts(version, at, operation, effect, None, told.get("feed"), told.get("vacuum")))
    return tuple(facts)


def facts_of(case: dict[str, Any]) -> LogFacts:
    within = commits(case["commits"], OLD + 1)
    columns = tuple(case.get("columns", {"id": "int"}).items())
    log = case.get("log")
    return LogFacts(
        window=Window(
            Relation.of("shop", "orders"),
            OLD,
            case.get("new", max(OLD + len(within), OLD + 1)),
            columns,
            Relation.of("shop", "before") if "new" in case else None,
        ),
        commits=within,
        later=commits(case.get("later", []), OLD + 1 + len(within)),
        known_at="then",
        found_at=case.get("found_at", "then"),
        properties=case.get("properties", {"delta.enableChangeDataFeed": str(case.get("feed", False)).lower()}),
        old_columns=tuple(case["old_columns"].items()) if "old_columns" in case else columns,
        log=Unlogged(log) if isinstance(log, str) else Appended(tuple(log["files"]), 1) if log else None,
    )


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_choice(case: dict[str, Any]) -> None:
    facts, mode = facts_of(case), case.get("mode", "auto")
    found = choose(mode, facts)
    told = found.capture if isinstance(found, Chosen) else found.why.name
    assert {told: found.reason} == case["expect"]
    if isinstance(found, Chosen):
        assert needs_log(mode, facts) == ("log" in case)


def test_facts_that_were_not_asked_for_are_no_facts() -> None:
    with pytest.raises(TrickleBug, match="log was not asked"):
        choose("auto", facts_of({"commits": ["APPEND"]}))
    with pytest.raises(TrickleBug, match="cdc_mode"):
        choose("wal", facts_of({"commits": ["ROWS"]}))  # type: ignore[arg-type]


def test_of_a_gap_in_the_history_nobody_knows() -> None:
    facts = facts_of({"commits": ["ROWS", "ROWS", "ROWS"]})
    for left in (facts.commits[1:], facts.commits[:1] + facts.commits[2:], facts.commits[:2], ()):
        gap = replace(facts, commits=left)
        assert not gap.is_whole
        assert choose("auto", gap) == Refused(Why.GONE, "its transaction log is not complete")


@pytest.mark.parametrize("case", COMPARISONS, ids=[case["type"] for case in COMPARISONS])
def test_comparison(case: dict[str, Any]) -> None:
    found = comparison("c", case["type"])
    if isinstance(found, Incomparable):
        assert case.get("refused", "nothing") in found.reason
    else:
        assert {"keys": list(found.keys), "value": found.value} == {k: case.get(k) for k in ("keys", "value")}
