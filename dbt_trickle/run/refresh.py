"""One refresh of one stream table: gather facts, decide, execute, say what happened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from dbt_trickle import names, sql
from dbt_trickle.catalog.state import ACTIVE, ERROR, SUSPENDED, Column, Refresh, StreamTable
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.errors import ModelError, TrickleError, WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Commit, Marker
from dbt_trickle.names import Relation
from dbt_trickle.plan import steps
from dbt_trickle.plan.decide import Decision, Facts, Work, decide
from dbt_trickle.run import recover, retire
from dbt_trickle.run.columns import describe_query
from dbt_trickle.run.invocation import Invocation, Outcome
from dbt_trickle.run.session import Session
from dbt_trickle.run.sources import PinnedQuery, dependencies
from dbt_trickle.tree import fingerprint


@dataclass(frozen=True)
class Request:
    """What dbt asks for: one model, as compiled."""

    pgt_id: int
    unique_id: str
    public: Relation
    query: str  # the user's text (inside the contract's column list, where there is one)
    original: str  # the model's file, before dbt compiled it
    config: StreamTableConfig
    relations: Mapping[Relation, str] = field(default_factory=dict)  # what dbt resolved → unique ids
    existing: str | None = None  # what has the public name now: view, table or nothing
    sampled: bool = False
    full_refresh: bool = False
    docs: steps.Docs = steps.Docs()
    constraints: tuple[steps.Constraint, ...] = ()
    project: str = ""

    @property
    def name(self) -> str:
        return str(self.public)


class _Clock:
    """Milliseconds per phase."""

    def __init__(self) -> None:
        self.phases: dict[str, int] = {}
        self._last = perf_counter()

    def lap(self, phase: str) -> None:
        now = perf_counter()
        self.phases[phase] = self.phases.get(phase, 0) + round((now - self._last) * 1000)
        self._last = now


def refresh(request: Request, session: Session, run: Invocation) -> Outcome:
    """Every outcome is remembered for the catalog, a failure too; then the failure goes on to dbt."""
    row = replace(run.running(request.pgt_id), start_time=run.clock())
    before = run.state(request.pgt_id)
    try:
        outcome = _refresh(request, session, run, row, before)
    except TrickleError as problem:
        run.finish(_failed(request, run, row, before, problem))
        raise problem.about(request.name) from problem
    run.finish(outcome)
    return outcome


def _refresh(request: Request, session: Session, run: Invocation, row: Refresh, before: StreamTable | None) -> Outcome:
    clock = _Clock()
    _require_deterministic(request)
    query = sql.without_terminator(request.query)
    meaning = run.meaning(session)
    known = dict(before.frontier) if before is not None else {}
    pinned = run.sources.pin_query(session, query, meaning, known)
    now = run.clock()
    clock.lap("sources")
    facts = _facts(request, session, before, pinned, fingerprint.of(query, request.relations, meaning))
    decision = decide(facts)
    columns: tuple[Column, ...] = before.columns if before is not None else ()
    if decision.work is not Work.NOTHING:
        columns = describe_query(session, pinned.text, request)
        decision = _reload_on_other_columns(decision, before, columns)
    clock.lap("decide")

    if decision.work is Work.NOTHING:
        return _nothing_done(request, session, run, row, before, decision, pinned, now, clock)
    return _execute(request, session, run, row, before, decision, facts, pinned, columns, now, clock)


def _facts(request: Request, session: Session, before: StreamTable | None, pinned: PinnedQuery, mark: str) -> Facts:
    missing = False
    if before is not None and before.is_populated and not request.sampled:
        missing = (
            recover.last_marked(session, before.storage, before.pgt_id) is None
            if _suspicious(request, before)
            else False
        )
    return Facts(
        config=request.config,
        state=before,
        fingerprint=mark,
        layout=_layout(request),
        frontier=pinned.frontier,
        unversioned=pinned.unversioned,
        public_is_ours=request.existing is not None,
        sampled=request.sampled,
        full_refresh=request.full_refresh,
        previous_storage_missing=missing,
    )


def _suspicious(request: Request, before: StreamTable) -> bool:
    """dbt's cache says that the public name is something else than what we left there."""
    return request.existing != before.expose


def _layout(request: Request) -> str:
    constraints = [[c.name, c.expression] for c in request.constraints]
    return json.dumps([request.config.layout, constraints], default=list)


def _require_deterministic(request: Request) -> None:
    found = sql.analyse(request.query)
    if isinstance(found, sql.Analysis) and found.volatile and request.config.volatile_functions == "reject":
        raise ModelError(
            "TRK-204",
            f"{', '.join(found.volatile)}: its value changes although no source does, so the content "
            "could not be told from a stale one",
            remedy="Leave it out (dbt tests and views may use it), or set `volatile_functions: full` to "
            "recompute on every run.",
        )


def _reload_on_other_columns(decision: Decision, before: StreamTable | None, columns: tuple[Column, ...]) -> Decision:
    """`select *` over a source that got another column: the text is the same, the table is not."""
    if decision.work is Work.OVERWRITE and before is not None and before.columns != columns:
        return Decision("REINITIALIZE", f"its columns changed; {decision.reason}", Work.LOAD)
    return decision


def _nothing_done(
    request: Request,
    session: Session,
    run: Invocation,
    row: Refresh,
    before: StreamTable | None,
    decision: Decision,
    pinned: PinnedQuery,
    now: str,
    clock: _Clock,
) -> Outcome:
    state = before
    statements: tuple[str, ...] = ()
    if before is not None and decision.action == "NO_DATA":
        # The content is right for the newest state of the sources, too: it was computed from an equal one.
        state = replace(
            before,
            **_settings(request),
            frontier=pinned.frontier,
            data_timestamp=_data_timestamp(pinned, now),
            last_refresh_at=now,
            updated_at=now,
            consecutive_errors=0,
            last_error=None,
        )
        state, statements = _update_docs(request, session, state)
        state = retire.sweep(session, state, now)
    elif before is not None and decision.reason.startswith("suspended by the user"):
        state = replace(before, status=SUSPENDED, updated_at=now)
    skipped = decision.action == "SKIP"
    warnings = (f"{request.name}: {decision.reason}",) if "on_configuration_change" in decision.reason else ()
    return Outcome(
        replace(
            row,
            action=decision.action,
            reason=decision.reason,
            status="SKIPPED" if skipped else "COMPLETED",
            batch=before.batch if before else None,
            data_timestamp=state.data_timestamp if state else None,
            frontier_from=before.frontier if before else {},
            frontier_to=state.frontier if state else {},
            end_time=run.clock(),
            phase_ms=clock.phases,
        ),
        state,
        statements=statements,
        warnings=warnings,
    )


def _update_docs(request: Request, session: Session, state: StreamTable) -> tuple[StreamTable, tuple[str, ...]]:
    """Descriptions are no part of the query: changed ones are stored without a rebuild."""
    wanted = _docs(request)
    if wanted == state.docs:
        return state, ()
    done = []
    for step in steps.describe(_target(request, state.storage, state.columns)):
        session.execute(step.sql)
        done.append(step.sql)
    return replace(state, docs=wanted), tuple(done)


def _execute(
    request: Request,
    session: Session,
    run: Invocation,
    row: Refresh,
    before: StreamTable | None,
    decision: Decision,
    facts: Facts,
    pinned: PinnedQuery,
    columns: tuple[Column, ...],
    now: str,
    clock: _Clock,
) -> Outcome:
    base = before or StreamTable(
        request.pgt_id, request.public.schema, request.public.identifier, request.unique_id, created_at=now
    )
    loads = decision.work in (Work.LOAD, Work.PLACEHOLDER)
    generation = _next_generation(session, run, base) if loads else base.generation
    storage = base.storage
    if loads:
        storage = (
            request.public
            if request.config.expose == "table"
            else names.storage(run.settings.change_schema, request.pgt_id, generation)
        )
    batch = base.batch + 1
    definition = {
        **_settings(request),
        "columns": [vars(column) for column in columns],
        "layout": facts.layout,
        "expose": request.config.expose,
        "docs": _docs(request),
        "unversioned": list(pinned.unversioned),
        "pgt_schema": request.public.schema,
        "pgt_name": request.public.identifier,
        "dbt_unique_id": request.unique_id,
    }
    marker = Marker(
        pgt_id=request.pgt_id,
        batch=batch,
        generation=generation,
        action=decision.action,
        reason=decision.reason,
        fingerprint=facts.fingerprint,
        frontier=pinned.frontier,
        data_timestamp=_data_timestamp(pinned, now),
        run=run.invocation_id,
        rows_before=base.rows,
        definition=definition,
    )
    target = _target(request, storage, columns)
    existing = _existing(request, base)
    plan: tuple[steps.Step, ...]
    match decision.work:
        case Work.PLACEHOLDER:
            plan = steps.placeholder(target, pinned.text, existing)
        case Work.LOAD:
            plan = steps.load(target, pinned.text, marker, request.config, existing)
        case Work.OVERWRITE:
            plan = steps.overwrite(target, pinned.text, marker)
        case _:
            plan = ()
    clock.lap("plan")
    done = run_steps(session, plan)
    clock.lap("execute")
    if decision.work is Work.PLACEHOLDER:
        state = replace(base, storage_relation=str(storage), generation=generation, expose=request.config.expose)
        return Outcome(
            replace(
                row,
                action="SKIP",
                reason=decision.reason,
                status="SKIPPED",
                end_time=run.clock(),
                phase_ms=clock.phases,
            ),
            replace(state, **_settings(request), updated_at=now),
            statements=done,
        )
    commit = _committed(session, storage, marker)
    clock.lap("confirm")
    state = replace(
        recover.apply_marker(base, storage, commit, marker),
        updated_at=run.clock(),
        last_full_ms=sum(clock.phases.values()),
        needs_reinit=False,
        reinit_reason=None,
        suspended_by=None,
    )
    if decision.work is Work.LOAD and before is not None and before.is_populated:
        state = retire.retire(state, before, run.clock())
    if decision.work is Work.OVERWRITE:
        state, described = _update_docs(request, session, replace(state, docs=base.docs))
        done += described
    state = retire.sweep(session, state, run.clock())
    return Outcome(
        replace(
            row,
            action=decision.action,
            reason=decision.reason,
            status="COMPLETED",
            initiated_by=decision.initiated_by,
            batch=batch,
            data_timestamp=state.data_timestamp,
            rows_inserted=commit.rows_written,
            rows_deleted=base.rows,
            delta_rows=commit.rows_written + base.rows,
            frontier_from=base.frontier,
            frontier_to=state.frontier,
            end_time=run.clock(),
            phase_ms=clock.phases,
        ),
        state,
        dependencies(request.pgt_id, pinned),
        statements=done,
    )


def run_steps(session: Session, plan: tuple[steps.Step, ...]) -> tuple[str, ...]:
    """Executes in order; a commit's settings are taken back whatever happens, or a hook would inherit them."""
    done: list[str] = []
    for step in plan:
        if isinstance(step, steps.Statement):
            session.execute(step.sql)
        else:
            before, after = delta.marked(step.marker)
            try:
                for statement in before:
                    session.execute(statement)
                session.execute(step.sql)
            finally:
                for statement in after:
                    session.execute(statement)
        done.append(step.sql)
    return tuple(done)


def _committed(session: Session, storage: Relation, marker: Marker) -> Commit:
    """A guarded statement that was skipped looks like one that ran: the marker tells."""
    found = recover.last_marked(session, storage, marker.pgt_id)
    if found is None or (found[1].batch, found[1].run) != (marker.batch, marker.run):
        raise WarehouseError(
            "TRK-303",
            f"another run has committed batch {marker.batch} of it first",
            remedy="Nothing is lost: its content is that run's. Run again to go on from there.",
        )
    return found[0]


def _next_generation(session: Session, run: Invocation, base: StreamTable) -> int:
    """Above every storage that exists, a dead run's too: what a reader may see is never replaced."""
    found = recover.generations(session, run.settings.change_schema, base.pgt_id)
    return max([base.generation, *found]) + 1


def _existing(request: Request, base: StreamTable) -> str | None:
    if request.existing == "view" and base.expose == "view" and base.storage_relation:
        return "ours"
    return request.existing


def _target(request: Request, storage: Relation, columns: tuple[Column, ...]) -> steps.Target:
    properties = {
        **dict(request.config.tblproperties),
        "trickle.pgt_id": str(request.pgt_id),
        "trickle.unique_id": request.unique_id,
        "trickle.public": str(request.public),
        "trickle.project": request.project,
    }
    return steps.Target(
        request.public, storage, columns, request.docs, request.constraints, tuple(sorted(properties.items()))
    )


def _settings(request: Request) -> dict[str, Any]:
    """What the catalog shows of the model's configuration."""
    config = request.config
    return {
        "project": request.project,
        "schedule": config.schedule,
        "refresh_mode": config.refresh_mode,
        "diamond_consistency": config.diamond_consistency,
        "diamond_schedule_policy": config.diamond_schedule_policy,
        "auto_threshold": config.max_change_ratio,
        "defining_query": request.query,
        "original_query": request.original,
    }


def _docs(request: Request) -> str:
    return json.dumps([request.docs.relation, request.docs.columns], ensure_ascii=False)


def _data_timestamp(pinned: PinnedQuery, now: str) -> str:
    """As old as the oldest thing that was read: a stream table upstream may lag behind."""
    return min((*pinned.as_of, now))


def _failed(
    request: Request, run: Invocation, row: Refresh, before: StreamTable | None, problem: TrickleError
) -> Outcome:
    now = run.clock()
    state = before
    if before is not None:
        errors = before.consecutive_errors + 1
        # The public view still serves what the last good refresh left.
        suspended = errors >= run.settings.max_consecutive_errors
        state = replace(
            before,
            consecutive_errors=errors,
            last_error=str(problem)[:2000],
            updated_at=now,
            status=ERROR if suspended else before.status,
            suspended_by="ERRORS" if suspended else before.suspended_by,
        )
    return Outcome(replace(row, action="SKIP", status="FAILED", error_message=str(problem)[:2000], end_time=now), state)


__all__ = ["ACTIVE", "Request", "refresh"]
