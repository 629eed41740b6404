"""Old generations: kept while somebody may still be reading them, then dropped."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.names import Relation, storage
from dbt_trickle.run.session import Session

# A reader that resolved the view just before the swap still reads the old files. DROP deletes them at once.
GRACE = timedelta(hours=1)


def retire(state: StreamTable, before: StreamTable, now: str) -> StreamTable:
    """The generation that was served until now waits for its last readers."""
    if before.storage_relation == state.storage_relation:
        return replace(state, retired=before.retired)
    if before.storage == before.public:
        return replace(state, retired=before.retired)  # it was replaced in place
    return replace(state, retired=(*before.retired, (before.generation, now)))


def sweep(session: Session, state: StreamTable, now: str) -> StreamTable:
    """Drops what has waited long enough."""
    due = [g for g, since in state.retired if _age(since, now) >= GRACE]
    if not due:
        return state
    schema = _change_schema(state)
    for generation in due:
        if schema is not None:
            session.execute(f"DROP TABLE IF EXISTS {storage(schema, state.pgt_id, generation).sql}")
    return replace(state, retired=tuple((g, since) for g, since in state.retired if g not in due))


def _change_schema(state: StreamTable) -> str | None:
    place: Relation = state.storage
    return place.schema if place != state.public else None


def _age(since: str, now: str) -> timedelta:
    return datetime.fromisoformat(now) - datetime.fromisoformat(since)
