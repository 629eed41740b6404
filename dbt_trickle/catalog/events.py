"""What somebody may want to be told of, beside the history: rows of pgt_events, and dbt's log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dbt_trickle.catalog.state import ForeignWrite, Refresh, StreamTable
from dbt_trickle.errors import TrickleError

COMPLETED, FAILED = "refresh_completed", "refresh_failed"
REINITIALIZE, SUSPENDED = "reinitialize_needed", "auto_suspended"
FELL_BACK, EXTERNAL_WRITE = "fell_back_to_full", "external_write"
TRANSITION_COMPLETE, TRANSITION_FAILED = "cdc_transition_complete", "cdc_transition_failed"
LAG_WARNING, LAG_CRITICAL = "capture_lag_warning", "capture_lag_critical"
STALE = "stale"
HELD_BACK = "publication_held_back"

# Actions that changed what readers see.
_REFRESHED = ("FULL", "DIFFERENTIAL", "REINITIALIZE", "ALTER")


@dataclass(frozen=True)
class Event:
    name: str
    pgt_id: int
    at: str
    relation: str
    payload: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_routine(self) -> bool:
        return self.name in (COMPLETED, TRANSITION_COMPLETE)

    def __str__(self) -> str:
        told = ", ".join(f"{key}: {value}" for key, value in self.payload.items() if value not in (None, ""))
        return f"{self.name}: stream table {self.relation}" + (f" ({told})" if told else "")


def of_refresh(before: StreamTable | None, after: StreamTable, row: Refresh, asked_full: bool) -> tuple[Event, ...]:
    """Of a refresh that ended well. `asked_full`: the user wanted no differential one."""
    if row.status != "COMPLETED" or row.action not in _REFRESHED:
        return ()

    def event(name: str, **payload: Any) -> Event:
        return Event(name, row.pgt_id, row.end_time or row.start_time, str(after.public), payload)

    found = []
    if row.action == "REINITIALIZE":
        found.append(event(REINITIALIZE, reason=row.reason))
    # Told when it falls, not on each later run: the history has the reason of each.
    if row.action == "FULL" and not asked_full and before is not None and before.last_action == "DIFFERENTIAL":
        found.append(event(FELL_BACK, reason=row.reason))
    done = event(
        COMPLETED,
        action=row.action,
        reason=row.reason,
        batch=row.batch,
        rows_inserted=row.rows_inserted,
        rows_deleted=row.rows_deleted,
        ms=sum(row.phase_ms.values()),
    )
    return (*found, done)


def of_write(table: StreamTable, write: ForeignWrite, at: str) -> Event:
    payload = {"operation": write.operation, "version": write.version}
    return Event(EXTERNAL_WRITE, table.pgt_id, at, str(table.public), payload)


def of_failure(
    before: StreamTable | None, after: StreamTable | None, relation: str, row: Refresh, problem: TrickleError
) -> tuple[Event, ...]:
    """Of one that did not. The first line is enough: the history has the message."""

    def event(name: str, **payload: Any) -> Event:
        return Event(name, row.pgt_id, row.end_time or row.start_time, relation, payload)

    found = [event(FAILED, code=problem.code, message=problem.what.split("\n")[0])]
    if after is not None and after.suspended_by == "ERRORS" and before is not None and before.suspended_by != "ERRORS":
        found.append(event(SUSPENDED, errors=after.consecutive_errors))
    return tuple(found)
