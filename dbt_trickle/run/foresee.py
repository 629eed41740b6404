"""What a run of these models would do, and why; nothing is written.

A stream table whose upstream would be refreshed first cannot be decided yet: how much changes there is known
when it has been done. What is told of it is what is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dbt_trickle import sql
from dbt_trickle.catalog.state import Refresh, StreamTable
from dbt_trickle.errors import TrickleError, WarehouseError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan.agree import Apart, agree
from dbt_trickle.plan.decide import Decision, predicted
from dbt_trickle.plan.due import Scheduled
from dbt_trickle.plan.points import Branch, Point, State, states
from dbt_trickle.run.columns import described
from dbt_trickle.run.consider import Considered, consider, passed_over
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.outcomes import SWITCHED_OFF
from dbt_trickle.run.pins import PinnedQuery, qualified
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

FAILS = "ERROR"
_STAYS = ("NO_DATA", "SKIP")
_ANEW = ("FULL", "ALTER", "REINITIALIZE")
_NOT_THERE = ("TRK-202", "TRK-301")  # a source, or what Spark does not find in it
_TO_COME = SourceVersion("", "STREAM_TABLE", "", "", 0, "when it has been refreshed")


@dataclass(frozen=True)
class Asked:
    """A model of the selection, after those that it reads; `reads`: the unique ids of the stream tables among these."""

    request: Request
    reads: frozenset[str] = frozenset()
    named: bool = False  # the user asked for this very one

    @property
    def scheduled(self) -> Scheduled:
        request, config = self.request, self.request.config
        policy = config.diamond_schedule_policy
        return Scheduled(request.pgt_id, request.unique_id, config.schedule, self.reads, self.named, policy)


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
    future = _Future(run)
    for each in asked:
        upstream = [found[name] for name in sorted(each.reads & found.keys())]
        found[each.request.unique_id] = _of(each.request, upstream, session, future)
    return list(found.values())


@dataclass
class _Future:
    """What those that are refreshed before will have been computed from."""

    run: Invocation
    points: dict[str, Point] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)  # of those that will have other columns, by name

    def text(self, request: Request) -> str | None:
        """The query over what it reads as that will be; none: its names will be as they are."""
        query = sql.without_terminator(request.query)
        found = sql.analyse(query)
        if isinstance(found, sql.Unparsed):
            return None
        edits: list[sql.Edit] = []
        for ref in found.tables:
            relation = qualified(ref.parts, None)
            if not ref.travels and relation is not None and (text := self.texts.get(relation.key)) is not None:
                edits += ref.by(f"(\n{text}\n)")
        return sql.splice(query, edits) if edits else None

    def agrees(self, pinned: PinnedQuery) -> bool:
        """Whether the newest of all that is read will be of one moment."""
        return len(pinned.frontier) == 1 or self._point(pinned) is not None

    def note(self, found: Considered, action: str) -> None:
        state, pinned = found.here.before, found.here.pinned
        if action == "NO_DATA" and state is not None:
            self.run.doubt(replace(state, frontier=pinned.frontier, origins=pinned.origins))
        elif action not in _STAYS and (point := self._point(pinned)) is not None:
            key = f"pgt_{found.here.request.pgt_id}"
            self.points[key] = {**point, key: _TO_COME}

    def _point(self, pinned: PinnedQuery) -> Point | None:
        branches = {key: self._last(branch) for key, branch in pinned.branches.items()}
        newest = {**pinned.frontier, **pinned.newest}
        read = {key: version for key, version in newest.items() if key not in branches}
        found = agree(branches, read, {})
        if isinstance(found, Apart) or found.clashes:
            return None
        return {**read, **found.origins}

    def _last(self, branch: Branch) -> list[State]:
        if branch.key in self.points:
            return [State(branch.newest, self.points[branch.key], "")]
        return states(branch, lambda key: self.run.state(int(key.removeprefix("pgt_"))), None)[:1]


def _of(request: Request, upstream: Sequence[Foreseen], session: Session, future: _Future) -> Foreseen:
    run = future.run
    if not run.settings.enabled:
        return Foreseen(request.name, "SKIP", SWITCHED_OFF, {}, None, ())
    if failing := [each for each in upstream if each.action == FAILS]:
        told = f"{failing[0].relation} fails before it, so that it is not run"
        return Foreseen(request.name, FAILS, told, {}, None, _names(failing))
    moving = [each for each in upstream if each.action not in _STAYS]
    row = Refresh("", request.pgt_id, run.invocation_id, run.clock(), action="", status="RUNNING")
    before, text = run.state(request.pgt_id), future.text(request)
    try:
        passed = passed_over(request, session, run, row)
        if passed is not None:
            return _told(request, before, passed.decision, moving=())
        if moving and before is None:
            # What it reads may not be there yet.
            return Foreseen(request.name, "FULL", "first load", {}, None, _names(moving))
        if unfit := _unfit(session, text):
            told = f"{', '.join(_names(moving))} is altered before it, and by then its query fails: {unfit}"
            return Foreseen(request.name, FAILS, told, {}, None, _names(moving))
        found = consider(request, session, run, row, prepare=False)
    except TrickleError as problem:
        anew = [each for each in moving if each.action in _ANEW]
        if anew and problem.code in _NOT_THERE:
            # Its text may be for columns, or for a stream table, that come with them.
            told = f"{anew[0].relation} is loaded before it; over what is there now it cannot be: {problem.what}"
            return Foreseen(request.name, "ALTER", told.split("\n")[0], {}, None, _names(moving))
        return Foreseen(request.name, FAILS, str(problem.about(request.name)), {}, None, _names(moving))
    if not future.agrees(found.here.pinned):
        moving = []  # what is not refreshed with them holds it back
    decision = _decided(found, moving)
    future.note(found, decision.action)
    if text is not None or decision.action == "ALTER":
        future.texts[request.public.key] = text or sql.without_terminator(request.query)
    return _told(request, before, decision, moving)


def _unfit(session: Session, text: str | None) -> str:
    """What Spark says of it; nothing, where it fits."""
    if text is None:
        return ""
    try:
        described(session, text)
    except WarehouseError as problem:
        return problem.what.split("\n")[0]
    return ""


def _decided(found: Considered, moving: Sequence[Foreseen]) -> Decision:
    decision, facts = found.decision, found.here.facts
    waits = decision.action == "SKIP" and (facts.held or facts.apart)
    if not moving or not (waits or decision.action in ("NO_DATA", "DIFFERENTIAL")):
        return decision
    told = "; ".join(f"{each.relation} is refreshed before it ({each.action})" for each in moving)
    state = found.here.before
    maintained = state is not None and bool(state.engine.get("mark"))
    action = "DIFFERENTIAL" if maintained else "FULL"
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
