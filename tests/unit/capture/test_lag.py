"""When a lag is told, how long a version can be read, and what DESCRIBE DETAIL says of that."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dbt_trickle.capture.base import CommitFacts, Effect
from dbt_trickle.capture.lag import Kept, Limits, kept, limits_passed, oldest_readable, worst
from dbt_trickle.capture.table import Retention, TableFacts, table_facts

LIMITS = Limits(100, 1024)
MB = 1_000_000
MONTH = Retention(files=timedelta(weeks=1), log=timedelta(days=29))


@pytest.mark.parametrize(
    ("written", "committed", "replaced", "told"),
    [
        (99 * MB, 28, 29, []),
        (100 * MB, 28, 29, ["warning"]),
        (1024 * MB, 28, 29, ["critical"]),
        # Its files are in use until it is replaced: then their week begins. That of its log, at its commit.
        (0, 8, 29, []),
        (0, 8, 25, []),
        (0, 8, 24, ["warning"]),
        (0, 8, 23, ["critical"]),
        (0, 2, 29, ["warning"]),
        (0, 1, 29, ["critical"]),
        (100 * MB, 1, 29, ["warning", "critical"]),
    ],
)
def test_limits(written: int, committed: int, replaced: int, told: list[str]) -> None:
    passed = limits_passed(LIMITS, written, kept(MONTH, at(committed), at(replaced), at(30)))
    assert [level for level, _ in passed] == told
    assert worst(passed) == (told[-1] if told else "ok")


@pytest.mark.parametrize(
    ("left", "words"),
    [(timedelta(days=3), "3 d"), (timedelta(hours=47), "47 h"), (timedelta(minutes=30), "30 min")],
)
def test_how_long_is_told_in_words(left: timedelta, words: str) -> None:
    told = [("warning", f"the version that was consumed last is kept for {words} more")]
    assert list(limits_passed(LIMITS, 0, Kept(left, timedelta(days=4)))) == told
    assert limits_passed(LIMITS, 0, Kept(left, timedelta())) == ()
    assert kept(None, at(1), at(1), at(30)) is None
    assert limits_passed(LIMITS, 0, None) == ()


@pytest.mark.parametrize(
    ("properties", "retention"),
    [
        ({}, (7, 30)),
        ({"Delta.DeletedFileRetentionDuration": "INTERVAL 2 WEEKS 24 hours"}, (15, 30)),
        ({"delta.deletedFileRetentionDuration": "90 days"}, (90, 30)),
        ({"delta.logRetentionDuration": "interval 1 day"}, (7, 1)),
        ({"delta.logRetentionDuration": "P1D"}, None),
        ({"delta.logRetentionDuration": "interval 1 month"}, None),
    ],
)
def test_retention(properties: dict[str, str], retention: tuple[int, int] | None) -> None:
    expected = Retention(*(timedelta(days=n) for n in retention)) if retention else None
    assert TableFacts("id", properties, 1).retention == expected


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
    assert oldest_readable(commits(1, 2, 3)) == 3
    # What was out of use on the 2nd is gone: version 3 was replaced then, version 4 on the 3rd.
    assert oldest_readable(commits(1, 2, 3, 4, vacuum=at(2))) == 4
    assert oldest_readable(commits(1, 2, 3, 4, vacuum=at(3))) == 5, "a VACUUM replaces nothing"
    assert oldest_readable([*commits(1, 2, 3, vacuum=at(9)), CommitFacts(6, at(4), "WRITE", Effect.APPEND)]) == 6
