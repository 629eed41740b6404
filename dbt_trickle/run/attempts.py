"""One refresh in as many attempts as it takes: each goes on from what has been committed by then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.errors import TrickleBug, WarehouseError
from dbt_trickle.run import outcomes, recover, retry
from dbt_trickle.run.invocation import Invocation, Outcome
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

Attempt = Callable[[Request, Session, Invocation], Outcome]


def until_done(request: Request, session: Session, run: Invocation, attempt: Attempt) -> Outcome:
    """Another run may have been faster, or the server away: that passes by itself (run/retry.py)."""
    before = run.state(request.pgt_id)
    for failures in count():
        try:
            return _again(request, session, run, attempt, before) if failures else attempt(request, session, run)
        except WarehouseError as problem:
            seconds = retry.pause(problem, failures + 1, f"{run.invocation_id} {request.pgt_id}")
            if seconds is None or not run.wait(seconds):
                raise
    raise TrickleBug("counting came to an end")


def _again(
    request: Request, session: Session, run: Invocation, attempt: Attempt, before: StreamTable | None
) -> Outcome:
    current = run.look_again(session, request.pgt_id, request.public)
    if current is None:
        return attempt(request, session, run)
    own = recover.committed_by(session, current, run.invocation_id)
    if own is not None:
        return outcomes.committed(run, before, current, *own)
    return attempt(replace(request, existing=current.expose), session, run)
