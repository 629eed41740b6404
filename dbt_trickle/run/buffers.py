"""A stream table's own change feed, and the view that shows it: there as long as another stream table reads it.

Nothing depends on it: who reads a stream table goes by its versions where there is no feed. So what fails here is told,
and no more; what a run that dies leaves undone, the next one does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dbt_trickle.capture.commits import commit_facts, nothing_changed
from dbt_trickle.capture.table import FEED_PROPERTY, feed_is_on
from dbt_trickle.catalog.state import Buffer, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import TrickleError
from dbt_trickle.formats import delta
from dbt_trickle.names import Relation, changes_view, literal
from dbt_trickle.plan import buffer as view
from dbt_trickle.run.session import Session

# The view shows as much at least, and twice that at most: Delta keeps what a feed is made of for a week.
SHOWN = timedelta(days=3)
# Who has switched it on: a feed that the user has asked for (`tblproperties`) stays when the last reader goes.
OURS = "trickle.feed"
PROPERTIES = {FEED_PROPERTY: "true", OURS: "true"}
_COMMITS = 20


@dataclass(frozen=True)
class Buffers:
    session: Session
    settings: ProjectSettings
    now: str
    warn: Callable[[str], None]

    def kept(self, state: StreamTable, is_read: bool) -> StreamTable:
        """The state with the buffer that it is to have; as it was where that failed."""
        if not state.is_populated:
            return state
        try:
            return self._settled(state, is_read)
        except TrickleError as problem:
            self.warn(
                f"{state.public}: its changes cannot be shown in {self._view(state)}: {problem}\n"
                "Its content is right, and so is that of the stream tables that read it. The next run tries it again."
            )
            return state

    def _settled(self, state: StreamTable, is_read: bool) -> StreamTable:
        buffer = state.buffer
        if not is_read:
            return closed(self.session, self.settings, state) if buffer is not None else state
        if buffer is None or (buffer.storage, buffer.generation) != (state.storage_relation, state.generation):
            return self._opened(state)
        if datetime.fromisoformat(self.now) - datetime.fromisoformat(buffer.moved_at) >= SHOWN:
            moved = replace(buffer, since=buffer.later, later=state.stored_version, moved_at=self.now)
            return self._shown(state, moved)
        return state

    def _opened(self, state: StreamTable) -> StreamTable:
        """Whatever a run that died has done of it already."""
        if not feed_is_on(_properties(self.session, state)):
            given = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in PROPERTIES.items())
            self.session.execute(f"ALTER TABLE {state.storage.sql} SET TBLPROPERTIES ({given})")
        rows = self.session.query(delta.history(state.storage, _COMMITS))
        commits = [commit_facts(row) for row in rows]
        newest = commits[0]
        since = next((commit.version for commit in commits if commit.feed), newest.version)
        if nothing_changed(commit for commit in commits if commit.version > state.stored_version):
            # Or the next run would have to look who has written there.
            state = replace(state, seen_version=newest.version, seen_at=newest.committed_at)
        buffer = Buffer(state.storage_relation, state.generation, since, newest.version, self.now)
        return self._shown(state, buffer)

    def _shown(self, state: StreamTable, buffer: Buffer) -> StreamTable:
        history = Relation.of(self.settings.catalog_schema, "pgt_refresh_history")
        text, name = view.query(state, buffer, history), self._view(state).sql
        # ALTER VIEW fails no reader (docs/decisions.md); a view that is not there has none.
        there = self.session.query(
            f"SHOW VIEWS IN {Relation((self.settings.change_schema,)).sql} LIKE {literal(self._view(state).identifier)}"
        )
        self.session.execute(f"ALTER VIEW {name} AS {text}" if there else f"CREATE VIEW {name} AS {text}")
        return replace(state, buffer=buffer)

    def _view(self, state: StreamTable) -> Relation:
        return changes_view(self.settings.change_schema, state.pgt_id)


def closed(session: Session, settings: ProjectSettings, state: StreamTable) -> StreamTable:
    session.execute(f"DROP VIEW IF EXISTS {changes_view(settings.change_schema, state.pgt_id).sql}")
    if _properties(session, state).get(OURS) == "true":
        keys = ", ".join(map(literal, PROPERTIES))
        session.execute(f"ALTER TABLE {state.storage.sql} UNSET TBLPROPERTIES IF EXISTS ({keys})")
    return replace(state, buffer=None)


def _properties(session: Session, state: StreamTable) -> dict[str, str]:
    rows = session.query(f"SHOW TBLPROPERTIES {state.storage.sql}")
    return {str(row["key"]): str(row["value"]) for row in rows}
