"""Refreshes with nothing left to do: because of nothing to do, of a failure, or of a commit that is found done."""

from __future__ import annotations

from dataclasses import replace

from dbt_trickle.catalog import events
from dbt_trickle.catalog.state import ACTIVE, ERROR, SUSPENDED, Dependency, StreamTable
from dbt_trickle.errors import TrickleError
from dbt_trickle.formats.base import Commit, Marker
from dbt_trickle.plan import due
from dbt_trickle.plan.decide import KEPT_OLD_DEFINITION, SUPERSEDED, SUSPENDED_BY_USER, Decision
from dbt_trickle.run import recover, retry
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.done import for_consumers, measured, update_docs
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.pins import carried_over, dependencies
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import is_about_columns
from dbt_trickle.run.situation import Situation

LONGEST_MESSAGE = 2000


def nothing_done(here: Situation, decision: Decision) -> Outcome:
    state, before = here.before, here.before
    statements: tuple[str, ...] = ()
    captured: tuple[Dependency, ...] | None = None
    told: tuple[events.Event, ...] = ()
    if before is not None and decision.action != "SKIP":
        # The content is right for the newest state of the sources, too: it was computed from an equal one.
        state = replace(
            before,
            **here.request.settings(),
            frontier=here.pinned.frontier,
            origins=here.pinned.origins,
            views=here.pinned.view_texts,
            data_timestamp=here.data_timestamp,
            last_refresh_at=here.now,
            updated_at=here.now,
            consecutive_errors=0,
            last_error=None,
            # Where it was suspended, somebody has lifted that, or it would not have come to here.
            status=ACTIVE,
            suspended_by=None,
        )
        # To find that what changed concerns no row took its time, too.
        state, statements = update_docs(here, measured(here, decision, state))
        state = for_consumers(here, state, here.now)
        captured, told = here.captures.settle(here.session, here.pinned.frontier, here.pinned.unversioned)
    elif before is not None and decision.reason == SUSPENDED_BY_USER:
        state = replace(before, status=SUSPENDED, updated_at=here.now)
    to_be_told = decision.reason.endswith((KEPT_OLD_DEFINITION, SUPERSEDED)) or bool(here.facts.apart)
    return Outcome(
        replace(
            here.row,
            action=decision.action,
            reason=decision.reason,
            status="SKIPPED" if decision.action == "SKIP" else "COMPLETED",
            batch=before.batch if before else None,
            data_timestamp=state.data_timestamp if state else None,
            freshness_deadline=due.deadline(state.schedule, state.data_timestamp) if state else None,
            frontier_from=before.frontier if before else {},
            frontier_to=state.frontier if state else {},
            end_time=here.run.clock(),
            phase_ms=here.phases.spent,
        ),
        state,
        captured,
        statements=statements,
        events=told,
        warnings=(f"{here.request.name}: {decision.reason}",) if to_be_told else (),
    )


SWITCHED_OFF = "`trickle_enabled` is false"


def switched_off(request: Request, run: Invocation) -> Outcome:
    row = run.running(request.pgt_id)
    return Outcome(replace(row, action="SKIP", status="SKIPPED", reason=SWITCHED_OFF, end_time=run.clock()), None)


def committed(
    run: Invocation, before: StreamTable | None, state: StreamTable, commit: Commit, marker: Marker
) -> Outcome:
    """This run's own commit, found after a failure: the storage says of it what the answer would have said."""
    inserted, deleted = recover.moved_rows(commit, marker)
    loaded = before is not None and before.is_populated
    row = run.running(state.pgt_id)
    row = replace(
        row,
        action=marker.action,
        reason=marker.reason,
        status="COMPLETED",
        initiated_by=row.initiated_by if loaded else "INITIAL",
        batch=marker.batch,
        data_timestamp=marker.data_timestamp,
        freshness_deadline=due.deadline(state.schedule, marker.data_timestamp),
        rows_inserted=inserted,
        rows_deleted=deleted,
        delta_rows=inserted + deleted,
        frontier_from=before.frontier if before is not None else {},
        frontier_to=marker.frontier,
        storage_relation=state.storage_relation,
        storage_version=commit.version,
        staged=marker.staged.token if marker.staged is not None else None,
        end_time=run.clock(),
    )
    now = dependencies(state.pgt_id, dict(marker.frontier), state.unversioned)
    found = carried_over(now, run.dependencies(state.pgt_id))
    moved = before is None or before.generation != marker.generation
    return Outcome(row, state, found, moved=moved)


def failed(run: Invocation, pgt_id: int, problem: TrickleError) -> Outcome:
    """The public relation goes on serving what the last good refresh left."""
    now, before = run.clock(), run.state(pgt_id)
    message = str(problem)[:LONGEST_MESSAGE]
    plan = run.planned(pgt_id)
    state = before if before is not None or plan is None else plan.unborn(now)
    if state is not None:
        # What passes by itself says nothing of the stream table: an evening without a metastore suspends none.
        counts = not retry.passes_by_itself(problem)
        errors = state.consecutive_errors + counts
        # What was never loaded has nothing to serve meanwhile: each run tries to load it.
        suspended = counts and state.is_populated and errors >= run.settings.max_consecutive_errors
        state = replace(
            state,
            consecutive_errors=errors,
            last_error=message,
            updated_at=now,
            status=ERROR if suspended else state.status,
            suspended_by="ERRORS" if suspended else state.suspended_by,
        )
        if state.is_populated and is_about_columns(problem):
            state = replace(state, needs_reinit=True, reinit_reason=f"columns did not fit: {_first_line(problem)}")
    row = run.running(pgt_id)
    # Where nothing was decided yet, nothing was tried either.
    row = replace(row, action=row.action or "SKIP", status="FAILED", error_message=message, end_time=now)
    return Outcome(row, state, events=events.of_failure(before, state, run.name_of(pgt_id), row, problem))


def _first_line(problem: TrickleError) -> str:
    return problem.what.split("\n")[0]
