"""The catalog anew from the storages' own histories, and what nothing refers to any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.state import Dependency, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation, changes_view
from dbt_trickle.plan.public_view import showing
from dbt_trickle.run import past, public_name, recover, retire
from dbt_trickle.run.orphans import Orphan, Scope, in_use, left_over, of_removed_models
from dbt_trickle.run.pins import carried_over, dependencies
from dbt_trickle.run.session import Session, is_missing


@dataclass(frozen=True)
class Findings:
    rebuilt: tuple[StreamTable, ...]
    tables: Mapping[int, StreamTable]
    orphans: tuple[Orphan, ...]
    left_alone: tuple[Orphan, ...] = ()  # the reason says why
    removed: frozenset[int] = frozenset()  # stream tables whose catalog rows go with the orphans
    unknown: frozenset[int] = frozenset()  # of those rebuilt, what the catalog had nothing of: no history either
    captured: Mapping[int, tuple[Dependency, ...]] = field(default_factory=dict)  # as the catalog knows it


def read_catalog(session: Session, settings: ProjectSettings) -> store.Catalog:
    try:
        return store.parse(session.query(store.read_query(settings.catalog_schema)))
    except WarehouseError as problem:
        if is_missing(problem):
            return store.Catalog(0)
        raise


def examine(session: Session, settings: ProjectSettings, scope: Scope) -> Findings:
    catalog = read_catalog(session, settings)
    there = recover.all_tables(session, settings.change_schema)
    storages = there.storages
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
    removed = of_removed_models(session, tables_now, there, scope)
    left = [(number, orphan) for number, orphan in left_over(tables_now, there) if number not in removed.numbers]
    return Findings(
        tuple(rebuilt.values()),
        tables_now,
        (*removed.orphans, *(orphan for number, orphan in left if number not in in_doubt)),
        (*removed.left_alone, *(in_use(orphan) for number, orphan in left if number in in_doubt)),
        removed.numbers,
        frozenset(rebuilt.keys() - known.keys()),
        catalog.dependencies,
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
        now = dependencies(table.pgt_id, table.frontier, table.unversioned)
        sources = carried_over(now, findings.captured.get(table.pgt_id, ()))
        entries += [store.stream_table(table), store.dependencies(table.pgt_id, sources)]
        if table.pgt_id in findings.unknown:
            entries += map(store.refresh, past.of(session, table))
    session.execute(store.append(settings.catalog_schema, "trickle repair", entries))


def remove(session: Session, settings: ProjectSettings, findings: Findings) -> frozenset[Orphan]:
    """What was taken away; not a public name that has become somebody else's since it was looked at."""
    gone = set()
    for number in sorted(findings.removed):
        session.execute(f"DROP VIEW IF EXISTS {changes_view(settings.change_schema, number).sql}")
    for orphan in findings.orphans:
        if orphan.is_public and orphan.pgt_id is not None:
            if not public_name.drop(session, orphan.relation, orphan.pgt_id, orphan.kind.lower()):
                continue
        else:
            retire.drop(session, orphan.relation)
        gone.add(orphan)
    entries = [entry for number in sorted(findings.removed) for entry in store.dropped(number)]
    if entries:
        session.execute(store.append(settings.catalog_schema, "trickle repair", entries))
    return frozenset(gone)


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
    serving, text = recover.serving(session, base.public, number)
    if serving == base.public:
        return None  # a table of its own: what is here are generations from when it was a view
    live = next((g for g, s in generations.items() if s == serving and g in marked), newest)
    commit, marker = marked[live]
    shown = showing(text, number) if text is not None else None
    held = recover.held_back(session, number, shown, known, commit.committed_at)
    if known is not None and (known.batch, known.generation) == (marker.batch, live):
        return replace(known, held_back=held)
    return replace(recover.apply_marker(base, generations[live], commit, marker), held_back=held)


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
