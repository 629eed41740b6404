"""Whether a storage holds what the catalog knows, or somebody else has written to it.

Looked at on each run, also when nothing has changed: so it has to be cheap. Delta numbers its commits without
gaps: while the file of the last known commit is there and that of the next one is not, nobody has written. One
listing tells that of all stream tables of a run; the history is only read where it tells something else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dbt_trickle.catalog.state import ForeignWrite, StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Commit
from dbt_trickle.names import Relation
from dbt_trickle.run.session import Session, is_missing

FIRST_LOOK = 10
AT_ONCE = 100
Listed = Mapping[int, str]  # version → the time of its file


@dataclass(frozen=True)
class Storage:
    """What was found: `state` remembers that it was looked at."""

    state: StreamTable
    missing: bool = False
    foreign: ForeignWrite | None = None
    behind: bool = False  # another run has committed to it since

    @property
    def touched(self) -> str:
        if self.foreign is None:
            return ""
        return f"somebody else wrote to its storage ({self.foreign.operation}, version {self.foreign.version})"


def list_commits(session: Session, states: Iterable[StreamTable]) -> dict[int, Listed]:
    """Of each stream table the files of its last known commit and of the next one, as far as they are there."""
    asked: dict[str, tuple[int, int]] = {}
    folders: dict[str, list[str]] = defaultdict(list)
    for state in states:
        if not state.is_populated or not delta.can_be_listed(state.storage_path):
            continue
        for version in (state.seen_version, state.seen_version + 1):
            path = delta.commit_file(state.storage_path, version)
            asked[path] = state.pgt_id, version
            folders[state.storage_path.rpartition("/")[0]].append(path)
    listed: dict[int, dict[int, str]] = defaultdict(dict)
    for folder, paths in folders.items():
        for start in range(0, len(paths), 2 * AT_ONCE):
            for path, at in _there(session, folder, paths[start : start + 2 * AT_ONCE]):
                if path in asked:
                    number, version = asked[path]
                    listed[number][version] = at
    return dict(listed)


def _there(session: Session, folder: str, paths: Sequence[str]) -> list[tuple[str, str]]:
    try:
        rows = session.query(delta.files_there(folder, paths))
    except WarehouseError:
        # None is there, or this user may not list them: each storage's history will tell.
        return []
    return [(str(row["path"]), delta.instant(row["modificationTime"])) for row in rows]


def stands(state: StreamTable, listed: Listed, *, ours: bool) -> bool:
    """Whether it is as its state says, and its history would tell no more. `ours`: this run has brought it there."""
    # Of what came behind its last commit only the time of its file is known, and a frontier has the history's.
    known = state.hidden_write is None and bool(state.storage_at) and state.seen_version <= state.storage_version
    return known and (ours or listed == {state.seen_version: state.seen_at})


def look(session: Session, state: StreamTable, listed: Listed) -> Storage:
    if listed == {state.seen_version: state.seen_at}:
        return Storage(state, foreign=state.hidden_write)
    try:
        commits = since(session, state)
        path = state.storage_path or path_of(session, state.storage)
    except WarehouseError as problem:
        if is_missing(problem):
            return Storage(state, missing=True)
        raise
    foreign = foreign_write(commits, state)
    if foreign is not None:
        return Storage(state, foreign=ForeignWrite(foreign.operation, foreign.version))
    newest = commits[0]
    at = listed.get(newest.version, newest.committed_at)
    seen = replace(state, storage_path=path, seen_version=newest.version, seen_at=at)
    behind = _newest_batch(commits, state.pgt_id) > state.batch
    return Storage(seen, foreign=state.hidden_write, behind=behind)


def _newest_batch(commits: Sequence[Commit], pgt_id: int) -> int:
    markers = (commit.marker for commit in commits)
    return next((marker.batch for marker in markers if marker is not None and marker.pgt_id == pgt_id), 0)


def path_of(session: Session, storage: Relation) -> str:
    """Where the table lies. Not by DESCRIBE DETAIL, which reads the whole state of a table: a second or two."""
    rows = session.query(f"DESCRIBE TABLE EXTENDED {storage.sql}")
    return next((str(row["data_type"]).rstrip("/") for row in reversed(rows) if row["col_name"] == "Location"), "")


def foreign_write(commits: Sequence[Commit], state: StreamTable) -> Commit | None:
    """The newest commit that may have changed rows and is not ours. `commits` are newest first.

    One of ours that the catalog has not heard of is none: a run that died made it, or one that still runs.
    """
    if commits[0].version < state.storage_version:
        return commits[0]  # another table, under the same name
    for commit in commits:
        ours = commit.marker is not None and commit.marker.pgt_id == state.pgt_id
        if commit.version == state.storage_version:
            return None if ours else commit
        if commit.version < state.storage_version:
            return None  # its own commit has been cleaned out of the log
        if commit.marker is not None and ours:
            if commit.marker.replaces:
                return None
        elif commit.operation not in delta.NO_CHANGE:
            return commit
    return None


def doubted(session: Session, before: StreamTable, after: StreamTable) -> StreamTable:
    """What somebody wrote after this run had looked, and before it committed, lies hidden below the commit.

    So it is remembered, and the next look finds it like any other: what follows hangs on that run's `refresh_mode`.
    """
    if before.storage_relation != after.storage_relation or after.storage_version == before.storage_version + 1:
        return after
    below = [commit for commit in since(session, before) if commit.version <= after.storage_version]
    foreign = foreign_write(below, before)
    if foreign is None:
        return after
    return replace(after, hidden_write=ForeignWrite(foreign.operation, foreign.version))


def since(session: Session, state: StreamTable) -> list[Commit]:
    """The history back to the commit that the catalog knows."""
    limit = FIRST_LOOK
    while True:
        commits = [delta.commit_of(row) for row in session.query(delta.history(state.storage, limit))]
        if len(commits) < limit or commits[-1].version <= state.storage_version:
            return commits
        limit = max(limit + 1, commits[0].version - state.storage_version + 1)
