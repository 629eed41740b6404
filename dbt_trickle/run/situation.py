"""Everything one refresh has gathered before it decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter

from dbt_trickle import sql
from dbt_trickle.apply.staged import Place
from dbt_trickle.catalog.state import Column, Refresh, StreamTable, Unversioned
from dbt_trickle.names import Relation
from dbt_trickle.plan import steps
from dbt_trickle.plan.decide import Facts
from dbt_trickle.run import clock, together
from dbt_trickle.run.buffers import Buffers
from dbt_trickle.run.captures import Captures
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.pins import Pinned, PinnedQuery, Wanted
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session, meaning


@dataclass
class Phases:
    """Milliseconds per phase of a refresh."""

    spent: dict[str, int] = field(default_factory=dict)
    started: str = field(default_factory=clock.now)
    _last: float = field(default_factory=lambda: perf_counter())

    def lap(self, phase: str) -> None:
        now = perf_counter()
        self.spent[phase] = self.spent.get(phase, 0) + round((now - self._last) * 1000)
        self._last = now


def with_meaning(request: Request, session: Session) -> Request:
    """What its own hooks have set is read once: they run before a refresh and after it."""
    return replace(request, meaning=meaning(session)) if request.hooked and request.meaning is None else request


def meaning_of(request: Request, session: Session, run: Invocation) -> Mapping[str, str]:
    return request.meaning if request.meaning is not None else run.meaning(session)


def pinned_query(request: Request, session: Session, run: Invocation, before: StreamTable | None) -> PinnedQuery:
    query = sql.without_terminator(request.query)
    if request.hooked:
        run.sources.forget_texts()
    wanted = Wanted(meaning_of(request, session, run), before.frontier if before is not None else {})

    def pinned(at: Mapping[str, Pinned]) -> PinnedQuery:
        return run.sources.pin_query(session, query, replace(wanted, at=at))

    found = pinned({})
    if not request.sampled:
        found = together.agreeing(session, run.state, before, found, pinned)
    if not request.variables:
        return found
    # In the text they look like columns.
    why = Unversioned("its pre_hook sets variables, whose values no source determines")
    return replace(found, unversioned=(*found.unversioned, why))


@dataclass(frozen=True)
class Situation:
    request: Request
    session: Session
    run: Invocation
    row: Refresh  # the RUNNING row that the outcome completes
    before: StreamTable | None
    pinned: PinnedQuery
    facts: Facts
    now: str  # when the sources were pinned
    phases: Phases
    captures: Captures

    def target(self, storage: Relation, columns: tuple[Column, ...]) -> steps.Target:
        """As its refresh is to leave it; its readers stay with what they are held back with."""
        held = self.before.held_back if self.before is not None else None
        found = self.request.target(storage, columns)
        return replace(found, held_back=held) if found.is_view else found

    @property
    def buffers(self) -> Buffers:
        return Buffers(self.session, self.run.settings, self.now, self.run.warn)

    @property
    def place(self) -> Place | None:
        """Where it stages what it changes; none: nowhere."""
        before = self.before
        if self.request.config.change_buffer != "table" or before is None or before.buffer is None:
            return None
        buffer = before.buffer
        if not buffer.table or (buffer.storage, buffer.generation) != (before.storage_relation, before.generation):
            return None
        return Place(Relation.parse(buffer.table), before.batch + 1)

    @property
    def data_timestamp(self) -> str:
        """As old as the oldest thing that was read: a stream table upstream may lag behind."""
        return min((*self.pinned.as_of, self.now))
