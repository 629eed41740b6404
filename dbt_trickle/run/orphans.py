"""What nobody needs any more, and what only looks like it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.names import Relation
from dbt_trickle.run import public_name
from dbt_trickle.run.recover import Tables
from dbt_trickle.run.session import Session


@dataclass(frozen=True)
class Scope:
    """What the project builds in this target."""

    project: str
    dbt_target: str
    schemas: frozenset[str]
    models: Mapping[str, Relation]  # unique id → public name of its stream tables
    shown_tables: tuple[Relation, ...] = ()  # those that `expose: table` keeps in public places
    # unique id → name of its models of other materializations; none: an ephemeral one has no name.
    others: Mapping[str, Relation | None] = field(default_factory=dict)

    def has(self, table: StreamTable) -> bool:
        """Built by this project in this target. With its model a schema of its own may have gone from the project,
        so schemas do not tell; they are asked of what was recorded when nothing else was."""
        if table.project != self.project:
            return False
        return table.dbt_target == self.dbt_target if table.dbt_target else table.pgt_schema in self.schemas

    def why_removed(self, table: StreamTable) -> str:
        """Nothing where its model builds it still."""
        current = self.models.get(table.dbt_unique_id)
        if current is not None:
            return "" if current == table.public else f"its model is now called {current}"
        return "its model is not a stream_table any more" if table.dbt_unique_id in self.others else "its model is gone"


@dataclass(frozen=True)
class Orphan:
    """Something that only takes up room: its stream table's model is gone, or a dead run left it."""

    relation: Relation
    kind: str  # VIEW or TABLE
    reason: str
    pgt_id: int | None = None
    is_public: bool = False


@dataclass(frozen=True)
class Removed:
    """Stream tables that no model builds any more: what is theirs, and what has their names."""

    numbers: frozenset[int]
    orphans: tuple[Orphan, ...]
    left_alone: tuple[Orphan, ...]


def of_removed_models(session: Session, known: Mapping[int, StreamTable], there: Tables, scope: Scope) -> Removed:
    """All of their generations go at once. A public name goes only where it is still theirs to give away."""
    numbers, orphans, left = [], [], []
    for table in known.values():
        reason = scope.why_removed(table)
        if not reason or not scope.has(table):
            continue
        found = public_name.held(session, table.public, table.pgt_id)
        public = Orphan(table.public, found.kind or table.expose.upper(), reason, table.pgt_id, is_public=True)
        if found.ours and scope.others.get(table.dbt_unique_id) == table.public:
            # Its storages are what readers of the name still get.
            left.append(_left(public, "the next run of the model replaces it"))
            continue
        numbers.append(table.pgt_id)
        if found.kind is None or found.ours:
            orphans.append(public)
        else:
            left.append(_left(public, "what has its name now is somebody else's"))
        all_own = (*sorted(there.changes.items()), *sorted(there.storages.items()))
        own = [relation for (number, _), relation in all_own if number == table.pgt_id]
        if table.storage_relation and table.storage not in (table.public, *own):
            own.append(table.storage)
        orphans += (Orphan(storage, "TABLE", reason, table.pgt_id) for storage in own)
    return Removed(frozenset(numbers), tuple(orphans), tuple(left))


def left_over(known: Mapping[int, StreamTable], there: Tables) -> Iterable[tuple[int, Orphan]]:
    """Storages that no stream table serves from, and that no reader can still be waiting in; the same of what was
    staged for readers.
    """
    for (number, generation), staged in sorted(there.changes.items()):
        table = known.get(number)
        if table is None:
            yield number, Orphan(staged, "TABLE", "no stream table has it")
        elif not _stages_in(table, staged, generation):
            yield number, Orphan(staged, "TABLE", f"{table.public} stages nothing in it")
    for (number, generation), storage in sorted(there.storages.items()):
        table = known.get(number)
        if table is None:
            yield number, Orphan(storage, "TABLE", "no stream table has it")
        elif storage not in _needed(table) and generation not in {g for g, _ in table.retired}:
            yield number, Orphan(storage, "TABLE", f"{table.public} has generation {table.generation}")


def _needed(table: StreamTable) -> set[Relation]:
    """What refreshes go on from, and what readers are shown until its diamond has come."""
    return {table.storage} | ({table.held_back.relation} if table.held_back is not None else set())


def _stages_in(table: StreamTable, staged: Relation, generation: int) -> bool:
    if table.change_buffer == "table" and generation == table.generation:
        return True  # its first reader may just have come
    return table.buffer is not None and (table.buffer.table == str(staged) or generation in table.buffer.left)


def in_use(orphan: Orphan) -> Orphan:
    """A run that has not ended may be about to serve from it."""
    return _left(
        orphan, "but a dbt run with it has not ended; if that one died, the next dbt run finds it out", between=", "
    )


def _left(orphan: Orphan, why: str, between: str = "; ") -> Orphan:
    return Orphan(orphan.relation, orphan.kind, orphan.reason + between + why, orphan.pgt_id, orphan.is_public)
