"""One refresh in as many attempts as it takes: each goes on from what has been committed by then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.errors import TrickleBug, TrickleError, WarehouseError
from dbt_trickle.plan.decide import Decision, Work, instead
from dbt_trickle.run import outcomes, recover, retry
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session, is_lost, is_too_old, is_vacuumed, read_old_versions

Attempt = Callable[[Request, Session, Invocation], Outcome]


def until_done(request: Request, session: Session, run: Invocation, attempt: Attempt) -> Outcome:
    """Another run may have been faster, or the server away: that passes by itself (run/retry.py).

    An old version that cannot be read will not be there later either: it is done without.
    """
    before, old_versions, why = run.state(request.pgt_id), False, ""
    for failures in count():
        try:
            return _again(request, session, run, attempt, before, why) if failures else attempt(request, session, run)
        except WarehouseError as problem:
            if is_too_old(problem) and not old_versions and read_old_versions(session):
                old_versions = True
                continue
            if is_vacuumed(problem) and _to_be_loaded(request, run, problem):
                continue
            seconds = retry.pause(problem, failures + 1, f"{run.invocation_id} {request.pgt_id}")
            # A new connection has not what the model's hooks have set in the old one.
            if seconds is None or (request.hooked and is_lost(problem)) or not run.wait(seconds):
                raise
            why = f"tried again, since {retry.reason(problem)}"
    raise TrickleBug("counting came to an end")


def done_all_the_same(
    request: Request, session: Session, run: Invocation, before: StreamTable | None, problem: TrickleError
) -> Outcome | None:
    """A failure behind the commit that counts, or an answer that was lost for good: readers see the new rows by then.

    What a commit is followed by (descriptions, clustering, the end of old generations) is made up for by the next run.
    """
    if not isinstance(problem, WarehouseError) or not run.running(request.pgt_id).action:
        return None  # it was told before anything was tried
    try:
        current = run.look_again(session, request.pgt_id, request.public)
        own = recover.committed_by(session, current, run.invocation_id) if current is not None else None
    except WarehouseError:
        return None  # what happened is to be told, not that nobody can be asked about it
    if current is None or own is None:
        return None
    outcome = outcomes.committed(run, before, current, *own)
    told = f"what was to follow its commit failed, and is left to the next run: {problem.what.splitlines()[0]}"
    return replace(_told(outcome, told), warnings=(*outcome.warnings, f"{request.name}: {told} [{problem.code}]"))


def _again(
    request: Request, session: Session, run: Invocation, attempt: Attempt, before: StreamTable | None, why: str
) -> Outcome:
    current = run.look_again(session, request.pgt_id, request.public)
    if current is None:
        return _told(attempt(request, session, run), why)
    own = recover.committed_by(session, current, run.invocation_id)
    if own is not None:
        return outcomes.committed(run, before, current, *own)
    return _told(attempt(replace(request, existing=current.expose, began=before), session, run), why)


def _told(outcome: Outcome, why: str) -> Outcome:
    """Or its history would not say why to find nothing to do took so long."""
    row = outcome.refresh
    reason = f"{row.reason}; {why}" if why else row.reason
    return replace(outcome, refresh=replace(row, reason=reason))


def _to_be_loaded(request: Request, run: Invocation, problem: WarehouseError) -> bool:
    """Whether the next attempt needs no old version, as this one did; an error where that is forbidden."""
    state = run.state(request.pgt_id)
    if state is None or not state.is_populated or state.needs_reinit:
        return False
    reason = f"an old version cannot be read: {problem.what.splitlines()[0]}"
    instead(request.config, Decision("REINITIALIZE", reason, Work.LOAD))
    run.doubt(replace(state, needs_reinit=True, reinit_reason=reason))
    return True
