"""What a run of these models would do, and why; nothing is written.

A stream table whose upstream would be refreshed first cannot be decided yet: how much changes there is known
when it has been done. What is told of it is what is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dbt_trickle.catalog.state import Refresh, StreamTable
from dbt_trickle.errors import TrickleError
from dbt_trickle.plan.decide import Decision, predicted
from dbt_trickle.plan.due import Scheduled
from dbt_trickle.run.consider import Considered, consider, passed_over
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

FAILS = "ERROR"
_STAYS = ("NO_DATA", "SKIP")
# Its storage is another one afterwards: what reads it starts anew.
_LOADS = ("ALTER", "REINITIALIZE")


@dataclass(frozen=True)
class Asked:
    """A model of the selection, after those that it reads; `reads`: the unique ids of the stream tables among these."""

    request: Request
    reads: frozenset[str] = frozenset()
    named: bool = False  # the user asked for this very one

    @property
    def scheduled(self) -> Scheduled:
        request = self.request
        return Scheduled(request.pgt_id, request.unique_id, request.config.schedule, self.reads, self.named)


@dataclass(frozen=True)
class Foreseen:
    relation: str
    action: str  # as the history would have it; ERROR: it would fail, and the reason says why
    reason: str
    changed: Mapping[str, int | None]  # rows of each source that moved; none where its history does not tell
    predicted_ms: int | None  # where something was measured
    after: tuple[str, ...] = ()  # what is refreshed before, so that the action is not certain

    def to_row(self) -> Mapping[str, Any]:
        return asdict(self)


def foreseen(asked: Sequence[Asked], session: Session, run: Invocation) -> list[Foreseen]:
    """In the order given, which is that of the graph."""
    run.load(session)
    run.heed_schedules([each.scheduled for each in asked])
    found: dict[str, Foreseen] = {}
    for each in asked:
        upstream = [found[name] for name in sorted(each.reads & found.keys())]
        found[each.request.unique_id] = _of(each.request, upstream, session, run)
    return list(found.values())


def _of(request: Request, upstream: Sequence[Foreseen], session: Session, run: Invocation) -> Foreseen:
    if failing := [each for each in upstream if each.action == FAILS]:
        told = f"{failing[0].relation} fails before it, so that it is not run"
        return Foreseen(request.name, FAILS, told, {}, None, _names(failing))
    moving = [each for each in upstream if each.action not in _STAYS]
    row = Refresh("", request.pgt_id, run.invocation_id, run.clock(), action="", status="RUNNING")
    before = run.state(request.pgt_id)
    try:
        passed = passed_over(request, session, run, row)
        if passed is not None:
            return _told(request, before, passed.decision, moving=())
        if moving and before is None:
            # What it reads may not be there yet.
            return Foreseen(request.name, "FULL", "first load", {}, None, _names(moving))
        found = consider(request, session, run, row, prepare=False)
    except TrickleError as problem:
        return Foreseen(request.name, FAILS, str(problem.about(request.name)), {}, None, _names(moving))
    return _told(request, before, _decided(found, moving), moving)


def _decided(found: Considered, moving: Sequence[Foreseen]) -> Decision:
    decision = found.decision
    if not moving or decision.action not in ("NO_DATA", "DIFFERENTIAL"):
        return decision
    told = "; ".join(f"{each.relation} is refreshed before it ({each.action})" for each in moving)
    state = found.here.before
    maintained = state is not None and bool(state.engine.get("mark"))
    action = "DIFFERENTIAL" if maintained and not any(each.action in _LOADS for each in moving) else "FULL"
    return Decision(action, told, decision.work, choice=decision.choice, changed=decision.changed)


def _told(request: Request, before: StreamTable | None, decision: Decision, moving: Sequence[Foreseen]) -> Foreseen:
    return Foreseen(
        request.name,
        decision.action,
        decision.reason,
        decision.changed,
        predicted(before, decision),
        _names(moving),
    )


def _names(moving: Sequence[Foreseen]) -> tuple[str, ...]:
    return tuple(each.relation for each in moving)
