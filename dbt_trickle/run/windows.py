"""Gathers what must be known of a source's window before its changes are read. Three statements as a rule:

one when no row moved or the old version is gone (DESCRIBE HISTORY), three for the feed and the difference
(DESCRIBE DETAIL and the old version's columns), and two more where the transaction log may be read. DESCRIBE DETAIL is
left out where the source was asked for it when it was pinned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dbt_trickle.capture import log
from dbt_trickle.capture.base import Appended, Batches, CommitFacts, LogFacts, NotStaged, Unlogged, Window
from dbt_trickle.capture.choose import Chosen, Mode, needs_log, unreadable
from dbt_trickle.capture.commits import commit_facts, nothing_changed
from dbt_trickle.capture.read import changes, disagreement
from dbt_trickle.capture.staged import batches, missing, question
from dbt_trickle.capture.table import TableFacts, table_facts
from dbt_trickle.capture.transition import FEED_WRONG, LOG_WRONG
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.names import Relation
from dbt_trickle.run.columns import described, names_and_types
from dbt_trickle.run.session import (
    Session,
    is_a_view,
    is_missing,
    is_not_versioned,
    is_too_old,
    passes,
    read_old_versions,
)

# Commits that may have come since the source was pinned; when there are more, the history is asked again.
_LATER = 8
# What Delta says of a version that is not to be had. It refuses one that is older than the table's
# `delta.deletedFileRetentionDuration` even where no VACUUM ever ran (docs/decisions.md).
_GONE = {
    "BEYOND_DELETED_FILE_RETENTION_DURATION": "older than its retention",
    "DELTA_VERSION_NOT_FOUND": "its log was cleaned up",
    "DELTA_TRUNCATED_TRANSACTION_LOG": "its log was cleaned up",
    "DELTA_LOG_FILE_NOT_FOUND": "its log was cleaned up",
    "DELTA_VERSIONS_NOT_CONTIGUOUS": "its log was cleaned up",
    "DELTA_FILE_NOT_FOUND": "its files were removed",
    "DELTA_CHANGE_DATA_FILE_NOT_FOUND": "its files were removed",
    "FILE_NOT_EXIST": "its files were removed",
    "FileNotFoundException": "its files were removed",
    "JsonParseException": "a commit of its transaction log cannot be read",
}


def gone(problem: WarehouseError) -> str | None:
    """Why what was to be read is not there any more, if that is what went wrong."""
    return next((reason for word, reason in _GONE.items() if word in problem.what), None)


def gather(
    session: Session,
    window: Window,
    known_at: str,
    mode: Mode,
    table: TableFacts | None = None,
    *,
    staged: bool = False,
) -> LogFacts:
    """`known_at`: when the old version was committed, as the frontier has it; `table`: where somebody has asked;

    `staged`: what refreshes of a stream table have staged may be read.
    """
    if window.was is not None:
        return _between(session, window, known_at)
    try:
        facts = _from_history(session, window, known_at)
    except WarehouseError as problem:
        if (reason := gone(problem)) is None:
            raise
        return LogFacts(window, (), known_at=known_at, gone=reason)
    if unreadable(facts) or nothing_changed(facts.commits):
        return facts
    table = table or table_facts(session.query(delta.detail(window.relation))[0])
    facts = _with_old_columns(session, replace(facts, properties=table.properties, size=table.size))
    if staged and not facts.gone:
        facts = replace(facts, staged=_staged(session, facts))
    if facts.gone or isinstance(facts.staged, Batches) or not needs_log(mode, facts):
        return facts
    return replace(facts, log=_log(session, facts, table.location, table.partitions))


def _staged(session: Session, facts: LogFacts) -> Batches | NotStaged | None:
    """Whether all that was staged of the window is there: in a version that nobody can take it away from any more."""
    found = batches(facts.commits, facts.window.old)
    if not isinstance(found, Batches):
        return found
    try:
        newest = session.query(delta.history(Relation.parse(found.table), 1))[0]
        found = replace(found, version=int(newest["version"]))
        counted = {str(row["token"]): int(row["staged"]) for row in session.query(question(found))}
    except WarehouseError as problem:
        if passes(problem):
            raise
        return NotStaged("what was staged cannot be read")
    return missing(facts.commits, counted) or found


def _between(session: Session, window: Window, known_at: str) -> LogFacts:
    """Of a window from one table to another: whether the old version is there, and its columns."""
    try:
        commits = _back_to(session, window.before, window.old, _LATER)
    except WarehouseError as problem:
        if not (is_missing(problem) or is_a_view(problem) or is_not_versioned(problem)):
            raise
        # With `expose: table` it was the public table, which is a view by now.
        return LogFacts(window, (), known_at=known_at, found_at=known_at, gone="the storage that was read is gone")
    facts = LogFacts(
        window,
        (),
        tuple(commit for commit in commits if commit.version > window.old),
        known_at,
        next((commit.committed_at for commit in commits if commit.version == window.old), None),
    )
    return facts if unreadable(facts) else _with_old_columns(session, facts)


def _with_old_columns(session: Session, facts: LogFacts) -> LogFacts:
    try:
        return replace(facts, old_columns=_columns_at(session, facts.window))
    except WarehouseError as problem:
        if (reason := gone(problem)) is None:
            raise
        return replace(facts, gone=reason)


def disagreed(session: Session, facts: LogFacts, feed: Chosen, log: Chosen) -> str:
    """Why two captures of a window do not tell the same; empty: they do. Their rows stay in the warehouse."""

    def differ(other: Chosen) -> bool:
        return bool(session.query(disagreement(facts.window, changes(feed, facts), changes(other, facts))))

    try:
        if not differ(log):
            return ""
        # The difference of the versions is what changed, by definition.
        is_feed = log.capture == "difference" or differ(Chosen("difference", ""))
        return FEED_WRONG if is_feed else LOG_WRONG
    except WarehouseError as problem:
        if passes(problem):
            raise
        reason = gone(problem) or problem.what.split("\n")[0]
        return f"its change feed and its log could not be compared: {reason}"


def _from_history(session: Session, window: Window, known_at: str) -> LogFacts:
    commits = _back_to(session, window.relation, window.old, window.new - window.old + 1 + _LATER)
    return LogFacts(
        window=window,
        commits=tuple(c for c in commits if window.old < c.version <= window.new),
        later=tuple(c for c in commits if c.version > window.new),
        known_at=known_at,
        found_at=next((c.committed_at for c in commits if c.version == window.old), None),
    )


def _back_to(session: Session, table: Relation, version: int, limit: int) -> list[CommitFacts]:
    """The commits from a version on. Versions have no gaps, so a count of rows reaches it."""
    commits = _history(session, table, limit)
    missing = commits[0].version - version
    if missing > 0 and len(commits) == limit:
        commits = _history(session, table, limit + missing + _LATER)
    return commits


def _history(session: Session, table: Relation, limit: int) -> list[CommitFacts]:
    """Oldest first."""
    rows = session.query(delta.history(table, limit))
    return sorted(map(commit_facts, rows), key=lambda commit: commit.version)


def _columns_at(session: Session, window: Window) -> tuple[tuple[str, str], ...]:
    """The columns of the old version. History does not tell of a schema that a write evolved."""
    query = f"SELECT * FROM {delta.at_version(window.before.sql, window.old)}"
    try:
        return described(session, query)
    except WarehouseError as problem:
        # By its age alone. Up to the window's first commit it was the newest version, so its files may all be there.
        if not is_too_old(problem) or not read_old_versions(session):
            raise
    return described(session, query)


def _log(session: Session, facts: LogFacts, location: str, partitions: Sequence[str]) -> Appended | Unlogged:
    obstacle = log.obstacle(facts, location, partitions)
    if obstacle is not None:
        return Unlogged(obstacle)
    try:
        actions = session.query(log.actions(facts.window, location))
    except WarehouseError as problem:
        if passes(problem):
            raise
        # Cleaned up, or kept where this connection cannot read: what matters is that the rows can be had.
        return Unlogged("its transaction log cannot be read")
    found = log.appended(facts.window, location, actions)
    if isinstance(found, Unlogged) or not found.files:
        return found
    try:
        written = names_and_types(session.query(log.schema(found)))
    except WarehouseError as problem:
        if passes(problem):
            raise
        # An account may be allowed to read the table, and not its files by their paths.
        return Unlogged("its files cannot be read by their paths")
    return log.as_written(facts.window, found, written)
