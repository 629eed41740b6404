"""How one stream table's sources are captured: as it was known, what this refresh learns, and what follows.

Each refresh has one of these beside its phases. It is asked when a window is read, and when the refresh has
succeeded it says what the catalog is to remember and which events there were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import xxhash

from dbt_trickle.apply.shape import Shape
from dbt_trickle.capture import transition
from dbt_trickle.capture.base import Batches, LogFacts, Window
from dbt_trickle.capture.choose import Chosen, Refused
from dbt_trickle.capture.commits import nothing_changed, replaced_at
from dbt_trickle.capture.lag import CRITICAL, WARNING, Limits, kept, limits_passed
from dbt_trickle.capture.table import TableFacts, table_facts
from dbt_trickle.capture.transition import Capturing, Seen
from dbt_trickle.catalog import events
from dbt_trickle.catalog.events import Event
from dbt_trickle.catalog.state import Dependency, Unversioned
from dbt_trickle.config import ProjectSettings
from dbt_trickle.delta.context import read_columns
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import VIEW, Frontier, SourceVersion
from dbt_trickle.names import key_of
from dbt_trickle.run import windows
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.pins import PinnedQuery, dependencies
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

_ENDINGS = {"complete": events.TRANSITION_COMPLETE, "failed": events.TRANSITION_FAILED}
_LAGS = {WARNING: events.LAG_WARNING, CRITICAL: events.LAG_CRITICAL}
A_VIEW = "a view: the tables below it are captured"
Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Read:
    """What a window told."""

    columns: Columns
    seen: Seen
    table: TableFacts | None = None
    passed: tuple[tuple[str, str], ...] = ()  # levels of its lag, and why
    rival: Chosen | None = None


@dataclass
class Captures:
    request: Request
    settings: ProjectSettings
    known: tuple[Dependency, ...]
    before: Frontier
    tables: Mapping[str, TableFacts]  # of the sources that were asked for them when they were pinned
    now: str
    _read: dict[str, _Read] = field(default_factory=dict, init=False)

    def read(
        self, session: Session, new: SourceVersion, old: SourceVersion, columns: Columns
    ) -> tuple[LogFacts, Chosen | Refused | None]:
        """A window's facts and what reads it; none where no row moved."""
        was = old.table if old.table != new.table else None
        window = Window(new.table, old.read_version, new.read_version, columns, was)
        mode, capturing = self.request.capture_of(new.relation), self._capturing(new)
        asked, known = transition.asks(mode, capturing), self.tables.get(new.key)
        facts = windows.gather(session, window, old.read_at, asked, known, staged=mode != "log")
        if facts.commits and facts.is_whole and facts.found_at == old.read_at and nothing_changed(facts.commits):
            self._read[new.key] = _Read(columns, Seen())
            return facts, None
        found = transition.reading(mode, capturing, facts)
        table = TableFacts(new.table_id, facts.properties, facts.size) if facts.size is not None else None
        seen = Seen(True, table.feed if table else None, table.mark(columns) if table else "")
        staged = isinstance(facts.staged, Batches)
        seen = replace(seen, serves=found.serves, obstacle=found.obstacle, staged=staged)
        self._read[new.key] = _Read(columns, seen, table, self._lag(facts, table), found.rival)
        return facts, found.chosen

    def compared(self, session: Session, key: str, facts: LogFacts, chosen: Chosen) -> Chosen:
        """What reads a window that is going to be read: with a rival, the two are compared before."""
        read = self._read[key]
        if read.rival is None:
            return chosen
        problem = windows.disagreed(session, facts, chosen, read.rival)
        self._read[key] = replace(read, seen=replace(read.seen, agreed=not problem, problem=problem))
        wrong = problem in (transition.LOG_WRONG, transition.FEED_WRONG)
        return Chosen("difference", problem) if wrong else chosen

    def settle(
        self,
        session: Session,
        frontier: Frontier,
        unversioned: Sequence[Unversioned],
        shape: Shape | None = None,
        recomputed: str = "",
    ) -> tuple[tuple[Dependency, ...] | None, tuple[Event, ...]]:
        """What is remembered of a refresh that succeeded (none: as it was), and its events.

        `recomputed`: why nothing is captured. Without that and a shape, nothing but the windows was looked at.
        """
        rows, told = [], []
        by_name = {version.relation: version for version in frontier.values()}
        for row in dependencies(self.request.pgt_id, frontier, tuple(unversioned)):
            version = by_name.get(row.source)
            if version is None:
                rows.append(row)
            elif version.kind == VIEW:
                rows.append(replace(row, cdc_reason=A_VIEW, confirmed_version=None))
            elif recomputed:
                rows.append(replace(row, cdc_reason=recomputed))
            else:
                captured, found = self._settled(session, row, version, shape)
                rows.append(captured)
                told += found
        return (tuple(rows) if tuple(rows) != self.known else None), tuple(told)

    def _settled(
        self, session: Session, row: Dependency, version: SourceVersion, shape: Shape | None
    ) -> tuple[Dependency, list[Event]]:
        known, read = self._dependency(version), self._read.get(version.key)
        if read is None and shape is None:
            kept = known or row
            return replace(kept, confirmed_version=row.confirmed_version, source_table_id=row.source_table_id), []
        # What was read may have been for a query that is another one now.
        columns = read_columns(shape.tree, version.key) if shape is not None else read.columns if read else ()
        if read is None or read.table is None:
            read = self._unread(session, version, columns, read)
        before, mode = self._capturing(version), self.request.capture_of(version.relation)
        stepped = transition.step(mode, before, read.seen, self.now, self.settings.transition_timeout_seconds)
        after = stepped.after
        settled = replace(
            row,
            columns_used=tuple(name for name, _ in columns),
            schema_fingerprint=xxhash.xxh64_hexdigest(repr(columns).encode()),
            cdc_mode=after.state,
            cdc_reason=after.reason,
            transition_started_at=after.since,
            mark=after.mark,
            transition_failed=after.failed,
            retention_seconds=_retention_seconds(read.table, known),
        )
        consumed = known.confirmed_version if known is not None else None
        told = [self._event(_LAGS[level], version, version=consumed, reason=why) for level, why in read.passed]
        if stepped.ending is not None:
            told.append(self._event(_ENDINGS[stepped.ending], version, cdc_mode=after.state, reason=after.reason))
        return settled, told

    def _unread(self, session: Session, version: SourceVersion, columns: Columns, read: _Read | None) -> _Read:
        """No window told of the table. What a source begins with has to be known, and is asked for once."""
        table, capturing = self.tables.get(version.key), self._capturing(version)
        begins = capturing is None or capturing.state == "NONE"
        if table is None and begins and version.kind == "TABLE":
            table = table_facts(session.query(delta.detail(version.table))[0])
        before = self.before.get(version.key)
        moved = read.seen.moved if read is not None else before is not None and not version.same_state(before)
        seen = Seen(moved) if table is None else Seen(moved, table.feed, table.mark(columns))
        return _Read(columns, seen, table, read.passed if read is not None else ())

    def _lag(self, facts: LogFacts, table: TableFacts | None) -> tuple[tuple[str, str], ...]:
        limits = Limits(self.settings.lag_warning_mb, self.settings.lag_critical_mb)
        retention = table.retention if table is not None else None
        replaced = replaced_at(facts.commits) or facts.known_at
        return limits_passed(limits, facts.written, kept(retention, facts.known_at, replaced, self.now))

    def _event(self, name: str, source: SourceVersion, **payload: Any) -> Event:
        return Event(name, self.request.pgt_id, self.now, self.request.name, {"source": source.relation, **payload})

    def _dependency(self, version: SourceVersion) -> Dependency | None:
        return next((row for row in self.known if key_of(row.source) == key_of(version.relation)), None)

    def _capturing(self, version: SourceVersion) -> Capturing | None:
        row = self._dependency(version)
        if row is None:
            return None
        return Capturing(
            row.cdc_mode,  # type: ignore[arg-type]
            row.cdc_reason,
            row.transition_started_at,
            row.mark,
            row.transition_failed,
        )


def of(request: Request, run: Invocation, before: Frontier, pinned: PinnedQuery, now: str) -> Captures:
    return Captures(request, run.settings, run.dependencies(request.pgt_id), before, pinned.tables, now)


def _retention_seconds(table: TableFacts | None, known: Dependency | None) -> int | None:
    if table is None:
        return known.retention_seconds if known is not None else None
    return int(table.retention.shortest.total_seconds()) if table.retention is not None else None
