"""Acting on a decision: the statements, the one commit that counts, and what it is known to have done."""

from __future__ import annotations

from dataclasses import replace

from dbt_trickle.catalog.state import INITIALIZING, Column, Experience, StreamTable
from dbt_trickle.errors import TrickleBug, WarehouseError
from dbt_trickle.formats.base import Marker
from dbt_trickle.plan import cost, due, retyped, steps
from dbt_trickle.plan.decide import Decision, Work
from dbt_trickle.run import guard, leave, planned, recover, retire
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.commit import run_steps
from dbt_trickle.run.differential import Differential
from dbt_trickle.run.narrowed import narrowed
from dbt_trickle.run.situation import Situation
from dbt_trickle.run.understand import Understood


def apply(here: Situation, decision: Decision, columns: tuple[Column, ...], understood: Understood) -> Outcome:
    """All rows anew: into a new generation, or in place of the old ones."""
    found = planned.all_rows(here, decision, columns, understood)
    base, storage, marker = found.base, found.target.storage, found.marker
    here.phases.lap("plan")
    try:
        done, commit = run_steps(here, found.plan)
    except WarehouseError:
        # Nothing can swap a view for a table: the view had to go first, and must not be missed when that was in vain.
        if not found.target.is_view and base.is_populated:
            leave.serve_again(here.session, base)
        raise
    here.phases.lap("execute")
    if commit is None:
        raise TrickleBug("a plan without a commit")

    now = here.run.clock()
    state = replace(
        recover.apply_marker(base, storage, commit, marker),
        updated_at=now,
        last_full_ms=sum(here.phases.spent.values()),
    )
    if decision.work is Work.LOAD:
        # What was measured was another query's, or over other sources.
        state = replace(state, told=Experience(), untold=Experience())
        state = replace(state, storage_path=guard.path_of(here.session, storage))
        state = retire.retire(state, planned.generations(here), now)
    else:
        state = measured(here, decision, state)
        state, described = update_docs(here, replace(state, docs=base.docs))
        done += described
    refreshed = _done(here, decision, marker, base, state, (commit.rows_written, base.rows), done, understood)
    return replace(refreshed, warnings=_of_types(here, columns))


def _of_types(here: Situation, columns: tuple[Column, ...]) -> tuple[str, ...]:
    """Said once, by the run that brings them: what reads these columns may not compile, or compare them otherwise."""
    if here.before is None or not here.before.is_populated:
        return ()
    changed = retyped.incompatibly(here.before.columns, columns)
    return (f"{here.request.name}: its columns have other types now: {', '.join(changed)}",) if changed else ()


def bring_in(
    here: Situation,
    decision: Decision,
    columns: tuple[Column, ...],
    understood: Understood,
    differential: Differential,
) -> Outcome | None:
    """What changed, in one statement; none where none of its rows did."""
    with narrowed(here.session, differential.applied) as way:
        here.phases.lap("touched")
        if way.is_empty:
            return None
        if way.too_many:
            decision = replace(decision, reason=f"{decision.reason}; of many rows, so merged")
        found = planned.changes(here, decision, columns, understood, way.applied, way.moved, way.touched)
        base, marker = found.base, found.marker
        here.phases.lap("plan")
        done, commit = run_steps(here, found.plan)
        here.phases.lap("execute")
        done = (*way.sent, *done)
    if commit is None:
        return None
    state = replace(
        recover.apply_marker(base, base.storage, commit, marker),
        updated_at=here.run.clock(),
        last_diff_ms=sum(here.phases.spent.values()),
    )
    state = guard.doubted(here.session, base, measured(here, decision, state))
    state, described = update_docs(here, replace(state, docs=base.docs))
    moved = recover.moved_rows(commit, marker)
    if not any(moved):
        # With the batch's number to note, a MERGE that changes no row commits even so.
        decision = replace(decision, action="NO_DATA", reason=f"{decision.reason}; none of its rows changed")
    return _done(here, decision, marker, base, state, moved, done + described, understood)


def measured(here: Situation, decision: Decision, state: StreamTable) -> StreamTable:
    if decision.choice is None:
        return state
    return cost.remembered(state, decision.choice, sum(here.phases.spent.values()))


def _done(
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
    state = retire.sweep(here.session, state, here.run.settings.change_schema, here.run.clock())
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
            end_time=here.run.clock(),
            phase_ms=here.phases.spent,
        ),
        state,
        captured,
        statements=done,
        events=told,
        moved=decision.work is Work.LOAD,
    )


def stand_in(here: Situation, decision: Decision, columns: tuple[Column, ...]) -> Outcome:
    """--empty of a model that was never loaded: something with its columns, unpopulated in the catalog."""
    found = planned.stand_in(here, columns)
    base, storage = found.base, found.target.storage
    done, _ = run_steps(here, found.plan)
    state = replace(
        base,
        **here.request.settings(),
        storage_relation=str(storage),
        generation=found.generation,
        expose=here.request.config.expose,
        updated_at=here.now,
        # Its name may have gone while the catalog held it to be loaded: what it shows from now on is not.
        status=INITIALIZING,
        is_populated=False,
        fingerprint="",
        frontier={},
        rows=0,
        storage_version=-1,
        storage_path="",
        seen_version=-1,
        seen_at="",
    )
    state = retire.retire(state, planned.generations(here), here.run.clock())
    row = replace(
        here.row,
        action=decision.action,
        reason=decision.reason,
        status="SKIPPED",
        end_time=here.run.clock(),
        phase_ms=here.phases.spent,
    )
    return Outcome(row, state, statements=done)


def update_docs(here: Situation, state: StreamTable) -> tuple[StreamTable, tuple[str, ...]]:
    """Descriptions are no part of the query: changed ones are stored without a rebuild."""
    wanted = here.request.docs_mark
    if wanted == state.docs:
        return state, ()
    plan = steps.describe(here.request.target(state.storage, state.columns), here.request.config)
    return replace(state, docs=wanted), run_steps(here, plan)[0]
