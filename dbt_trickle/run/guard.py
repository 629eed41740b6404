"""Whether a storage holds what the catalog knows, or somebody else has written to it.

Looked at on each run, also when nothing has changed: so it has to be cheap, and is asked in two steps. Each
commit, whatever it does, moves the time of the table's newest one; only where that has moved is the history read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Commit
from dbt_trickle.run.session import Session, is_missing

FIRST_LOOK = 10
# Actions that replace all rows: what stood there before them is gone.
_REPLACING = ("FULL", "REINITIALIZE", "ALTER")


@dataclass(frozen=True)
class Storage:
    """What was found: `state` remembers that it was looked at."""

    state: StreamTable
    missing: bool = False
    foreign: Commit | None = None

    @property
    def touched(self) -> str:
        if self.foreign is None:
            return ""
        return f"somebody else wrote to its storage ({self.foreign.operation}, version {self.foreign.version})"


def look(session: Session, state: StreamTable) -> Storage:
    try:
        newest = delta.last_modified(session.query(delta.detail(state.storage))[0])
        if newest == state.storage_seen:
            return Storage(state)
        commits = _since(session, state)
    except WarehouseError as problem:
        if is_missing(problem):
            return Storage(state, missing=True)
        raise
    foreign = foreign_write(commits, state)
    if foreign is None:
        # Of the two answers the older one is remembered: what was written between them is seen the next time.
        return Storage(replace(state, storage_seen=newest))
    return Storage(state, foreign=foreign)


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
            if commit.marker.action in _REPLACING:
                return None
        elif commit.operation not in delta.NO_CHANGE:
            return commit
    return None


def _since(session: Session, state: StreamTable) -> list[Commit]:
    """The history back to the commit that the catalog knows."""
    limit = FIRST_LOOK
    while True:
        commits = [delta.commit_of(row) for row in session.query(delta.history(state.storage, limit))]
        if len(commits) < limit or commits[-1].version <= state.storage_version:
            return commits
        limit = max(limit + 1, commits[0].version - state.storage_version + 1)
