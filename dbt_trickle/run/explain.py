"""What the next run would do with a stream table, and how it is maintained; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dbt_trickle.apply import explain
from dbt_trickle.apply.base import Applied
from dbt_trickle.apply.explain import Line
from dbt_trickle.apply.shape import Shape
from dbt_trickle.catalog.state import Refresh
from dbt_trickle.errors import TrickleError
from dbt_trickle.names import key_of
from dbt_trickle.plan.decide import Work, predicted
from dbt_trickle.run import planned
from dbt_trickle.run.consider import Considered, consider, with_columns
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session
from dbt_trickle.run.situation import Situation
from dbt_trickle.run.understand import understand


@dataclass(frozen=True)
class Source:
    relation: str
    kind: str
    known: int | None  # the version that the stream table was computed from
    now: int
    capture: str  # how it was captured until now, and why; empty where nothing is known
    read: str  # how its change is read; empty where it did not move


@dataclass(frozen=True)
class Hidden:
    """A column of the storage that the query does not show."""

    name: str
    type: str


@dataclass(frozen=True)
class Explained:
    relation: str
    action: str
    reason: str
    maintained: str  # differential, or full
    why: str  # why full
    identity: str
    key: tuple[str, ...] | None  # none: its rows are told apart by all that they hold
    hidden: tuple[Hidden, ...]
    functions: tuple[str, ...]  # that it calls, in views and in functions of the user's as well
    operators: tuple[Line, ...]
    sources: tuple[Source, ...]
    changed: Mapping[str, int | None]  # rows of each source that moved, where that was asked; none: it is not told
    predicted_ms: int | None  # of the next run
    last_full_ms: int | None
    last_diff_ms: int | None
    statements: tuple[str, ...]  # that the next run would send, in order

    def to_row(self) -> Mapping[str, Any]:
        return asdict(self)


def explained(request: Request, session: Session, run: Invocation) -> Explained:
    run.load(session)
    row = Refresh("", request.pgt_id, run.invocation_id, run.clock(), action="", status="RUNNING")
    try:
        found = consider(request, session, run, row, prepare=False)
    except TrickleError as problem:
        raise problem.about(request.name) from problem
    here, state = found.here, found.here.before
    shape, why = _understood(found)
    return Explained(
        request.name,
        found.decision.action,
        found.decision.reason,
        "full" if shape is None else "differential",
        why,
        explain.identity(shape) if shape is not None else "",
        explain.key(shape) if shape is not None else None,
        tuple(Hidden(*column) for column in shape.hidden) if shape is not None else (),
        here.pinned.functions,
        explain.lines(shape) if shape is not None else (),
        _sources(here, found.statement.captures if found.statement is not None else {}, run),
        found.decision.changed,
        predicted(state, found.decision),
        state.last_full_ms if state is not None else None,
        state.last_diff_ms if state is not None else None,
        _statements(found),
    )


def _understood(found: Considered) -> tuple[Shape | None, str]:
    """Where nothing has to be done the query was not looked into."""
    known = found.understood
    if known is None:
        here, columns = with_columns(found.here)
        known = understand(here, columns, anew=False)
    return known.shape, known.reason


def _sources(here: Situation, captures: Mapping[str, str], run: Invocation) -> tuple[Source, ...]:
    known = {key_of(row.source): f"{row.cdc_mode} ({row.cdc_reason})" for row in run.dependencies(here.request.pgt_id)}
    before = here.before.frontier if here.before is not None else {}
    return tuple(
        Source(
            new.relation,
            new.kind,
            old.version if (old := before.get(key)) is not None else None,
            new.version,
            known.get(key_of(new.relation), ""),
            captures.get(key, ""),
        )
        for key, new in sorted(here.pinned.frontier.items())
    )


def _statements(found: Considered) -> tuple[str, ...]:
    here, decision, understood = found.here, found.decision, found.understood
    if understood is None:
        return ()
    if found.statement is not None:
        way = found.statement.applied
        stage = (way.stage,) if way.stage else ()
        if way.few is None:
            return *stage, *planned.statements(planned.changes(here, decision, found.columns, understood, way))
        told = Applied(way.few.sql, way.few.how, "replace")
        sent = planned.statements(planned.changes(here, decision, found.columns, understood, told))
        return *stage, way.few.keep, way.few.touched, *sent, way.few.let_go
    if decision.work not in (Work.LOAD, Work.OVERWRITE):
        return ()
    difference = planned.difference(here, found.columns, understood) if decision.work is Work.OVERWRITE else None
    if difference is not None and difference.few is not None:
        sent = planned.statements(planned.changes(here, decision, found.columns, understood, difference))
        stage = (difference.stage,) if difference.stage else ()
        few = difference.few
        return *stage, few.keep, few.touched, few.numbers, *sent, few.let_go
    return planned.statements(planned.all_rows(here, decision, found.columns, understood))
