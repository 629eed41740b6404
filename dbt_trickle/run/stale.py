"""Stream tables whose data is older than their schedules allow: an event, once for as long as the data stands still.

Whoever looks tells it: a run of those that it was asked for, at its end, when it could not bring their data up to date
(they failed, are suspended, or read a stream table that lags itself); `trickle health` of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from dbt_trickle.catalog import events, reports, store
from dbt_trickle.catalog.events import Event
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings, schedule_seconds
from dbt_trickle.errors import EnvironmentProblem, WarehouseError
from dbt_trickle.run.session import Session

LATE = 2  # times the schedule


def allowed(table: StreamTable) -> int | None:
    """Seconds; none without a schedule, and with one that is no duration."""
    period = schedule_seconds(table.schedule) if table.schedule else None
    return LATE * period if period else None


def age(table: StreamTable, now: str) -> int:
    if table.data_timestamp is None:
        return 0
    return int((datetime.fromisoformat(now) - datetime.fromisoformat(table.data_timestamp)).total_seconds())


def found(tables: Iterable[StreamTable], now: str) -> list[Event]:
    """Of what the user has suspended nobody expects anything; what was never loaded has no data."""
    return [
        Event(
            events.STALE,
            table.pgt_id,
            now,
            str(table.public),
            {"data_timestamp": table.data_timestamp, "seconds": age(table, now), "schedule": table.schedule},
        )
        for table in tables
        if table.is_populated
        and table.suspended_by != "USER"
        and (limit := allowed(table)) is not None
        and age(table, now) > limit
    ]


def not_told(session: Session, settings: ProjectSettings, late: Sequence[Event]) -> list[Event]:
    """Those of which no event tells yet. Where that cannot be asked, twice is better than not at all."""
    if not late:
        return []
    try:
        rows = session.query(reports.stale_events(settings.catalog_schema))
    except WarehouseError:
        return list(late)
    known = {(int(row["pgt_id"]), str(row["data_timestamp"])) for row in rows}
    return [event for event in late if (event.pgt_id, event.payload["data_timestamp"]) not in known]


def tell(session: Session, settings: ProjectSettings, late: Sequence[Event]) -> None:
    """Of a command that has nothing else to write."""
    if new := not_told(session, settings, late):
        try:
            session.execute(store.append(settings.catalog_schema, "trickle health", [*map(store.event, new)]))
        except EnvironmentProblem:
            return  # another process writes to the embedded warehouse: the next look tells it
