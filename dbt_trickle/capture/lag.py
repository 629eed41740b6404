"""How far a consumer may lag behind a source before somebody is told."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dbt_trickle.capture.base import CommitFacts

OK, WARNING, CRITICAL = "ok", "warning", "critical"
_MB = 1_000_000
_NEAR = 0.75  # of a retention: from then on a version may soon be refused


@dataclass(frozen=True)
class Limits:
    warning_mb: int
    critical_mb: int


def limits_passed(
    limits: Limits, written: int, age: timedelta, retention: timedelta | None
) -> tuple[tuple[str, str], ...]:
    """Events and their reasons. `age`: since the version that was consumed last was committed."""
    passed = []
    if written >= limits.critical_mb * _MB:
        passed.append((CRITICAL, f"{written // _MB} MB were written since, {limits.critical_mb} MB are allowed"))
    elif written >= limits.warning_mb * _MB:
        passed.append((WARNING, f"{written // _MB} MB were written since, {limits.warning_mb} MB are allowed"))
    if retention is not None and age >= retention:
        passed.append((CRITICAL, f"the version that was consumed last is older than the retention ({retention})"))
    elif retention is not None and age >= retention * _NEAR:
        left = retention - age
        passed.append((WARNING, f"the version that was consumed last can be read for {_told(left)} more"))
    return tuple(passed)


def worst(passed: Sequence[tuple[str, str]]) -> str:
    levels = [level for level, _ in passed]
    return CRITICAL if CRITICAL in levels else WARNING if levels else OK


def oldest_readable(commits: Sequence[CommitFacts], retention: timedelta | None, now: str) -> int:
    """Of a history, oldest first, the first version that can still be read. The newest one always can."""
    moment = datetime.fromisoformat(now)
    vacuumed = max((c.removes_files_older_than for c in commits if c.removes_files_older_than is not None), default="")
    for commit, following in itertools.pairwise(commits):
        kept = retention is None or moment - datetime.fromisoformat(commit.committed_at) < retention
        # Files of a version go out of use with the commit after it.
        if kept and following.committed_at > vacuumed:
            return commit.version
    return commits[-1].version


def _told(left: timedelta) -> str:
    hours = int(left.total_seconds() // 3600)
    return f"{hours // 24} d" if hours >= 48 else f"{hours} h" if hours else f"{int(left.total_seconds() // 60)} min"
