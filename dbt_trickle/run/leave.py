"""The ends of a stream table: dropped on request, or turned into something else by its model."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from dbt_trickle.catalog import store
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import CommandError
from dbt_trickle.names import Relation, changes_view, quote
from dbt_trickle.plan import steps
from dbt_trickle.run import public_name, recover, request, retire
from dbt_trickle.run.buffers import Buffers
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.public_name import NOTHING, Held
from dbt_trickle.run.session import Session

# These put something new in the place of what they find.
REPLACING = ("table", "view")


def before_other_materialization(session: Session, run: Invocation, relation: Relation, materialized: str) -> None:
    """An incremental model goes on with the table that it finds: that must have the query's columns, and no others."""
    run.load(session)
    table = run.stream_table_at(relation)
    if table is None or table.expose != "table" or materialized in REPLACING:
        return
    if public_name.held(session, relation, table.pgt_id) != Held("TABLE", ours=True):
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
    found = public_name.held(session, table.public, table.pgt_id)
    if found == NOTHING and not built:
        # dbt-spark drops a view before it builds a table in its place; the storage is still there.
        serve_again(session, table)
        return
    if found.ours:
        return
    _drop_storages(session, run.settings, table)
    run.forget(table.pgt_id)


def serve_again(session: Session, table: StreamTable) -> None:
    """The public view anew, as it was; a table that is exposed itself is only ever replaced in one commit."""
    if table.expose != "view" or table.storage_or_none is None:
        return
    if public_name.held(session, table.public, table.pgt_id) != NOTHING:
        return
    properties = request.ownership(table.pgt_id, table.dbt_unique_id, table.public, table.project)
    description = json.loads(table.docs)[0] if table.docs else None
    target = steps.Target(
        table.public,
        table.storage,
        table.columns,
        steps.Docs(description),
        properties=tuple(sorted(properties.items())),
        held_back=table.held_back,
    )
    for step in steps.publish(target, None):
        session.execute(step.sql)


def _drop_storages(session: Session, settings: ProjectSettings, table: StreamTable) -> None:
    session.execute(f"DROP VIEW IF EXISTS {changes_view(settings.change_schema, table.pgt_id).sql}")
    found = recover.all_tables(session, settings.change_schema, table.pgt_id)
    for each in (*found.changes.values(), *found.storages.values()):
        retire.drop(session, each)


@dataclass(frozen=True)
class Dropped:
    tables: tuple[StreamTable, ...]  # readers of others first
    left_alone: tuple[Relation, ...]  # public names that are somebody else's by now


Reads = Mapping[str, Collection[str]]  # unique ids of dbt's stream tables, and of those that each reads


def consumers(table: StreamTable, others: Sequence[StreamTable], reads: Reads) -> list[StreamTable]:
    """By what they were computed from; and by what dbt knows, which sees through a text that we cannot parse."""
    return [
        other
        for other in others
        if table.key in other.frontier
        or (other.dbt_target == table.dbt_target and table.dbt_unique_id in reads.get(other.dbt_unique_id, ()))
    ]


def drop(
    session: Session,
    settings: ProjectSettings,
    table: StreamTable,
    all_tables: Sequence[StreamTable],
    cascade: bool,
    reads: Reads,
    warn: Callable[[str], None] = lambda _: None,
) -> Dropped:
    """Behind the append to the catalog nothing is left: of what was not done before, nobody would know any more."""
    order = _with_consumers(table, all_tables, reads)
    if len(order) > 1 and not cascade:
        names = ", ".join(str(t.public) for t in order[:-1])
        raise CommandError(
            "TRK-501",
            f"{table.public} is read by {names}",
            remedy="Drop those first, or drop them all with --cascade.",
        )
    left = []
    for gone in order:
        if not public_name.drop(session, gone.public, gone.pgt_id, gone.expose):
            left.append(gone.public)
        _drop_storages(session, settings, gone)
    buffers = Buffers(session, settings, now="", warn=warn)
    for unread in _not_read_any_more(order, all_tables):
        # The catalog is not told: another run may be about to, and the next one of it finds it done.
        buffers.after_change(unread, is_read=False)
    entries = [entry for gone in order for entry in store.dropped(gone.pgt_id)]
    session.execute(store.append(settings.catalog_schema, "trickle drop", entries))
    return Dropped(tuple(order), tuple(left))


def _not_read_any_more(gone: Sequence[StreamTable], tables: Sequence[StreamTable]) -> list[StreamTable]:
    numbers = {table.pgt_id for table in gone}
    left = [table for table in tables if table.pgt_id not in numbers]
    return [each for each in left if consumers(each, gone, {}) and not consumers(each, left, {})]


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
