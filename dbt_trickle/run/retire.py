"""Old generations: kept while somebody may still be reading them, then dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation, storage
from dbt_trickle.run.session import Session, is_missing

# A reader that resolved the view just before the swap still reads the old files. DROP deletes them at once.
GRACE = timedelta(hours=1)


def retire(state: StreamTable, generations: Iterable[int], now: str) -> StreamTable:
    """What was served until now, and what a dead run left, waits for its last readers. What is served does not: of two
    runs, or of two views that a hand has put there, the older generation may be the one that readers were led back to.
    """
    waiting = tuple(each for each in state.retired if each[0] != state.generation)
    known = {generation for generation, _ in waiting} | {state.generation}
    return replace(state, retired=(*waiting, *((g, now) for g in sorted(generations) if g not in known)))


def sweep(
    session: Session, state: StreamTable, consumers: Iterable[StreamTable], change_schema: str, now: str
) -> StreamTable:
    """Drops what has waited long enough, and what no stream table is to go on from any more."""
    held = {state.storage_relation, *(consumer.frontier[state.key].table_id for consumer in consumers)}
    if state.held_back is not None:
        held.add(state.held_back.storage)  # readers are shown it still
    tables = {generation: storage(change_schema, state.pgt_id, generation) for generation, _ in state.retired}
    due = [g for g, since in state.retired if age(since, now) >= GRACE and str(tables[g]) not in held]
    for generation in due:
        drop(session, tables[generation])
    return replace(state, retired=tuple((g, since) for g, since in state.retired if g not in due))


def drop(session: Session, table: Relation) -> None:
    """With its rows. DROP leaves the files of one that `location_root` has put somewhere, and their log with them."""
    try:
        rows = session.query(f"DESCRIBE TABLE EXTENDED {table.sql}")
        told = {str(row["col_name"]): str(row["data_type"]) for row in rows}
        # Somebody else's table that has got a public name of ours keeps what it has.
        if told.get("Type") == "EXTERNAL" and "trickle.pgt_id=" in told.get("Table Properties", ""):
            session.execute(f"DELETE FROM {table.sql}")
    except WarehouseError as problem:
        if not is_missing(problem):
            raise
        # It is gone, or its folder is: then the name is all that is left of it.
    session.execute(f"DROP TABLE IF EXISTS {table.sql}")


def age(since: str, now: str) -> timedelta:
    return datetime.fromisoformat(now) - datetime.fromisoformat(since)
