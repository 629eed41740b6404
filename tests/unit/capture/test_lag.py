"""When a lag is told, how long a version can be read, and what DESCRIBE DETAIL says of that."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dbt_trickle.capture.base import CommitFacts, Effect
from dbt_trickle.capture.lag import Limits, limits_passed, oldest_readable, worst
from dbt_trickle.capture.table import TableFacts, table_facts

LIMITS = Limits(100, 1024)
MB, WEEK = 1_000_000, timedelta(weeks=1)


@pytest.mark.parametrize(
    ("written", "age", "retention", "told"),
    [
        (99 * MB, timedelta(0), WEEK, []),
        (100 * MB, timedelta(0), WEEK, ["warning"]),
        (1024 * MB, timedelta(0), WEEK, ["critical"]),
        (0, timedelta(days=5), WEEK, []),
        (0, timedelta(days=6), WEEK, ["warning"]),
        (0, timedelta(days=7), WEEK, ["critical"]),
        (100 * MB, timedelta(days=7), WEEK, ["warning", "critical"]),
        (0, timedelta(days=99), None, []),
    ],
)
def test_limits(written: int, age: timedelta, retention: timedelta | None, told: list[str]) -> None:
    passed = limits_passed(LIMITS, written, age, retention)
    assert [level for level, _ in passed] == told
    assert worst(passed) == (told[-1] if told else "ok")


def test_how_long_is_told_in_words() -> None:
    def said(age: timedelta) -> str:
        return limits_passed(LIMITS, 0, age, WEEK)[0][1]

    assert said(timedelta(days=6)) == "the version that was consumed last can be read for 24 h more"
    assert said(timedelta(days=6, hours=23, minutes=30)).endswith("for 30 min more")
    month = timedelta(days=30)
    assert limits_passed(LIMITS, 0, timedelta(days=25), month)[0][1].endswith("for 5 d more")


@pytest.mark.parametrize(
    ("properties", "retention"),
    [
        ({}, WEEK),
        ({"delta.deletedFileRetentionDuration": "interval 30 days"}, timedelta(days=30)),
        ({"Delta.DeletedFileRetentionDuration": "INTERVAL 2 WEEKS 3 hours"}, timedelta(days=14, hours=3)),
        ({"delta.deletedFileRetentionDuration": "90 days"}, timedelta(days=30)),
        ({"delta.logRetentionDuration": "interval 1 day"}, timedelta(days=1)),
        ({"delta.logRetentionDuration": "P1D"}, None),
        ({"delta.logRetentionDuration": "interval 1 month"}, None),
    ],
)
def test_retention(properties: dict[str, str], retention: timedelta | None) -> None:
    assert TableFacts("id", properties, 1).retention == retention


def test_a_detail_is_read_from_any_connection() -> None:
    feed = {"delta.enableChangeDataFeed": "true"}
    one = table_facts({"id": "x", "properties": feed, "sizeInBytes": 7})
    assert one == table_facts({"id": "x", "properties": '{"delta.enableChangeDataFeed":"true"}', "sizeInBytes": "7"})
    assert one.feed
    assert one.mark((("id", "int"),)) != one.mark((("id", "bigint"),))
    assert one.mark(()) != TableFacts("y", feed, 7).mark(())
    assert one.mark(()) == TableFacts("x", feed, 8).mark(()), "it grew, but is defined as it was"


def commits(*days: int, vacuum: str | None = None) -> list[CommitFacts]:
    """One commit on each of these days of January; the last one may be a VACUUM."""
    found = [CommitFacts(n, at(day), "WRITE", Effect.APPEND) for n, day in enumerate(days, 3)]
    if vacuum is not None:
        last = found[-1]
        found[-1] = CommitFacts(last.version, last.committed_at, "VACUUM START", Effect.NOTHING, None, None, vacuum)
    return found


def at(day: int) -> str:
    return f"2026-01-{day:02d}T00:00:00.000+00:00"


def test_which_version_is_the_oldest_that_can_be_read() -> None:
    assert oldest_readable(commits(1, 2, 3), WEEK, at(4)) == 3
    assert oldest_readable(commits(1, 2, 3), WEEK, at(9)) == 5, "of the second a week has passed"
    assert oldest_readable(commits(1, 2, 3), WEEK, at(30)) == 5, "the newest one always can"
    assert oldest_readable(commits(1, 2, 3), None, at(30)) == 3
    # What was out of use on the 2nd is gone: version 3 was replaced then, version 4 on the 3rd.
    assert oldest_readable(commits(1, 2, 3, 4, vacuum=at(2)), WEEK, at(4)) == 4
