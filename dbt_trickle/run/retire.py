"""Old generations: kept while somebody may still be reading them, then dropped."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.names import storage
from dbt_trickle.run.session import Session

# A reader that resolved the view just before the swap still reads the old files. DROP deletes them at once.
GRACE = timedelta(hours=1)


def retire(state: StreamTable, before: StreamTable | None, now: str) -> StreamTable:
    """The generation that was served until now waits for its last readers."""
    if before is None or before.storage_relation in ("", state.storage_relation):
        return state
    if before.storage == before.public:
        return state  # it stood under the public name itself, and was replaced there
    return replace(state, retired=(*before.retired, (before.generation, now)))


def sweep(session: Session, state: StreamTable, change_schema: str, now: str) -> StreamTable:
    """Drops what has waited long enough."""
    due = [g for g, since in state.retired if _age(since, now) >= GRACE]
    for generation in due:
        session.execute(f"DROP TABLE IF EXISTS {storage(change_schema, state.pgt_id, generation).sql}")
    return replace(state, retired=tuple((g, since) for g, since in state.retired if g not in due))


def _age(since: str, now: str) -> timedelta:
    return datetime.fromisoformat(now) - datetime.fromisoformat(since)
