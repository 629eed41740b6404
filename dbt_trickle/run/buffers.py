"""A stream table's own change feed, and the view that shows it: there as long as another stream table reads it.

With `change_buffer: table` its refreshes stage what they change in a table instead, and the view shows that
(run/change_table.py).

Nothing depends on it: who reads a stream table goes by its versions where there is no feed. So what fails here is told,
and no more; what a run that dies leaves undone, the next one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from dbt_trickle.capture.base import CommitFacts
from dbt_trickle.capture.commits import commit_facts, nothing_changed
from dbt_trickle.capture.table import FEED_PROPERTY, feed_is_on
from dbt_trickle.catalog.state import Buffer, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import TrickleError, WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.names import Relation, changes_view, literal
from dbt_trickle.plan import buffer as view
from dbt_trickle.run import change_table, recover, retire
from dbt_trickle.run.session import Session, is_conflict, is_lost, is_missing

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

    def kept(self, state: StreamTable, is_read: bool, *, before_commit: bool = False) -> StreamTable:
        """The state with the buffer that it is to have; as it was where that failed."""
        if state.buffer is None and not is_read:
            return state
        try:
            return self._settled(state, is_read)
        except TrickleError as problem:
            if before_commit and isinstance(problem, WarehouseError) and is_lost(problem):
                raise  # the next connection has nothing of what a model's hooks have set
            return self._left(state, problem)

    def after_change(self, state: StreamTable, is_read: bool) -> StreamTable:
        """It has other readers than before, and what its state says of its buffer need not be so: a run that brings a
        reader, or takes one, tells it only of what it refreshes itself."""
        try:
            trusted = is_read and (state.buffer is None or self._is_there(state, state.buffer))
            return self._settled(state if trusted else replace(state, buffer=None), is_read)
        except TrickleError as problem:
            return self._left(state, problem)

    def _left(self, state: StreamTable, problem: TrickleError) -> StreamTable:
        self.warn(
            f"{state.public}: {self._view(state)}, which shows its changes, is not as it should be: {problem}\n"
            "Its content is right, and so is that of the stream tables that read it. Its next run tries it again."
        )
        return state

    def emptied(self, state: StreamTable, consumers: Iterable[StreamTable]) -> StreamTable:
        """Before a refresh stages its own: without what is of no use any more."""
        if state.buffer is None or not state.buffer.table:
            return state
        try:
            change_table.empty(self.session, Relation.parse(state.buffer.table), state, consumers)
        except WarehouseError as problem:
            if is_lost(problem):
                raise
            if is_missing(problem):  # dropped by hand
                return self.kept(replace(state, buffer=None), True, before_commit=True)
            if not is_conflict(problem):  # else another run is at it
                return self._left(state, problem)
        return state

    def _settled(self, state: StreamTable, is_read: bool) -> StreamTable:
        buffer = state.buffer
        if not state.is_populated:
            return state
        if not is_read:
            return self._closed(state)
        staging = state.change_buffer == "table"
        if buffer is None or (buffer.storage, buffer.generation) != (state.storage_relation, state.generation):
            return self._made(state)
        if staging != bool(buffer.table):
            return self._made(state)
        if buffer.left and retire.age(buffer.moved_at, self.now) >= retire.GRACE:
            change_table.drop(self.session, self.settings, state, buffer.left)
            return replace(state, buffer=replace(buffer, left=()))
        if not staging and retire.age(buffer.moved_at, self.now) >= SHOWN:
            return self._moved(state, buffer)
        return state

    def _made(self, state: StreamTable) -> StreamTable:
        return self._staging(state) if state.change_buffer == "table" else self._opened(state)

    def _is_there(self, state: StreamTable, buffer: Buffer) -> bool:
        recorded = buffer.generation in self._tables(state) if buffer.table else self._feed_is_on(state)
        return recorded and self._has_view(state)

    def _feed_is_on(self, state: StreamTable) -> bool:
        return feed_is_on(_properties(self.session, state))

    def _tables(self, state: StreamTable) -> list[int]:
        """The generations that have a table of what they stage."""
        found = recover.all_tables(self.session, self.settings.change_schema, state.pgt_id).changes
        return [generation for _, generation in sorted(found)]

    def _moved(self, state: StreamTable, buffer: Buffer) -> StreamTable:
        if not self._feed_is_on(state):
            return self._opened(state)
        rows = self.session.query(delta.history(state.storage, state.stored_version - buffer.later + _COMMITS))
        switched = (commit.version for commit in map(commit_facts, rows) if commit.feed)
        since = max((buffer.later, *switched))
        moved = replace(buffer, since=since, later=max(since, state.stored_version), moved_at=self.now)
        return self._shown(state, moved)

    def _opened(self, state: StreamTable) -> StreamTable:
        """Whatever a run that died has done of it already."""
        if not self._feed_is_on(state):
            given = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in PROPERTIES.items())
            self.session.execute(f"ALTER TABLE {state.storage.sql} SET TBLPROPERTIES ({given})")
        commits = self._commits(state)
        newest = commits[0]
        since = next((commit.version for commit in commits if commit.feed), newest.version)
        state = _seen(state, commits)
        at = state.storage_relation, state.generation, since, newest.version, self.now
        return self._shown(state, Buffer(*at, left=_generations(state)))

    def _staging(self, state: StreamTable) -> StreamTable:
        """A feed that another release, or `change_buffer: feed`, has switched on is of no use any more."""
        if state.buffer is not None and not state.buffer.table:
            state = self._without_feed(state)
        table = change_table.create(self.session, self.settings, state)
        left = tuple(generation for generation in _generations(state) if generation != state.generation)
        version = state.storage_version
        buffer = Buffer(state.storage_relation, state.generation, version, version, self.now, str(table), left)
        return self._shown(state, buffer)

    def _commits(self, state: StreamTable) -> list[CommitFacts]:
        return [commit_facts(row) for row in self.session.query(delta.history(state.storage, _COMMITS))]

    def _without_feed(self, state: StreamTable) -> StreamTable:
        if not _switched_off(self.session, state):
            return state
        return _seen(state, self._commits(state))

    def _shown(self, state: StreamTable, buffer: Buffer) -> StreamTable:
        history = Relation.of(self.settings.catalog_schema, "pgt_refresh_history")
        text, name = view.query(state, buffer, history), self._view(state).sql
        # ALTER VIEW fails no reader (docs/decisions.md); a view that is not there has none.
        verb = "ALTER" if self._has_view(state) else "CREATE"
        self.session.execute(f"{verb} VIEW {name} AS {text}")
        return replace(state, buffer=buffer)

    def _closed(self, state: StreamTable) -> StreamTable:
        self.session.execute(f"DROP VIEW IF EXISTS {self._view(state).sql}")
        known = self._tables(state) if state.buffer is None else _generations(state)
        change_table.drop(self.session, self.settings, state, known)
        _switched_off(self.session, state)
        return replace(state, buffer=None)

    def _has_view(self, state: StreamTable) -> bool:
        schema, name = Relation((self.settings.change_schema,)), self._view(state).identifier
        return bool(self.session.query(f"SHOW VIEWS IN {schema.sql} LIKE {literal(name)}"))

    def _view(self, state: StreamTable) -> Relation:
        return changes_view(self.settings.change_schema, state.pgt_id)


def _seen(state: StreamTable, commits: Sequence[CommitFacts]) -> StreamTable:
    """With what its feed's switching has committed, or the next run would have to look who has written there."""
    if nothing_changed(commit for commit in commits if commit.version > state.stored_version):
        return replace(state, seen_version=commits[0].version, seen_at=commits[0].committed_at)
    return state


def _switched_off(session: Session, state: StreamTable) -> bool:
    if _properties(session, state).get(OURS) != "true":
        return False
    keys = ", ".join(map(literal, PROPERTIES))
    session.execute(f"ALTER TABLE {state.storage.sql} UNSET TBLPROPERTIES IF EXISTS ({keys})")
    return True


def _generations(state: StreamTable) -> tuple[int, ...]:
    """That have such a table, as far as its state knows."""
    buffer = state.buffer
    if buffer is None:
        return ()
    return (*buffer.left, buffer.generation) if buffer.table else buffer.left


def _properties(session: Session, state: StreamTable) -> dict[str, str]:
    rows = session.query(f"SHOW TBLPROPERTIES {state.storage.sql}")
    return {str(row["key"]): str(row["value"]) for row in rows}
