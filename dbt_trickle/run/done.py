"""What follows a commit: what was measured, descriptions, what is remembered of the sources, and the outcome."""

from __future__ import annotations

from dataclasses import replace

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.formats.base import Marker
from dbt_trickle.plan import cost, due, steps
from dbt_trickle.plan.decide import Decision, Work
from dbt_trickle.run import retire
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.commit import run_steps
from dbt_trickle.run.situation import Situation
from dbt_trickle.run.understand import Understood


def measured(here: Situation, decision: Decision, state: StreamTable) -> StreamTable:
    if decision.choice is None:
        return state
    return cost.remembered(state, decision.choice, sum(here.phases.spent.values()))


def outcome(
    here: Situation,
    decision: Decision,
    marker: Marker,
    base: StreamTable,
    state: StreamTable,
    moved: tuple[int, int],
    done: tuple[str, ...],
    understood: Understood,
) -> Outcome:
    inserted, deleted = moved
    captured, told = here.captures.settle(
        here.session, here.pinned.frontier, here.pinned.unversioned, understood.shape, understood.reason
    )
    state = for_consumers(here, state, here.run.clock())
    return Outcome(
        replace(
            here.row,
            action=decision.action,
            reason=decision.reason,
            status="COMPLETED",
            initiated_by="INITIAL" if decision.is_first else here.row.initiated_by,
            batch=marker.batch,
            data_timestamp=state.data_timestamp,
            freshness_deadline=due.deadline(state.schedule, state.data_timestamp),
            rows_inserted=inserted,
            rows_deleted=deleted,
            delta_rows=inserted + deleted,
            frontier_from=base.frontier,
            frontier_to=state.frontier,
            storage_relation=state.storage_relation,
            storage_version=state.storage_version,
            staged=marker.staged.token if marker.staged is not None else None,
            end_time=here.run.clock(),
            phase_ms=here.phases.spent,
        ),
        state,
        captured,
        statements=done,
        events=told,
        moved=decision.work is Work.LOAD,
    )


def for_consumers(here: Situation, state: StreamTable, now: str) -> StreamTable:
    """With the buffer that who reads it is to have, and without the generations that nobody goes on from."""
    consumers = here.run.consumers(state)
    state = here.buffers.kept(state, bool(consumers))
    return retire.sweep(here.session, state, consumers, here.run.settings.change_schema, now)


def update_docs(here: Situation, state: StreamTable) -> tuple[StreamTable, tuple[str, ...]]:
    """Descriptions are no part of the query: changed ones are stored without a rebuild."""
    wanted = here.request.docs_mark
    if wanted == state.docs:
        return state, ()
    plan = steps.describe(here.target(state.storage, state.columns), here.request.config)
    return replace(state, docs=wanted), run_steps(here, plan)[0]
