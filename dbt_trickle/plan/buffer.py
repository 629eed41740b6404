"""The view of a stream table's own changes, over its storage's change feed: a row per row that came or went.

With `change_buffer: table` over what its refreshes have staged, as far as it has come to count.

An update is a row that went and one that came. So is a row that a statement took out and put back.
"""

from __future__ import annotations

from collections.abc import Sequence

from dbt_trickle.apply.stored import Stored
from dbt_trickle.capture.staged import ACTION, BATCH, TOKEN
from dbt_trickle.catalog.state import Buffer, Column, StreamTable
from dbt_trickle.names import Relation, literal, quote
from dbt_trickle.tree.identity import ROW_ID

_CAME = "CASE WHEN c._change_type IN ('insert', 'update_postimage') THEN 'I' ELSE 'D' END"


def query(table: StreamTable, buffer: Buffer, history: Relation) -> str:
    """`history`: what the catalog has of refreshes, for a version's batch; of a run that has not ended, nothing yet."""
    if buffer.table:
        return _staged(table, buffer, history)
    shown = ", ".join(f"c.{quote(column.stored)} AS {quote(f'new_{column.name}')}" for column in table.columns)
    feed = f"('readChangeFeed' = 'true', 'startingVersion' = {literal(str(buffer.since))})"
    batches = (
        f"SELECT storage_version, max(batch) AS batch FROM {history.sql} WHERE pgt_id = {table.pgt_id} "
        f"AND storage_relation = {literal(buffer.storage)} GROUP BY storage_version"
    )
    return (
        f"SELECT c._commit_version AS version, h.batch AS batch, {_CAME} AS action, "
        f"{row_id(table.columns, has_ids=bool(table.engine.get('mark')))} AS pk_hash, {shown} "
        f"FROM {misspelled(table.storage).sql} WITH {feed} AS c "
        f"LEFT JOIN ({batches}) AS h ON h.storage_version = c._commit_version"
    )


def _staged(table: StreamTable, buffer: Buffer, history: Relation) -> str:
    shown = ", ".join(f"c.{quote(column.stored)} AS {quote(f'new_{column.name}')}" for column in table.columns)
    counted = (
        f"SELECT staged, max(storage_version) AS version FROM {history.sql} WHERE pgt_id = {table.pgt_id} "
        "AND staged IS NOT NULL GROUP BY staged"
    )
    return (
        f"SELECT h.version AS version, c.{quote(BATCH)} AS batch, c.{quote(ACTION)} AS action, "
        f"{row_id(table.columns, has_ids=bool(table.engine.get('mark')))} AS pk_hash, {shown} "
        f"FROM {Relation.parse(buffer.table).sql} AS c JOIN ({counted}) AS h ON h.staged = c.{quote(TOKEN)}"
    )


def row_id(columns: Sequence[Column], *, has_ids: bool) -> str:
    return f"c.{quote(ROW_ID)}" if has_ids else Stored(tuple(columns)).id_of("c.")


def misspelled(storage: Relation) -> Relation:
    """As nobody else spells it. Spark looks a name up once in a statement: were it the same as in the public view, a
    query of both would read the one for the other, without a word (docs/decisions.md). Case counts in that, and in
    nothing else.
    """
    odd = tuple(map(_odd, storage.parts))
    return Relation(odd if odd != storage.parts else tuple(part.upper() for part in odd))


def _odd(name: str) -> str:
    return "".join(sign.upper() if place % 2 else sign.lower() for place, sign in enumerate(name))
