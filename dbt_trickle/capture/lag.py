"""How far a consumer may lag behind a source before somebody is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

WARNING, CRITICAL = "warning", "critical"
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


def _told(left: timedelta) -> str:
    hours = int(left.total_seconds() // 3600)
    return f"{hours // 24} d" if hours >= 48 else f"{hours} h" if hours else f"{int(left.total_seconds() // 60)} min"
