"""Bringing rows in: what changed, or, of a full refresh that others read, what differs from what is stored."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dbt_trickle.apply import whole
from dbt_trickle.apply.base import Applied
from dbt_trickle.catalog.state import Column, StreamTable
from dbt_trickle.formats.base import Commit
from dbt_trickle.plan.decide import Decision
from dbt_trickle.run import guard, holding, planned, recover
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.commit import run_steps
from dbt_trickle.run.differential import Differential
from dbt_trickle.run.done import measured, outcome, update_docs
from dbt_trickle.run.narrowed import Narrowed, narrowed
from dbt_trickle.run.situation import Situation
from dbt_trickle.run.staging import Ready, stage
from dbt_trickle.run.understand import Understood


@dataclass(frozen=True)
class Brought:
    """`outcome`: none where no row changed; `most`: so many would have that nothing was brought in."""

    outcome: Outcome | None
    most: bool = False


@dataclass(frozen=True)
class _Sent:
    here: Situation
    decision: Decision
    refresh: planned.Refresh
    commit: Commit
    statements: tuple[str, ...]


def changes(
    here: Situation,
    decision: Decision,
    columns: tuple[Column, ...],
    understood: Understood,
    differential: Differential,
) -> Outcome | None:
    """In one statement, or from where it was staged; none where no row changed."""
    ready = _staged(here, differential.applied)
    if ready.is_empty:
        return None
    with narrowed(here.session, ready.applied) as way:
        here.phases.lap("touched")
        if way.too_many:
            decision = replace(decision, reason=f"{decision.reason}; of many rows, so merged")
        sent = _send(here, decision, columns, understood, way, ready)
    if sent is None:
        return None
    took = sum(here.phases.spent.values())
    return _brought(sent, replace(_state(sent), last_diff_ms=took), understood)


def difference(
    here: Situation, decision: Decision, columns: tuple[Column, ...], understood: Understood, applied: Applied
) -> Brought:
    """The same of a full refresh: of all rows those that differ."""
    ready = _staged(here, applied)
    if ready.is_empty:
        return Brought(None)
    with narrowed(here.session, ready.applied) as way:
        here.phases.lap("compare")
        if way.moved is not None and way.too_many and whole.is_most(planned.base_of(here).rows, way.moved):
            return Brought(None, most=True)
        decision = replace(decision, reason=f"{decision.reason}; {applied.how}")
        sent = _send(here, decision, columns, understood, way, ready)
    if sent is None:
        return Brought(None)
    took = sum(here.phases.spent.values())
    return Brought(_brought(sent, replace(_state(sent), last_full_ms=took), understood))


def _staged(here: Situation, applied: Applied) -> Ready:
    place, version = here.place, planned.base_of(here).stored_version
    ready = stage(here.session, applied, place.table if place is not None else None, version)
    if ready.staged is not None:
        here.phases.lap("stage")
    return ready


def _send(
    here: Situation,
    decision: Decision,
    columns: tuple[Column, ...],
    understood: Understood,
    way: Narrowed,
    ready: Ready,
) -> _Sent | None:
    """The one statement; none where it is not needed, or has found nothing to do."""
    if way.is_empty:
        return None
    here = holding.begun(here, decision)
    found = planned.changes(here, decision, columns, understood, way.applied, way.moved, way.touched, ready.staged)
    here.phases.lap("plan")
    done, commit = run_steps(here, found.plan)
    here.phases.lap("execute")
    return _Sent(here, decision, found, commit, (*ready.sent, *way.sent, *done)) if commit is not None else None


def _state(sent: _Sent) -> StreamTable:
    base = sent.refresh.base
    state = recover.apply_marker(base, base.storage, sent.commit, sent.refresh.marker)
    return replace(state, updated_at=sent.here.run.clock())


def _brought(sent: _Sent, state: StreamTable, understood: Understood) -> Outcome:
    here, base, marker, decision = sent.here, sent.refresh.base, sent.refresh.marker, sent.decision
    state = guard.doubted(here.session, base, measured(here, decision, state))
    state, described = update_docs(here, replace(state, docs=base.docs))
    moved = recover.moved_rows(sent.commit, marker)
    if not any(moved):
        # With the batch's number to note, a MERGE that changes no row commits even so.
        decision = replace(decision, action="NO_DATA", reason=f"{decision.reason}; none of its rows changed")
    # Its own of an earlier attempt, where the server has completed that one.
    marker = sent.commit.marker or marker
    return outcome(here, decision, marker, base, state, moved, sent.statements + described, understood)
