"""Rows of the history from what the storages remember of the commits, where no run has written them down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.state import Refresh, StreamTable
from dbt_trickle.formats.base import Commit, Marker, frontier_json
from dbt_trickle.names import literal
from dbt_trickle.plan import due
from dbt_trickle.run import recover
from dbt_trickle.run.session import Session

KILLED = "the run ended without closing (killed?)"


def close_rows(
    session: Session,
    catalog_schema: str,
    invocation_id: str,
    committed: Mapping[int, tuple[Commit, Marker]],
    before: Mapping[int, StreamTable],
    now: str,
) -> list[store.Entry]:
    """The RUNNING rows of an invocation that died: COMPLETED where its commit is found, else FAILED.

    Should it live after all, its own close wins.
    """
    entries = []
    for found in _rows(session, catalog_schema, f"invocation_id = {literal(invocation_id)}"):
        if found["status"] != "RUNNING":
            continue
        if found["pgt_id"] in committed:
            found |= _as_committed(*committed[found["pgt_id"]], before.get(found["pgt_id"]))
        else:
            found |= {
                "status": "FAILED",
                # What it had decided died with it.
                "action": "SKIP",
                "end_time": now,
                "error_message": KILLED,
            }
        entries.append(_entry(found))
    return entries


def after_all(
    session: Session, catalog_schema: str, commit: Commit, marker: Marker, before: StreamTable | None
) -> list[store.Entry]:
    """A run that was closed as dead, or lost its connection for good, had its last statement done by the server later:
    it has committed after all.

    Its rows may have been closed by another run, so the journal may have them under that one's name.
    """
    of_the_run = f"get_json_object(payload, '$.invocation_id') = {literal(marker.run)}"
    return [
        _entry({**found, **_as_committed(commit, marker, before), "error_message": None})
        for found in _rows(session, catalog_schema, of_the_run)
        if found["pgt_id"] == marker.pgt_id and found["status"] == "FAILED"
    ]


def _rows(session: Session, catalog_schema: str, which: str) -> list[dict[str, Any]]:
    rows = session.query(
        f"SELECT {tables.NEWEST} AS payload FROM {tables.journal(catalog_schema).sql} "
        f"WHERE kind = {literal(tables.HISTORY)} AND {which} GROUP BY key"
    )
    return [json.loads(row["payload"]) for row in rows]


def _entry(row: Mapping[str, Any]) -> store.Entry:
    return store.Entry(tables.HISTORY, row["refresh_id"], json.dumps(row))


def _as_committed(commit: Commit, marker: Marker, before: StreamTable | None) -> dict[str, Any]:
    """`before`: its state until then, as the catalog had it."""
    inserted, deleted = recover.moved_rows(commit, marker)
    first = {} if before is not None and before.is_populated else {"initiated_by": "INITIAL"}
    return {
        **first,
        "status": "COMPLETED",
        "action": marker.action,
        "reason": marker.reason,
        "batch": marker.batch,
        "data_timestamp": marker.data_timestamp,
        "end_time": commit.committed_at,
        "rows_inserted": inserted,
        "rows_deleted": deleted,
        "delta_rows": inserted + deleted,
        "freshness_deadline": due.deadline(marker.definition.get("schedule"), marker.data_timestamp),
        "frontier_from": frontier_json(before.frontier if before is not None else {}),
        "frontier_to": frontier_json(marker.frontier),
        # What has staged nothing is shown by another view, which asks for more than this.
        **({"storage_version": commit.version, "staged": marker.staged.token} if marker.staged is not None else {}),
    }


def of(session: Session, table: StreamTable) -> list[Refresh]:
    """What its storage tells of the refreshes that committed to it: the newest of this generation, oldest first."""
    found, before = [], None
    for commit, marker in reversed(recover.marked_commits(session, table.storage, table.pgt_id)):
        row = {
            **_as_committed(commit, marker, before),
            "initiated_by": "INITIAL" if marker.batch == 1 else "DBT",
            "frontier_from": before.frontier if before is not None else {},
            "frontier_to": marker.frontier,
        }
        name = f"{table.pgt_id} {marker.batch} {marker.run}"
        found.append(Refresh(name, table.pgt_id, marker.run, start_time=commit.committed_at, **row))
        before = recover.apply_marker(table, table.storage, commit, marker)
    return found
