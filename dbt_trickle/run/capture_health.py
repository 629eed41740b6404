"""How far each source is ahead of the stream tables that read it, asked of the sources themselves: `trickle health`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from dbt_trickle.capture.base import CommitFacts
from dbt_trickle.capture.commits import commit_facts, nothing_changed, replaced_at
from dbt_trickle.capture.lag import CRITICAL, OK, WARNING, Limits, kept, limits_passed, oldest_readable, worst
from dbt_trickle.capture.table import TableFacts, table_facts
from dbt_trickle.catalog import events, reports, store
from dbt_trickle.catalog.events import Event
from dbt_trickle.catalog.state import Dependency, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import EnvironmentProblem, WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import VIEW, SourceVersion
from dbt_trickle.names import key_of
from dbt_trickle.run.session import Session, is_missing, passes

COMMITS = 1000  # that are looked at first; of who is further behind, all since
# While one stream table reads the change feed, the source is captured by it (catalog/capture_views.py).
_NEEDS = ("TRIGGER", "TRANSITIONING", "WAL", "NONE")
_LEVELS = (OK, WARNING, CRITICAL)


@dataclass(frozen=True)
class Consumer:
    """A stream table that reads the source, and which version it has."""

    table: StreamTable
    row: Dependency
    version: SourceVersion | None


@dataclass(frozen=True)
class SourceHealth:
    source: str
    cdc_mode: str
    reason: str
    consumers: tuple[str, ...]
    slowest_consumer: str
    slowest_pgt_id: int
    confirmed_version: int | None = None
    newest_version: int | None = None
    lag_versions: int | None = None
    lag_bytes: int | None = None
    lag_seconds: int | None = None
    oldest_readable_version: int | None = None
    readable_until: str | None = None  # for sure: what the slowest consumer goes on from
    level: str = OK
    problem: str = ""


@dataclass(frozen=True)
class _Look:
    session: Session
    settings: ProjectSettings
    storages: Mapping[str, str]  # of the stream tables that are sources, by key: what their readers read now
    now: str


def look(session: Session, settings: ProjectSettings, catalog: store.Catalog, now: str) -> list[SourceHealth]:
    by_source: dict[str, list[Consumer]] = defaultdict(list)
    for number, rows in catalog.dependencies.items():
        table = catalog.stream_tables.get(number)
        for row in rows if table is not None else ():
            if table is not None and row.source_type != VIEW:
                by_source[key_of(row.source)].append(Consumer(table, row, _version(table, row)))
    storages = {
        table.public.key: table.storage_relation for table in catalog.stream_tables.values() if table.is_populated
    }
    here = _Look(session, settings, storages, now)
    return [_of(here, consumers) for _, consumers in sorted(by_source.items())]


def tell(session: Session, settings: ProjectSettings, found: Sequence[SourceHealth], now: str) -> tuple[Event, ...]:
    """Events of what was found, each once as long as the stream table stands where it stands."""
    names = {WARNING: events.LAG_WARNING, CRITICAL: events.LAG_CRITICAL}
    due = [
        Event(
            names[each.level],
            each.slowest_pgt_id,
            now,
            each.slowest_consumer,
            {"source": each.source, "version": each.confirmed_version, "reason": each.problem},
        )
        for each in found
        if each.level in names
    ]
    if not due:
        return ()
    rows = session.query(reports.lag_events(settings.catalog_schema))
    known = {(str(r["event"]), int(r["pgt_id"]), str(r["source"]), str(r["version"])) for r in rows}
    new = tuple(
        event
        for event in due
        if (event.name, event.pgt_id, event.payload["source"], str(event.payload["version"])) not in known
    )
    if new:
        try:
            session.execute(store.append(settings.catalog_schema, "trickle health", [*map(store.event, new)]))
        except EnvironmentProblem:
            return ()  # another process writes to the embedded warehouse: the next look tells it
    return new


def _version(table: StreamTable, row: Dependency) -> SourceVersion | None:
    return next((v for v in table.frontier.values() if key_of(v.relation) == key_of(row.source)), None)


def _of(here: _Look, consumers: list[Consumer]) -> SourceHealth:
    """Of the tables that consumers stand on under one name, the one whose reader is worst off.

    Versions of different ones cannot be compared: version 3 of a table says nothing of who has version 100 of one that
    was dropped before.
    """
    # Who is only recomputed needs no old version, however far it is behind.
    captured = [each for each in consumers if each.row.cdc_mode != "NONE"]
    most = min(consumers, key=lambda each: _NEEDS.index(each.row.cdc_mode))
    by_table: dict[str, list[Consumer]] = defaultdict(list)
    for each in captured or consumers:
        by_table[each.version.table_id if each.version is not None else ""].append(each)
    found = [_of_one_table(here, min(group, key=_has), judged=bool(captured)) for group in by_table.values()]
    names = tuple(sorted(str(each.table.public) for each in consumers))
    worst_off = max(found, key=lambda each: (_LEVELS.index(each.level), bool(each.problem), each.lag_seconds or 0))
    return replace(worst_off, cdc_mode=most.row.cdc_mode, reason=most.row.cdc_reason, consumers=names)


def _has(consumer: Consumer) -> int:
    return consumer.version.read_version if consumer.version is not None else -1


def _of_one_table(here: _Look, slowest: Consumer, *, judged: bool) -> SourceHealth:
    row, version = slowest.row, slowest.version
    public = slowest.table.public
    found = SourceHealth(row.source, row.cdc_mode, row.cdc_reason, (), str(public), slowest.table.pgt_id)
    if version is None:
        return found
    found = replace(found, confirmed_version=version.read_version)
    storage = here.storages.get(key_of(row.source))
    anew = version.kind == "STREAM_TABLE" and storage not in (None, version.table_id)
    try:
        rows = _history(here.session, version)
        table = table_facts(here.session.query(delta.detail(version.table))[0])
    except WarehouseError as problem:
        if passes(problem):
            raise
        # Of the other sources there is something to tell all the same.
        if is_missing(problem):
            return replace(found, level=CRITICAL, problem="it is not there any more")
        return replace(found, level=CRITICAL, problem=f"it cannot be looked at: {problem.what}")
    commits = sorted(map(commit_facts, rows), key=lambda commit: commit.version)
    found = _measured(found, version, commits, table)
    if judged:
        found = _judged(found, here.settings, version, commits, table, here.now)
    if not anew:
        return found
    # Of what it goes on from, that is all; what it goes on to has versions of its own.
    reason = found.problem or "it was loaded anew since"
    return replace(found, newest_version=None, lag_versions=None, lag_bytes=None, lag_seconds=None, problem=reason)


def _history(session: Session, consumed: SourceVersion) -> Sequence[Mapping[str, Any]]:
    """Back to what was consumed, where it goes back so far."""
    rows = session.query(delta.history(consumed.table, COMMITS))
    since = max(int(row["version"]) for row in rows) - consumed.read_version + 1
    return session.query(delta.history(consumed.table, since)) if len(rows) == COMMITS < since else rows


def _measured(
    found: SourceHealth, consumed: SourceVersion, commits: Sequence[CommitFacts], table: TableFacts
) -> SourceHealth:
    newest = commits[-1]
    pending = [commit for commit in commits if commit.version > consumed.read_version]
    complete = commits[0].version <= consumed.read_version + 1
    until = None
    replaced = replaced_at(pending)
    if replaced is not None and table.retention is not None:
        until = table.retention.until(consumed.read_at, replaced).isoformat(timespec="seconds")
    moved = pending if not nothing_changed(pending) else []
    return replace(
        found,
        newest_version=newest.version,
        lag_versions=max(0, newest.version - consumed.read_version),
        lag_bytes=sum(commit.size for commit in moved) if complete else None,
        lag_seconds=int(_between(consumed.read_at, newest.committed_at)) if moved else 0,
        oldest_readable_version=oldest_readable(commits),
        readable_until=until,
    )


def _judged(
    found: SourceHealth,
    settings: ProjectSettings,
    consumed: SourceVersion,
    commits: Sequence[CommitFacts],
    table: TableFacts,
    now: str,
) -> SourceHealth:
    at = next((commit.committed_at for commit in commits if commit.version == consumed.read_version), None)
    if consumed.read_version > commits[-1].version or at not in (None, consumed.read_at):
        return replace(found, level=CRITICAL, problem="it was dropped and re-created")
    if at is None:
        return replace(
            found, level=CRITICAL, problem=f"its history does not go back to version {consumed.read_version}"
        )
    pending = [commit for commit in commits if commit.version > consumed.read_version]
    if nothing_changed(pending):
        return found
    if oldest_readable(commits) > consumed.read_version:
        return replace(found, level=CRITICAL, problem=f"it was vacuumed past version {consumed.read_version}")
    limits = Limits(settings.lag_warning_mb, settings.lag_critical_mb)
    left = kept(table.retention, consumed.read_at, replaced_at(pending) or now, now)
    passed = limits_passed(limits, found.lag_bytes or 0, left)
    return replace(found, level=worst(passed), problem="; ".join(reason for _, reason in passed))


def _between(one: str, other: str) -> float:
    return (datetime.fromisoformat(other) - datetime.fromisoformat(one)).total_seconds()
