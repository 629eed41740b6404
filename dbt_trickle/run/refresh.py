"""One refresh of one stream table: consider, act, say what happened."""

from __future__ import annotations

import re
from dataclasses import replace

from dbt_trickle.apply.top import INCOMPLETE
from dbt_trickle.catalog import events
from dbt_trickle.catalog.state import Column, StreamTable
from dbt_trickle.errors import TrickleBug, TrickleError, WarehouseError, raised_in_sql
from dbt_trickle.plan import cost
from dbt_trickle.plan.decide import Decision, Work, instead
from dbt_trickle.run import attempts, bring, holding, outcomes, planned, work
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.consider import consider, passed_over
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session
from dbt_trickle.run.situation import Situation, with_meaning
from dbt_trickle.run.understand import Understood

# Of Spark's errors those that a value brings: a division by zero, a text that is no number.
_OF_VALUES = re.compile(r"\[([A-Z_]+)[^\]]*\].*SQLSTATE: 22[0-9A-Z]{3}", re.DOTALL)
# A chain that grew from refresh to refresh may by now be longer than a recursion may be. The query as a whole tells.
_LIMITS = ("RECURSION_LEVEL_LIMIT_EXCEEDED", "RECURSION_ROW_LIMIT_EXCEEDED")


def refresh(request: Request, session: Session, run: Invocation) -> Outcome:
    """Every outcome is remembered for the catalog, a failure too; then the failure goes on to dbt."""
    before = run.state(request.pgt_id)
    try:
        outcome = attempts.until_done(request, session, run, _refresh)
    except TrickleError as problem:
        done = attempts.done_all_the_same(request, session, run, before, problem)
        if done is None:
            fail(run, request.pgt_id, problem)
            raise problem.about(request.name) from problem
        outcome = done
    outcome = _with_events(outcome, request, before)
    run.finish(outcome)
    run.release(session)
    return outcome


def _with_events(outcome: Outcome, request: Request, before: StreamTable | None) -> Outcome:
    row, state = outcome.refresh, outcome.state
    if state is None:
        return outcome
    asked_full = request.full_refresh or request.config.refresh_mode == "full"
    found = events.of_refresh(before, state, row, asked_full)
    if found:
        state = replace(state, last_action=row.action)
    write = state.hidden_write
    if write is not None and write.version != state.foreign_version:
        state = replace(state, foreign_version=write.version)
        found = (*found, events.of_write(state, write, row.end_time or row.start_time))
    return replace(outcome, state=state, events=(*outcome.events, *found))


def fail(run: Invocation, pgt_id: int, problem: TrickleError) -> None:
    run.finish(outcomes.failed(run, pgt_id, problem))


def _refresh(request: Request, session: Session, run: Invocation) -> Outcome:
    if not run.settings.enabled:
        return outcomes.switched_off(request, run)
    row = run.running(request.pgt_id)
    request = with_meaning(request, session)
    found = passed_over(request, session, run, row) or consider(request, session, run, row, prepare=True)
    here, decision = found.here, found.decision
    run.decided(request.pgt_id, decision.action)
    if decision.work is Work.NOTHING:
        return outcomes.nothing_done(here, decision)
    if decision.work is Work.PLACEHOLDER:
        return work.stand_in(here, decision, found.columns)
    if found.understood is None:
        raise TrickleBug(f"{decision.work} was decided without understanding the query")
    if found.statement is None:
        return _all_rows(here, decision, found.columns, found.understood)
    choice = decision.choice
    if here.before is not None and choice is not None and choice.tried:
        known = run.state(request.pgt_id)  # with a hold that this refresh has only planned nobody is held back yet
        held = known.held_back if known is not None else None
        run.doubt(replace(cost.begun(here.before, choice), held_back=held))
    try:
        outcome = bring.changes(here, decision, found.columns, found.understood, found.statement)
    except WarehouseError as problem:
        reason = only_anew(problem)
        if not reason:
            raise
        # Only the statement knows, and it has changed nothing. What was spent on it says nothing of a full refresh.
        here.phases.spent.clear()
        full = Decision("FULL", f"{decision.reason}; {reason}", Work.OVERWRITE)
        return _all_rows(here, instead(request.config, full), found.columns, found.understood)
    return outcome or _no_row_changed(here, replace(decision, action="NO_DATA"))


def _all_rows(here: Situation, decision: Decision, columns: tuple[Column, ...], understood: Understood) -> Outcome:
    """Who reads the stream table goes on from what differs, where that is not most of it."""
    difference = planned.difference(here, columns, understood) if decision.work is Work.OVERWRITE else None
    if difference is None:
        return work.apply(here, decision, columns, understood)
    brought = bring.difference(here, decision, columns, understood, difference)
    if brought.most:
        decision = replace(decision, reason=f"{decision.reason}; most of its rows are others than before")
        return work.apply(here, decision, columns, understood, others=True)
    return brought.outcome or _no_row_changed(here, decision)


def _no_row_changed(here: Situation, decision: Decision) -> Outcome:
    reason = f"{decision.reason}; none of its rows changed"
    return outcomes.nothing_done(holding.not_begun(here), replace(decision, reason=reason, work=Work.NOTHING))


def only_anew(problem: WarehouseError) -> str:
    """Why the rows can be computed, where what changed of them cannot."""
    if (raised_in_sql(problem.what) or problem).code == INCOMPLETE:
        return "too many of the first rows went, and those behind them are not stored"
    if found := _OF_VALUES.search(problem.what):
        # What came on one side meets what went on the other. That cancels out; but it is evaluated.
        return f"an expression fails over rows that may never have met ({found.group(1)})"
    if any(limit in problem.what for limit in _LIMITS):
        return "what follows from a change goes beyond the limits of a recursion"
    return ""
