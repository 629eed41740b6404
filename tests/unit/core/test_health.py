"""What is wrong with a stream table, and how bad it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dbt_trickle.catalog.state import ForeignWrite, HeldBack, StreamTable
from dbt_trickle.errors import ConfigError
from dbt_trickle.run import health

NOW = "2026-01-01T02:00:00.000+00:00"
AN_HOUR_OLD = StreamTable(
    5,
    "shop",
    "totals",
    "model.shop.totals",
    is_populated=True,
    status="ACTIVE",
    data_timestamp="2026-01-01T01:00:00.000+00:00",
)


@pytest.mark.parametrize(
    ("changed", "warn_after", "error_after", "levels"),
    [
        ({}, None, None, []),
        ({}, "2h", "1d", []),
        ({}, "30m", "1d", [1]),
        ({}, "30m", "59m", [2]),
        ({}, None, {"count": 30, "period": "minute"}, [2]),
        ({}, {"count": 2, "period": "hour"}, None, []),
        ({"schedule": "5m"}, None, None, [1]),
        ({"schedule": "30m"}, None, None, []),
        ({"schedule": "5m"}, "2h", None, []),
        ({"schedule": "downstream"}, None, None, []),
        ({"is_populated": False}, None, None, [2]),
        ({"status": "SUSPENDED", "suspended_by": "USER"}, None, None, [1]),
        ({"status": "ERROR", "suspended_by": "ERRORS", "consecutive_errors": 3}, None, None, [2]),
        ({"consecutive_errors": 1, "last_error": "it's broken\nbadly"}, "30m", None, [1, 1]),
        ({"needs_reinit": True, "reinit_reason": "x"}, None, None, [1]),
        ({"hidden_write": ForeignWrite("DELETE", 4)}, None, None, [1]),
        ({"held_back": HeldBack("changes.st_5_g1", 4, (), NOW, NOW)}, None, None, [1]),
    ],
)
def test_levels(changed: dict[str, Any], warn_after: Any, error_after: Any, levels: list[int]) -> None:
    found = health.problems(replace(AN_HOUR_OLD, **changed), NOW, warn_after, error_after)
    assert [problem.level for problem in found] == levels
    assert all("\n" not in problem.text for problem in found)


def test_one_that_nobody_knows() -> None:
    assert [problem.level for problem in health.problems(None, NOW, None, None)] == [2]


@pytest.mark.parametrize(
    "given", ["soon", 5, {"count": 1}, {"count": True, "period": "hour"}, {"count": 1, "period": "x"}]
)
def test_what_is_no_duration_is_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match="TRK-107"):
        health.problems(AN_HOUR_OLD, NOW, given, None)


def test_as_a_query() -> None:
    assert health.as_rows(()).endswith("WHERE false")
    assert "(1, 'it\\'s')" in health.as_rows((health.Problem(1, "it's"),))
