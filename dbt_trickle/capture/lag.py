"""How far a consumer may lag behind a source before somebody is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dbt_trickle.capture.base import CommitFacts
from dbt_trickle.capture.commits import replaced_at
from dbt_trickle.capture.table import Retention

OK, WARNING, CRITICAL = "ok", "warning", "critical"
_MB = 1_000_000
_NEAR = 0.25  # of a retention: when no more than that is left, it is soon


@dataclass(frozen=True)
class Limits:
    warning_mb: int
    critical_mb: int


@dataclass(frozen=True)
class Kept:
    """How much longer the version that was consumed last is kept for sure, and from when on that is worth a word."""

    left: timedelta
    near: timedelta


def kept(retention: Retention | None, committed_at: str, replaced_at: str, now: str) -> Kept | None:
    if retention is None:
        return None
    left = retention.until(committed_at, replaced_at) - datetime.fromisoformat(now)
    return Kept(left, retention.shortest * _NEAR)


def limits_passed(limits: Limits, written: int, kept: Kept | None) -> tuple[tuple[str, str], ...]:
    """Levels, and why."""
    passed = []
    if written >= limits.critical_mb * _MB:
        passed.append((CRITICAL, f"{written // _MB} MB were written since, {limits.critical_mb} MB are allowed"))
    elif written >= limits.warning_mb * _MB:
        passed.append((WARNING, f"{written // _MB} MB were written since, {limits.warning_mb} MB are allowed"))
    if kept is not None and kept.left <= timedelta():
        passed.append((CRITICAL, "the version that was consumed last is past its retention, it may go any time"))
    elif kept is not None and kept.left <= kept.near:
        passed.append((WARNING, f"the version that was consumed last is kept for {_told(kept.left)} more"))
    return tuple(passed)


def worst(passed: Sequence[tuple[str, str]]) -> str:
    levels = [level for level, _ in passed]
    return CRITICAL if CRITICAL in levels else WARNING if levels else OK


def oldest_readable(commits: Sequence[CommitFacts]) -> int:
    """Of a history, oldest first, the first version that can still be read. The newest one always can."""
    vacuumed = max((c.removes_files_older_than for c in commits if c.removes_files_older_than is not None), default="")
    for position, commit in enumerate(commits[:-1], 1):
        replaced = replaced_at(commits[position:])
        if replaced is None or replaced > vacuumed:
            return commit.version
    return commits[-1].version


def _told(left: timedelta) -> str:
    hours = int(left.total_seconds() // 3600)
    return f"{hours // 24} d" if hours >= 48 else f"{hours} h" if hours else f"{int(left.total_seconds() // 60)} min"
