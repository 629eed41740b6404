"""What is wrong with a stream table as it stands, for the dbt test stream_table_healthy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import schedule_seconds
from dbt_trickle.errors import ConfigError
from dbt_trickle.names import literal
from dbt_trickle.run import guard, stale

WARNING, ERROR = 1, 2
_PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
ALLOWED = "Allowed: a duration such as '30m', '2h' or '1d', or {count: 2, period: hour} as in dbt's freshness."


@dataclass(frozen=True)
class Problem:
    level: int
    text: str


def problems(table: StreamTable | None, now: str, warn_after: Any, error_after: Any) -> tuple[Problem, ...]:
    """Without limits of its own a table is late when it is older than twice its schedule."""
    limits = [(ERROR, _seconds("error_after", error_after)), (WARNING, _seconds("warn_after", warn_after))]
    if table is None or not table.is_populated:
        return (Problem(ERROR, "it was not loaded yet"),)
    found = []
    if table.suspended_by == "ERRORS":
        found.append(Problem(ERROR, f"suspended after {table.consecutive_errors} errors: {_first(table.last_error)}"))
    elif table.consecutive_errors:
        found.append(Problem(WARNING, f"{table.consecutive_errors} errors in a row: {_first(table.last_error)}"))
    if table.status == "SUSPENDED":
        found.append(Problem(WARNING, "suspended by the user"))
    if table.needs_reinit:
        found.append(Problem(WARNING, f"it will be loaded anew: {table.reinit_reason}"))
    if table.hidden_write is not None:
        found.append(Problem(WARNING, guard.Storage(table, foreign=table.hidden_write).touched))
    if (held := table.held_back) is not None:
        found.append(Problem(WARNING, f"since {held.since} readers are shown its rows of {held.data_timestamp}"))
    if not any(seconds for _, seconds in limits) and table.schedule:
        limits = [(WARNING, stale.allowed(table))]
    age = stale.age(table, now)
    late = next(((level, limit) for level, limit in limits if limit is not None and age > limit), None)
    if late is not None:
        found.append(Problem(late[0], f"its data is {age} s old, more than {late[1]} s"))
    return tuple(found)


def as_rows(found: Sequence[Problem]) -> str:
    """A query with one row for each problem."""
    if not found:
        return "SELECT 0 AS level, '' AS problem WHERE false"
    rows = ", ".join(f"({problem.level}, {literal(problem.text)})" for problem in found)
    return f"SELECT level, problem FROM VALUES {rows} AS found (level, problem)"


def _seconds(argument: str, given: Any) -> int | None:
    if given is None:
        return None
    if isinstance(given, str) and (seconds := schedule_seconds(given)) is not None:
        return seconds
    if isinstance(given, Mapping) and set(given) == {"count", "period"}:
        count, period = given["count"], str(given["period"])
        if isinstance(count, int) and not isinstance(count, bool) and period in _PERIODS:
            return count * _PERIODS[period]
    raise ConfigError("TRK-107", f"stream_table_healthy: `{argument}` is {given!r}", remedy=ALLOWED)


def _first(message: str | None) -> str:
    return (message or "").split("\n")[0]
