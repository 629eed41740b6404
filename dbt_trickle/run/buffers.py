"""A stream table's own change feed, and the view that shows it: there as long as another stream table reads it.

With `change_buffer: table` its refreshes stage what they change in a table instead, and the view shows that
(run/change_table.py).

Nothing depends on it: who reads a stream table goes by its versions where there is no feed. So what fails here is told,
and no more; what a run that dies leaves undone, the next one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dbt_trickle.capture.commits import commit_facts, nothing_changed
from dbt_trickle.capture.table import FEED_PROPERTY, feed_is_on
from dbt_trickle.catalog.state import Buffer, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import TrickleError, WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.names import Relation, changes_view, literal
from dbt_trickle.plan import buffer as view
from dbt_trickle.run import change_table, retire
from dbt_trickle.run.session import Session, is_conflict, is_missing

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
            self._tell(state, problem)
            return state

    def emptied(self, state: StreamTable, consumers: Iterable[StreamTable]) -> StreamTable:
        """Before a refresh stages its own: without what is of no use any more."""
        if state.buffer is None or not state.buffer.table:
            return state
        try:
            change_table.empty(self.session, Relation.parse(state.buffer.table), state, consumers)
        except WarehouseError as problem:
            if is_missing(problem):  # dropped by hand
                return self.kept(replace(state, buffer=None), True)
            if not is_conflict(problem):  # else another run is at it
                self._tell(state, problem)
        return state

    def _tell(self, state: StreamTable, problem: TrickleError) -> None:
        self.warn(
            f"{state.public}: its changes cannot be shown in {self._view(state)}: {problem}\n"
            "Its content is right, and so is that of the stream tables that read it. The next run tries it again."
        )

    def _settled(self, state: StreamTable, is_read: bool) -> StreamTable:
        buffer = state.buffer
        if not is_read:
            return closed(self.session, self.settings, state) if buffer is not None else state
        staging = state.change_buffer == "table"
        if buffer is None or (buffer.storage, buffer.generation) != (state.storage_relation, state.generation):
            return self._staging(state) if staging else self._opened(state)
        if staging != bool(buffer.table):
            return self._staging(state) if staging else self._opened(state)
        if buffer.left and _age(buffer.moved_at, self.now) >= retire.GRACE:
            change_table.drop(self.session, self.settings, state, buffer.left)
            return replace(state, buffer=replace(buffer, left=()))
        if staging:
            return state
        if _age(buffer.moved_at, self.now) >= SHOWN:
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
        buffer = Buffer(state.storage_relation, state.generation, since, newest.version, self.now, left=_left(state))
        return self._shown(state, buffer)

    def _staging(self, state: StreamTable) -> StreamTable:
        """A feed that another release, or `change_buffer: feed`, has switched on is of no use any more."""
        if state.buffer is not None and not state.buffer.table:
            state = self._without_feed(state)
        table = change_table.create(self.session, self.settings, state)
        left = tuple(generation for generation in _left(state) if generation != state.generation)
        version = state.storage_version
        buffer = Buffer(state.storage_relation, state.generation, version, version, self.now, str(table), left)
        return self._shown(state, buffer)

    def _without_feed(self, state: StreamTable) -> StreamTable:
        if not _switched_off(self.session, state):
            return state
        commits = [commit_facts(row) for row in self.session.query(delta.history(state.storage, _COMMITS))]
        if nothing_changed(commit for commit in commits if commit.version > state.stored_version):
            return replace(state, seen_version=commits[0].version, seen_at=commits[0].committed_at)
        return state

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
    change_table.drop(session, settings, state, _left(state))
    _switched_off(session, state)
    return replace(state, buffer=None)


def _switched_off(session: Session, state: StreamTable) -> bool:
    if _properties(session, state).get(OURS) != "true":
        return False
    keys = ", ".join(map(literal, PROPERTIES))
    session.execute(f"ALTER TABLE {state.storage.sql} UNSET TBLPROPERTIES IF EXISTS ({keys})")
    return True


def _left(state: StreamTable) -> tuple[int, ...]:
    """The generations that have such a table, as far as is known."""
    buffer = state.buffer
    if buffer is None:
        return ()
    return (*buffer.left, buffer.generation) if buffer.table else buffer.left


def _age(since: str, now: str) -> timedelta:
    return datetime.fromisoformat(now) - datetime.fromisoformat(since)


def _properties(session: Session, state: StreamTable) -> dict[str, str]:
    rows = session.query(f"SHOW TBLPROPERTIES {state.storage.sql}")
    return {str(row["key"]): str(row["value"]) for row in rows}
