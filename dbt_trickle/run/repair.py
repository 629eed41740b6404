"""The catalog anew from the storages' own histories, and what nothing refers to any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run import past, recover, retire
from dbt_trickle.run.session import Session, is_missing
from dbt_trickle.run.sources import dependencies


@dataclass(frozen=True)
class Scope:
    """What the project builds in this target."""

    project: str
    dbt_target: str
    schemas: frozenset[str]
    models: Mapping[str, Relation]  # unique id → public name of its stream tables
    shown_tables: tuple[Relation, ...] = ()  # those that `expose: table` keeps in public places

    def has(self, table: StreamTable) -> bool:
        """Built by this project in this target. With its model a schema of its own may have gone from the project,
        so schemas do not tell; they are asked of what was recorded when nothing else was."""
        if table.project != self.project:
            return False
        return table.dbt_target == self.dbt_target if table.dbt_target else table.pgt_schema in self.schemas


@dataclass(frozen=True)
class Orphan:
    """Something that only takes up room: its stream table's model is gone, or a dead run left it."""

    relation: Relation
    kind: str  # VIEW or TABLE
    reason: str
    pgt_id: int | None = None


@dataclass(frozen=True)
class Findings:
    rebuilt: tuple[StreamTable, ...]
    tables: Mapping[int, StreamTable]
    orphans: tuple[Orphan, ...]
    left_alone: tuple[Orphan, ...] = ()  # a run that has not ended may be about to serve from them
    unknown: frozenset[int] = frozenset()  # of those rebuilt, what the catalog had nothing of: no history either


def read_catalog(session: Session, settings: ProjectSettings) -> store.Catalog:
    try:
        return store.parse(session.query(store.read_query(settings.catalog_schema)))
    except WarehouseError as problem:
        if is_missing(problem):
            return store.Catalog(0)
        raise


def examine(session: Session, settings: ProjectSettings, scope: Scope) -> Findings:
    catalog = read_catalog(session, settings)
    storages = recover.all_storages(session, settings.change_schema)
    # Asked again after the storages: whoever made one of them had said before that it runs.
    in_doubt = {*catalog.in_doubt, *read_catalog(session, settings).in_doubt}
    known = dict(catalog.stream_tables)
    rebuilt: dict[int, StreamTable] = {}
    for number in sorted({number for number, _ in storages}):
        generations = {g: s for (n, g), s in storages.items() if n == number}
        state = _from_storages(session, number, generations, known.get(number))
        if state is not None and state != known.get(number):
            rebuilt[number] = state
    for relation in scope.shown_tables:
        state = _from_public(session, relation, known)
        if state is not None and state != known.get(state.pgt_id):
            rebuilt[state.pgt_id] = state
    tables_now = {**known, **rebuilt}
    removed = list(_of_removed_models(tables_now, storages, scope))
    gone = {orphan.pgt_id for orphan in removed}
    left = [(number, orphan) for number, orphan in _left_over(tables_now, storages) if number not in gone]
    return Findings(
        tuple(rebuilt.values()),
        tables_now,
        (*removed, *(orphan for number, orphan in left if number not in in_doubt)),
        tuple(orphan for number, orphan in left if number in in_doubt),
        frozenset(rebuilt.keys() - known.keys()),
    )


def write(session: Session, settings: ProjectSettings, findings: Findings) -> None:
    """What was found to be true becomes the catalog's newest entry."""
    if not findings.rebuilt:
        return
    at = settings.catalog_schema
    # With the version that is written below nobody would bring an older catalog's views up to date any more.
    for statement in (*tables.create_statements(at, settings.change_schema), *tables.upgrade_statements(at)):
        session.execute(statement)
    entries = [store.schema_version()]
    for table in findings.rebuilt:
        sources = dependencies(table.pgt_id, table.frontier, table.unversioned)
        entries += [store.stream_table(table), store.dependencies(table.pgt_id, sources)]
        if table.pgt_id in findings.unknown:
            entries += map(store.refresh, past.of(session, table))
    session.execute(store.append(settings.catalog_schema, "trickle repair", entries))


def remove(session: Session, settings: ProjectSettings, orphans: Sequence[Orphan]) -> None:
    for orphan in orphans:
        if orphan.kind == "VIEW":
            session.execute(f"DROP VIEW IF EXISTS {orphan.relation.sql}")
        else:
            retire.drop(session, orphan.relation)
    gone = sorted({orphan.pgt_id for orphan in orphans if orphan.pgt_id is not None})
    entries = [entry for number in gone for entry in store.dropped(number)]
    if entries:
        session.execute(store.append(settings.catalog_schema, "trickle repair", entries))


def _from_storages(
    session: Session, number: int, generations: Mapping[int, Relation], known: StreamTable | None
) -> StreamTable | None:
    """The state of the generation that readers see; of the newest complete one where nobody can say."""
    marked = {g: m for g, s in generations.items() if (m := recover.last_marked(session, s, number))}
    if not marked:
        return None
    newest = max(marked)
    _, marker = marked[newest]
    base = known or StreamTable(
        number,
        str(marker.definition["pgt_schema"]),
        str(marker.definition["pgt_name"]),
        str(marker.definition["dbt_unique_id"]),
    )
    serving = recover.serving_storage(session, base.public, number)
    if serving == base.public:
        return None  # a table of its own: what is here are generations from when it was a view
    live = next((g for g, s in generations.items() if s == serving and g in marked), newest)
    commit, marker = marked[live]
    if known is not None and (known.batch, known.generation) == (marker.batch, live):
        return known
    return recover.apply_marker(base, generations[live], commit, marker)


def _from_public(session: Session, relation: Relation, known: Mapping[int, StreamTable]) -> StreamTable | None:
    try:
        properties = {r["key"]: r["value"] for r in session.query(f"SHOW TBLPROPERTIES {relation.sql}")}
    except WarehouseError as problem:
        if is_missing(problem):
            return None
        raise
    if "trickle.pgt_id" not in properties or "trickle.storage" in properties:
        return None
    number = int(properties["trickle.pgt_id"])
    found = recover.last_marked(session, relation, number)
    if found is None:
        return None
    state = known.get(number)
    if state is not None and state.batch == found[1].batch:
        return state
    base = state or StreamTable(number, relation.schema, relation.identifier, properties["trickle.unique_id"])
    return recover.apply_marker(base, relation, *found)


def _of_removed_models(
    known: Mapping[int, StreamTable], storages: Mapping[tuple[int, int], Relation], scope: Scope
) -> Iterable[Orphan]:
    """Stream tables that no model builds any more, with all of their generations."""
    for table in known.values():
        current = scope.models.get(table.dbt_unique_id)
        if current == table.public or not scope.has(table):
            continue
        reason = "its model is gone" if current is None else f"its model is now called {current}"
        if table.expose == "view":
            yield Orphan(table.public, "VIEW", reason, table.pgt_id)
        own = [storage for (number, _), storage in sorted(storages.items()) if number == table.pgt_id]
        if table.storage_relation and table.storage not in own:
            own.append(table.storage)  # under the public name itself
        for storage in own:
            yield Orphan(storage, "TABLE", reason, table.pgt_id)


def _left_over(
    known: Mapping[int, StreamTable], storages: Mapping[tuple[int, int], Relation]
) -> Iterable[tuple[int, Orphan]]:
    """Storages that no stream table serves from, and that no reader can still be waiting in."""
    for (number, generation), storage in sorted(storages.items()):
        table = known.get(number)
        if table is None:
            yield number, Orphan(storage, "TABLE", "no stream table has it")
        elif storage != table.storage and generation not in {g for g, _ in table.retired}:
            yield number, Orphan(storage, "TABLE", f"{table.public} has generation {table.generation}")
