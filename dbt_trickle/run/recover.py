"""What is true after a run that died: the storage's own history says what was committed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.state import ACTIVE, StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Commit, Marker
from dbt_trickle.names import Relation, literal
from dbt_trickle.run.session import Session, is_missing

HISTORY_DEPTH = 50


def marked_commits(session: Session, storage: Relation, pgt_id: int) -> list[tuple[Commit, Marker]]:
    """Our commits, newest first, and what they say; none where there is no such table."""
    try:
        rows = session.query(delta.history(storage, HISTORY_DEPTH))
    except WarehouseError as problem:
        if is_missing(problem):
            return []
        raise
    commits = (delta.commit_of(row) for row in rows)
    return [(c, c.marker) for c in commits if c.marker is not None and c.marker.pgt_id == pgt_id]


def last_marked(session: Session, storage: Relation, pgt_id: int) -> tuple[Commit, Marker] | None:
    """The newest commit of ours, and what it says."""
    return next(iter(marked_commits(session, storage, pgt_id)), None)


def roll_forward(session: Session, state: StreamTable) -> StreamTable:
    """The state as the storage that readers see has it."""
    live = serving_storage(session, state.public) or state.storage_or_none
    if live is None:
        return state
    found = last_marked(session, live, state.pgt_id)
    if found is None:
        return state
    commit, marker = found
    if marker.batch == state.batch and str(live) == state.storage_relation:
        return state
    return apply_marker(state, live, commit, marker)


def apply_marker(state: StreamTable, storage: Relation, commit: Commit, marker: Marker) -> StreamTable:
    """The state that the close of the dead run would have written."""
    definition: dict[str, Any] = dict(marker.definition)
    rebuilt = StreamTable.from_row({**state.to_row(), **definition})
    return replace(
        rebuilt,
        storage_relation=str(storage),
        generation=marker.generation,
        fingerprint=marker.fingerprint,
        frontier=dict(marker.frontier),
        data_timestamp=marker.data_timestamp,
        batch=marker.batch,
        is_populated=True,
        status=ACTIVE,
        rows=commit.rows_written,
        storage_version=commit.version,
        last_refresh_at=commit.committed_at,
        consecutive_errors=0,
        last_error=None,
    )


def serving_storage(session: Session, public: Relation) -> Relation | None:
    """The storage that the public view reads; none where it is no view of ours."""
    try:
        rows = session.query(f"SHOW TBLPROPERTIES {public.sql}")
    except WarehouseError as problem:
        if is_missing(problem):
            return None
        raise
    properties = {row["key"]: row["value"] for row in rows}
    name = properties.get("trickle.storage")
    return Relation(tuple(name.split(".", 1))) if name else None


def close_rows(session: Session, catalog_schema: str, invocation_id: str, now: str) -> list[store.Entry]:
    """The RUNNING rows of an invocation that died become FAILED; should it live after all, its own close wins."""
    rows = session.query(
        f"SELECT max_by(payload, struct(at, seq)) AS payload FROM {tables.journal(catalog_schema).sql} "
        f"WHERE kind = {literal(tables.HISTORY)} AND invocation_id = {literal(invocation_id)} GROUP BY key"
    )
    entries = []
    for row in rows:
        found = json.loads(row["payload"])
        if found["status"] == "RUNNING":
            found |= {
                "status": "FAILED",
                "end_time": now,
                "error_message": "the run ended without closing (killed?)",
            }
            entries.append(store.Entry(tables.HISTORY, found["refresh_id"], json.dumps(found)))
    return entries


def generations(session: Session, change_schema: str, pgt_id: int) -> dict[int, Relation]:
    """Every storage of a stream table that exists, live or left over."""
    return {
        generation: storage
        for (number, generation), storage in all_storages(session, change_schema, f"st_{pgt_id}_g*").items()
        if number == pgt_id
    }


_STORAGE = re.compile(r"^st_(\d+)_g(\d+)$")


def all_storages(session: Session, change_schema: str, pattern: str = "st_*") -> dict[tuple[int, int], Relation]:
    try:
        rows = session.query(f"SHOW TABLES IN {Relation((change_schema,)).sql} LIKE {literal(pattern)}")
    except WarehouseError as problem:
        if is_missing(problem):
            return {}
        raise
    found = {}
    for row in rows:
        if match := _STORAGE.match(row["tableName"]):
            found[int(match.group(1)), int(match.group(2))] = Relation.of(change_schema, row["tableName"])
    return found
