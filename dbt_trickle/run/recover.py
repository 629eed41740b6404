"""What is true after a run that died: the storage's own history says what was committed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dbt_trickle import sql
from dbt_trickle.apply.bag import came_back
from dbt_trickle.catalog.state import ACTIVE, Column, HeldBack, StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Commit, Marker
from dbt_trickle.names import Relation, literal
from dbt_trickle.plan.public_view import Showing, showing, text_of
from dbt_trickle.run import guard, retire
from dbt_trickle.run.session import Session, is_missing, is_not_versioned

HISTORY_DEPTH = 50


def marked_commits(
    session: Session, storage: Relation, pgt_id: int, depth: int = HISTORY_DEPTH
) -> list[tuple[Commit, Marker]]:
    """Our commits, newest first, and what they say; none where there is no such table."""
    try:
        rows = session.query(delta.history(storage, depth))
    except WarehouseError as problem:
        if is_missing(problem) or is_not_versioned(problem):
            return []
        raise
    commits = (delta.commit_of(row) for row in rows)
    return [(c, c.marker) for c in commits if c.marker is not None and c.marker.pgt_id == pgt_id]


def last_marked(session: Session, storage: Relation, pgt_id: int) -> tuple[Commit, Marker] | None:
    """The newest commit of ours, and what it says."""
    return next(iter(marked_commits(session, storage, pgt_id)), None)


def committed_by(session: Session, state: StreamTable, run: str) -> tuple[Commit, Marker] | None:
    """What a run has committed to the storage that readers see, whether or not it was told so."""
    if not state.is_populated:
        return None
    commits = marked_commits(session, state.storage, state.pgt_id)
    return next((found for found in commits if found[1].run == run), None)


def roll_forward(
    session: Session, change_schema: str, number: int, public: Relation, state: StreamTable | None, now: str
) -> StreamTable | None:
    """The state as the storage that readers see has it; the catalog's where that cannot be told."""
    live, text = serving(session, public, number)
    found = last_marked(session, live, number) if live is not None else None
    if live is None or found is None:
        return state
    commit, marker = found
    held = held_back(session, number, showing(text, number) if text is not None else None, state, now)
    if state is not None and (state.batch, state.storage_relation) == (marker.batch, str(live)):
        return state if state.held_back == held else replace(state, held_back=held)
    base = state or StreamTable(
        number,
        public.schema,
        public.identifier,
        str(marker.definition["dbt_unique_id"]),
        created_at=commit.committed_at,
    )
    # Descriptions are stored by statements after the commit: whether they were, nobody knows.
    current = replace(apply_marker(base, live, commit, marker), docs="", updated_at=now, held_back=held)
    current = guard.doubted(session, base, current)
    return retire.retire(current, generations(session, change_schema, number), now)


def apply_marker(state: StreamTable, storage: Relation, commit: Commit, marker: Marker) -> StreamTable:
    """The state that the close of the dead run would have written."""
    definition: dict[str, Any] = dict(marker.definition)
    rebuilt = StreamTable.from_row({**state.to_row(), **definition})
    inserted, deleted = moved_rows(commit, marker)
    return replace(
        rebuilt,
        storage_relation=str(storage),
        generation=marker.generation,
        fingerprint=marker.fingerprint,
        frontier=dict(marker.frontier),
        origins=dict(marker.origins),
        data_timestamp=marker.data_timestamp,
        batch=marker.batch,
        is_populated=True,
        status=ACTIVE,
        rows=marker.rows_before + inserted - deleted,
        storage_version=commit.version,
        storage_at=commit.committed_at,
        storage_path=state.storage_path if str(storage) == state.storage_relation else "",
        seen_version=commit.version,
        seen_at=commit.committed_at,
        last_refresh_at=commit.committed_at,
        consecutive_errors=0,
        last_error=None,
        # It would not have been refreshed, or not like this, had these not been over with it.
        needs_reinit=False,
        reinit_reason=None,
        suspended_by=None,
        hidden_write=None if marker.replaces else state.hidden_write,
    )


def moved_rows(commit: Commit, marker: Marker) -> tuple[int, int]:
    """Rows that a commit of ours inserted and deleted, on balance."""
    if marker.replaces:
        return commit.rows_written, marker.rows_before
    if marker.moved is not None:
        return marker.moved
    if marker.work == "replace":
        return commit.rows_replaced(marker.touched)
    if marker.work == "append":
        return commit.rows_written, 0
    inserted, deleted = commit.rows_merged
    back = came_back(commit.metrics) if marker.work == "bag" else 0
    return inserted - back, deleted - back


def held_back(
    session: Session, number: int, shown: Showing | None, state: StreamTable | None, now: str
) -> HeldBack | None:
    """What a run that died, or another one, has readers stay with. Since when, only the run itself knows."""
    if shown is None or shown.version is None:
        return None
    if state is not None and state.held_back is not None and shown.is_of(state.held_back):
        return state.held_back
    found = marked_until(session, shown.storage, number, shown.version)
    if found is None:
        return None  # nothing is left of it that anybody could stay with
    return HeldBack(str(shown.storage), shown.version, columns_of(found[1]), found[1].data_timestamp, now)


def columns_of(marker: Marker) -> tuple[Column, ...]:
    """As they were shown by its generation."""
    return tuple(Column(**column) for column in marker.definition["columns"])


def marked_until(session: Session, storage: Relation, pgt_id: int, version: int) -> tuple[Commit, Marker] | None:
    """What has made the rows of that version, as far as its history is kept."""
    depth = HISTORY_DEPTH
    while True:
        try:
            rows = session.query(delta.history(storage, depth))
        except WarehouseError as problem:
            if is_missing(problem):
                return None
            raise
        commits = [commit for commit in map(delta.commit_of, rows) if commit.version <= version]
        found = next((c for c in commits if c.marker is not None and c.marker.pgt_id == pgt_id), None)
        if found is not None and found.marker is not None:
            return found, found.marker
        if len(rows) < depth:
            return None
        depth *= HISTORY_DEPTH


def serving_storage(session: Session, public: Relation, number: int) -> Relation | None:
    """The storage that readers see, or will see when the stream table's diamond has come."""
    return serving(session, public, number)[0]


def serving(session: Session, public: Relation, number: int) -> tuple[Relation | None, str | None]:
    """What the view's text names, and that text; or the table under the public name itself.

    Not its properties: those are set after the text, and a run can die in between.
    """
    try:
        rows = session.query(f"DESCRIBE TABLE EXTENDED {public.sql}")
    except WarehouseError as problem:
        if is_missing(problem):
            return None, None
        raise
    text = view_text(rows)
    if text is None:
        return (public if is_ours(session, public, number) else None), None
    return shown(text, number), text


def view_text(described: Sequence[Mapping[str, Any]]) -> str | None:
    """Of DESCRIBE TABLE EXTENDED; none: it is no view."""
    return next((str(row["data_type"]) for row in reversed(described) if row["col_name"] == "View Text"), None)


def shown(text: str, number: int) -> Relation | None:
    """The storage that a view of this text reads, if it is this stream table's. As it is, or not: see `shows`."""
    found = showing(text, number)
    return found.current if found is not None else None


def shows(text: str, columns: Sequence[Column], storage: Relation, held: HeldBack | None = None) -> bool:
    """Whether a view of this text gives a storage's columns as they are, which is what plan/steps.py has it give.

    Somebody may have altered it to compute something else from the same storage. Spark keeps the text as it was given;
    a metastore that laid it out anew would not have changed what it says.
    """
    written = text_of(columns, storage, held)
    return text.strip() == written or sql.words(text) == sql.words(written)


def is_ours(session: Session, table: Relation, number: int) -> bool:
    """A table's properties come with its rows. Its history does not tell: it outlives a CREATE OR REPLACE."""
    rows = session.query(f"SHOW TBLPROPERTIES {table.sql}")
    return any((row["key"], row["value"]) == ("trickle.pgt_id", str(number)) for row in rows)


@dataclass(frozen=True)
class Tables:
    """What stream tables have in the change schema, each by number and generation."""

    storages: Mapping[tuple[int, int], Relation] = field(default_factory=dict)
    changes: Mapping[tuple[int, int], Relation] = field(default_factory=dict)  # in which refreshes stage


def generations(session: Session, change_schema: str, pgt_id: int) -> dict[int, Relation]:
    """Every storage of a stream table that exists, live or left over."""
    found = all_tables(session, change_schema, pgt_id).storages
    return {generation: storage for (_, generation), storage in found.items()}


_TABLE = re.compile(r"^st_(\d+)_g(\d+)(_changes)?$")


def all_tables(session: Session, change_schema: str, pgt_id: int | None = None) -> Tables:
    """Of one stream table or of all."""
    pattern = "st_*" if pgt_id is None else f"st_{pgt_id}_g*"
    try:
        rows = session.query(f"SHOW TABLES IN {Relation((change_schema,)).sql} LIKE {literal(pattern)}")
    except WarehouseError as problem:
        if is_missing(problem):
            return Tables()
        raise
    storages: dict[tuple[int, int], Relation] = {}
    changes: dict[tuple[int, int], Relation] = {}
    for row in rows:
        match = _TABLE.match(row["tableName"])
        if match is not None and pgt_id in (None, int(match.group(1))):
            found = changes if match.group(3) else storages
            found[int(match.group(1)), int(match.group(2))] = Relation.of(change_schema, row["tableName"])
    return Tables(storages, changes)
