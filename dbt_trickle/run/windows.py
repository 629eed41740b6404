"""Gathers what must be known of a source's window before its changes are read. Three statements as a rule:

one when no row moved or the old version is gone (DESCRIBE HISTORY), three for the feed and the difference
(DESCRIBE DETAIL and the old version's columns), and two more where the transaction log may be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbt_trickle.capture import log
from dbt_trickle.capture.base import Appended, CommitFacts, LogFacts, Unlogged, Window
from dbt_trickle.capture.choose import Mode, needs_log, unreadable
from dbt_trickle.capture.commits import commit_facts, nothing_changed
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.run.session import Session

# Commits that may have come since the source was pinned; when there are more, the history is asked again.
_LATER = 8


def gather(session: Session, window: Window, known_at: str, mode: Mode) -> LogFacts:
    """`known_at`: when the old version was committed, as the frontier has it."""
    facts = _from_history(session, window, known_at)
    if unreadable(facts) or nothing_changed(facts.commits):
        return facts
    detail = session.query(delta.detail(window.relation))[0]
    facts = replace(facts, properties=_map(detail.get("properties")), old_columns=_columns_at(session, window))
    if not needs_log(mode, facts):
        return facts
    return replace(facts, log=_log(session, facts, str(detail["location"]), _list(detail.get("partitionColumns"))))


def _from_history(session: Session, window: Window, known_at: str) -> LogFacts:
    """The commits from the old version on. Versions have no gaps, so a count of rows reaches it."""
    limit = window.new - window.old + 1 + _LATER
    commits = _history(session, window, limit)
    missing = commits[0].version - window.old
    if missing > 0 and len(commits) == limit:
        commits = _history(session, window, limit + missing + _LATER)
    return LogFacts(
        window=window,
        commits=tuple(c for c in commits if window.old < c.version <= window.new),
        later=tuple(c for c in commits if c.version > window.new),
        known_at=known_at,
        found_at=next((c.committed_at for c in commits if c.version == window.old), None),
    )


def _history(session: Session, window: Window, limit: int) -> list[CommitFacts]:
    """Oldest first."""
    rows = session.query(delta.history(window.relation, limit))
    return sorted(map(commit_facts, rows), key=lambda commit: commit.version)


def _columns_at(session: Session, window: Window) -> tuple[tuple[str, str], ...]:
    """The columns of the old version. History does not tell of a schema that a write evolved."""
    old = delta.at_version(window.relation.sql, window.old)
    rows = session.query(f"DESCRIBE QUERY SELECT * FROM {old}")
    return tuple((str(row["col_name"]), str(row["data_type"])) for row in rows)


def _log(session: Session, facts: LogFacts, location: str, partitions: Sequence[str]) -> Appended | Unlogged:
    obstacle = log.obstacle(facts, location, partitions)
    if obstacle is not None:
        return Unlogged(obstacle)
    try:
        actions = session.query(log.actions(facts.window, location))
    except WarehouseError:
        # Cleaned up, or kept where this connection cannot read: what matters is that the rows can be had.
        return Unlogged("its transaction log cannot be read")
    found = log.appended(facts.window, location, actions)
    if isinstance(found, Unlogged) or not found.files:
        return found
    written = [(str(row["col_name"]), str(row["data_type"])) for row in session.query(log.schema(found))]
    return log.as_written(facts.window, found, written)


def _map(value: Any) -> Mapping[str, str]:
    found = json.loads(value) if isinstance(value, str) else value
    return dict(found or {})


def _list(value: Any) -> Sequence[str]:
    found = json.loads(value) if isinstance(value, str) else value
    return [str(entry) for entry in found or ()]
