"""The ends of a stream table: dropped on request, or turned into something else by its model."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from dbt_trickle.catalog import store
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import CommandError, WarehouseError
from dbt_trickle.names import Relation, quote
from dbt_trickle.plan import steps
from dbt_trickle.run import recover, request, retire
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.session import Session, is_missing

# These put something new in the place of what they find.
REPLACING = ("table", "view")


def before_other_materialization(session: Session, run: Invocation, relation: Relation, materialized: str) -> None:
    """An incremental model goes on with the table that it finds: that must have the query's columns, and no others."""
    run.load(session)
    table = run.stream_table_at(relation)
    if table is None or table.expose != "table" or materialized in REPLACING or not _ours(session, table):
        return
    columns = ", ".join(quote(column.stored) for column in table.columns)
    # In one commit, and without our properties: from here on it is the model's.
    session.execute(f"CREATE OR REPLACE TABLE {relation.sql} USING delta AS SELECT {columns} FROM {relation.sql}")


def after_other_materialization(session: Session, run: Invocation, relation: Relation, built: bool) -> None:
    """Another materialization has run for this name. If it replaced a stream table, its storages go.

    Only if: a failed build leaves the stream table serving, and then nothing may be dropped.
    """
    run.sources.forget(relation)
    run.load(session)
    table = run.stream_table_at(relation)
    if table is None:
        return
    ours = _ours(session, table)
    if ours is None and not built:
        # dbt-spark drops a view before it builds a table in its place; the storage is still there.
        serve_again(session, table)
        return
    if ours:
        return
    for storage in storages(session, run.settings, table):
        if storage != table.public:
            retire.drop(session, storage)
    run.forget(table.pgt_id)


def _ours(session: Session, table: StreamTable) -> list[str] | None:
    """The properties that make what has the public name this stream table; none where nothing has it."""
    try:
        rows = session.query(f"SHOW TBLPROPERTIES {table.public.sql}")
    except WarehouseError as problem:
        if is_missing(problem):
            return None
        raise
    properties = {row["key"]: row["value"] for row in rows if row["key"].startswith("trickle.")}
    return sorted(properties) if properties.get("trickle.pgt_id") == str(table.pgt_id) else []


def serve_again(session: Session, table: StreamTable) -> None:
    """The public view anew, as it was; a table that is exposed itself is only ever replaced in one commit."""
    if table.expose != "view" or table.storage_or_none is None or _ours(session, table) is not None:
        return
    properties = request.ownership(table.pgt_id, table.dbt_unique_id, table.public, table.project)
    description = json.loads(table.docs)[0] if table.docs else None
    target = steps.Target(
        table.public, table.storage, table.columns, steps.Docs(description), (), tuple(sorted(properties.items()))
    )
    for step in steps.publish(target, None):
        session.execute(step.sql)


def storages(session: Session, settings: ProjectSettings, table: StreamTable) -> list[Relation]:
    found = list(recover.generations(session, settings.change_schema, table.pgt_id).values())
    return [table.public, *found] if table.expose == "table" else found


Reads = Mapping[str, Collection[str]]  # unique ids of dbt's stream tables, and of those that each reads


def consumers(table: StreamTable, others: Sequence[StreamTable], reads: Reads) -> list[StreamTable]:
    """By what they were computed from; and by what dbt knows, which sees through a text that we cannot parse."""
    key = f"pgt_{table.pgt_id}"
    return [
        other
        for other in others
        if key in other.frontier
        or (other.dbt_target == table.dbt_target and table.dbt_unique_id in reads.get(other.dbt_unique_id, ()))
    ]


def drop(
    session: Session,
    settings: ProjectSettings,
    table: StreamTable,
    all_tables: Sequence[StreamTable],
    cascade: bool,
    reads: Reads,
) -> list[StreamTable]:
    """The stream tables that went, readers of others first. What is committed last is the catalog."""
    order = _with_consumers(table, all_tables, reads)
    if len(order) > 1 and not cascade:
        names = ", ".join(str(t.public) for t in order[:-1])
        raise CommandError(
            "TRK-501",
            f"{table.public} is read by {names}",
            remedy="Drop those first, or drop them all with --cascade.",
        )
    for gone in order:
        # The public name first: readers must not meet a view whose storage is gone.
        if gone.expose == "view":
            session.execute(f"DROP VIEW IF EXISTS {gone.public.sql}")
        for storage in storages(session, settings, gone):
            retire.drop(session, storage)
    entries = [entry for gone in order for entry in store.dropped(gone.pgt_id)]
    session.execute(store.append(settings.catalog_schema, "trickle drop", entries))
    return order


def _with_consumers(table: StreamTable, all_tables: Sequence[StreamTable], reads: Reads) -> list[StreamTable]:
    """Consumers before what they read, each once; the table itself comes last."""
    seen: dict[int, StreamTable] = {}

    def visit(current: StreamTable) -> None:
        for consumer in consumers(current, all_tables, reads):
            if consumer.pgt_id not in seen:
                visit(consumer)
        seen[current.pgt_id] = current

    visit(table)
    return list(seen.values())
