"""The table in which a stream table's refreshes stage what they change (`change_buffer: table`): made, emptied, gone.

There is one for each generation, for its columns are those of the storage; an older one's waits as long as somebody may
still be reading it. Nothing depends on what is taken out here: who reads it counts before.
"""

from __future__ import annotations

from collections.abc import Iterable

from dbt_trickle.apply import staged
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.names import Relation, changes_table
from dbt_trickle.run import recover
from dbt_trickle.run.session import Session


def of(settings: ProjectSettings, state: StreamTable) -> Relation:
    return changes_table(settings.change_schema, state.pgt_id, state.generation)


def create(session: Session, settings: ProjectSettings, state: StreamTable) -> Relation:
    table = of(settings, state)
    session.execute(staged.create(table, state.storage))
    return table


def empty(session: Session, table: Relation, state: StreamTable, consumers: Iterable[StreamTable]) -> None:
    """Before a batch is staged: what all consumers have read goes, and what never came to count.

    A run may be about to bring that in, and not be dead at all. It reads its rows at the version that has them, and
    those who read the stream table miss them and compare its versions.
    """
    at = [c.frontier[state.key] for c in consumers if c.frontier[state.key].table_id == state.storage_relation]
    slowest = min((version.version for version in at), default=state.storage_version)
    session.execute(staged.delete(table, _batch_at(session, state, slowest), state.batch))


def drop(session: Session, settings: ProjectSettings, state: StreamTable, generations: Iterable[int]) -> None:
    for generation in generations:
        table = changes_table(settings.change_schema, state.pgt_id, generation)
        session.execute(f"DROP TABLE IF EXISTS {table.sql}")


def _batch_at(session: Session, state: StreamTable, version: int) -> int:
    """The batch that a version of its storage has; none that is known: 0."""
    if version >= state.storage_version:
        return state.batch
    known = recover.marked_commits(session, state.storage, state.pgt_id)
    return max((marker.batch for commit, marker in known if commit.version <= version), default=0)
