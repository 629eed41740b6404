"""What a run does at its end so that nothing grows for ever: seldom, and of one table at most.

Each run appends to the journal, each refresh that changes something commits to its storage: small files, and old
ones that nobody reads. After `EVERY` of them the table is compacted, optimized and vacuumed by the next run that ends
with it. Whether that is due, a run knows from what it has read anyway.

Nothing depends on it: the run's results are written before, whatever fails here is told and no more, and what a run
that dies leaves undone the next one does. Another run that commits meanwhile wins, or tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from dbt_trickle.capture.table import retention
from dbt_trickle.catalog import compaction, store, tables
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import TrickleError, WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run.session import Session, is_conflict, own_settings, passes

EVERY = 100
JOURNAL = "journal"
MARGIN = timedelta(hours=1)  # between the warehouse's clock and this one
# The first two: files in between are left alone, or each OPTIMIZE would write anew whatever is below a gigabyte, as is
# Delta's default. The last: a VACUUM lists a table's few folders in so many tasks, by default 10 000.
SETTINGS = {
    "spark.databricks.delta.optimize.minFileSize": 32 * 1024 * 1024,
    "spark.databricks.delta.optimize.maxFileSize": 128 * 1024 * 1024,
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": 32,
}


@dataclass(frozen=True)
class Ended:
    """A run that has closed."""

    invocation_id: str
    settings: ProjectSettings
    catalog: store.Catalog  # as it was read when the run began
    refreshed: Sequence[StreamTable]  # with success, also where there was nothing to do
    known: Sequence[StreamTable]  # all of the catalog
    now: str
    warn: Callable[[str], None]


Step = Callable[[Session], None]


@dataclass(frozen=True)
class Task:
    key: str
    table: Relation
    count: int  # of what makes it due, now
    rest: int  # what is left of the count when the first step is done
    steps: Sequence[Step]


def after(session: Session, run: Ended) -> None:
    task = most_urgent(run)
    if task is None:
        return
    count = task.count
    try:
        for step in task.steps:
            step(session)
            count = task.rest
    except TrickleError as problem:
        if is_conflict(problem):
            return  # somebody else is at it
        _tell(run, task, problem)
        if isinstance(problem, WarehouseError) and passes(problem):
            return
    try:
        # Also of a try that failed: what cannot be done here is not to cost every run.
        noted = [store.maintained(task.key, count)]
        session.execute(store.append(run.settings.catalog_schema, run.invocation_id, noted))
    except TrickleError as problem:
        _tell(run, task, problem)


def most_urgent(run: Ended) -> Task | None:
    """The journal first: every run reads it."""
    if not run.settings.maintenance:
        return None
    tried = run.catalog.maintained
    if _since(run.catalog.closed, tried.get(JOURNAL, 0)) >= EVERY:
        journal = tables.journal(run.settings.catalog_schema)
        compacting = (partial(_compact, run.settings), partial(_optimize, journal), partial(_vacuum, journal))
        return Task(JOURNAL, journal, run.catalog.closed, 0, compacting)
    waiting = [(_since(state.batch, tried.get(str(state.pgt_id), 0)), state) for state in run.refreshed]
    due = [(count, state) for count, state in waiting if count >= EVERY and state.is_populated]
    if not due:
        return None
    _, state = max(due, key=lambda found: found[0])
    storage = state.storage
    steps = [partial(_optimize, storage), partial(_vacuum_unless_held, run, state)]
    if state.buffer is not None and state.buffer.table:
        # Whoever reads it reads its newest version, and no longer than a refresh takes.
        staged = Relation.parse(state.buffer.table)
        steps += [partial(_optimize, staged), partial(_vacuum, staged)]
    return Task(str(state.pgt_id), storage, state.batch, state.batch, steps)


def _since(count: int, tried: int) -> int:
    """A count that has gone back has begun anew."""
    return count - tried if count >= tried else count


def _compact(settings: ProjectSettings, session: Session) -> None:
    session.execute(compaction.compact(settings.catalog_schema, settings.history_retention_days))


def _optimize(table: Relation, session: Session) -> None:
    _tidy(session, f"OPTIMIZE {table.sql}")


def _vacuum(table: Relation, session: Session) -> None:
    _tidy(session, f"VACUUM {table.sql}")


def _vacuum_unless_held(run: Ended, state: StreamTable, session: Session) -> None:
    if not _is_held(session, run, state):
        _vacuum(state.storage, session)


def _is_held(session: Session, run: Ended, state: StreamTable) -> bool:
    """Whether one that reads it goes on from a state that a VACUUM may take, or readers are held back with one: that is
    as old as the retention.
    """
    since = [table.frontier[state.key].committed_at for table in run.known if state.key in table.frontier]
    if state.held_back is not None:
        since.append(state.held_back.since)  # until then its version was the newest
    if not since:
        return False
    properties = {str(r["key"]): str(r["value"]) for r in session.query(f"SHOW TBLPROPERTIES {state.storage.sql}")}
    kept = retention(properties)
    oldest = min(map(datetime.fromisoformat, since))
    return kept is None or datetime.fromisoformat(run.now) - oldest >= kept.files - MARGIN


def _tidy(session: Session, statement: str) -> None:
    """With the session's settings as they were afterwards, whatever happens: they may be somebody else's."""
    with own_settings(session) as use:
        use({key: str(value) for key, value in SETTINGS.items()})
        session.execute(statement)


def _tell(run: Ended, task: Task, problem: TrickleError) -> None:
    run.warn(
        f"{task.table} could not be compacted: {problem}\n"
        "Its content is right, and the run is not affected. It is tried again after some time; "
        "the variable `trickle_maintenance: false` ends that."
    )
