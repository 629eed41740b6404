"""What an invocation knows: the catalog as it was when it began, and what has become of its stream tables since."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbt_trickle.catalog import store
from dbt_trickle.catalog.events import Event
from dbt_trickle.catalog.state import Dependency, Refresh, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import TrickleBug, WarehouseError
from dbt_trickle.formats.base import Frontier
from dbt_trickle.names import Relation
from dbt_trickle.plan import atomic, edges
from dbt_trickle.plan.due import Scheduled, not_due
from dbt_trickle.run import deep, guard, retry
from dbt_trickle.run.announced import Outcome, Planned
from dbt_trickle.run.session import Session, is_missing, meaning
from dbt_trickle.run.sources import Sources


@dataclass
class Known:
    """The only mutable thing of a run; every method is safe to call from dbt's threads."""

    invocation_id: str
    settings: ProjectSettings
    clock: Callable[[], str]
    tell: Callable[[Event], None] = lambda _: None  # dbt's log, in which an event stands once, when it happens
    wait: Callable[[float], bool] = lambda _: True  # so many seconds; false when the run is to end meanwhile
    warn: Callable[[str], None] = lambda _: None  # of what concerns no stream table's refresh
    initiated_by: str = "DBT"
    sources: Sources = field(init=False)
    _guard: threading.RLock = field(default_factory=threading.RLock, init=False)
    _catalog: store.Catalog | None = field(default=None, init=False)
    _meaning: Mapping[str, str] | None = field(default=None, init=False)
    _opened: dict[int, Refresh] = field(default_factory=dict, init=False)
    _planned: dict[int, Planned] = field(default_factory=dict, init=False)
    _outcomes: dict[int, Outcome] = field(default_factory=dict, init=False)
    _listed: Mapping[int, guard.Listed] = field(default_factory=dict, init=False)
    _noted: list[Event] = field(default_factory=list, init=False)
    _late: list[store.Entry] = field(default_factory=list, init=False)
    _not_due: Mapping[int, str] = field(default_factory=dict, init=False)
    _dropped: list[int] = field(default_factory=list, init=False)
    _released: set[int] = field(default_factory=set, init=False)
    _overtaken: set[str] = field(default_factory=set, init=False)
    _were_read: frozenset[int] = field(default=frozenset(), init=False)
    _states: dict[int, StreamTable] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        deep.allow()
        self.sources = Sources(self.stream_table_at, self.clock, self._stands)

    # --- of the catalog ------------------------------------------------------------------------

    def load(self, session: Session) -> None:
        """The catalog, read once; nothing is created by looking."""
        with self._guard:
            if self._catalog is not None:
                return
            session = self._patient(session)
            try:
                rows = session.query(store.read_query(self.settings.catalog_schema))
                self._catalog = store.parse(rows)
            except WarehouseError as problem:
                if not is_missing(problem):
                    raise
                self._catalog = store.Catalog(0)
            self._states = dict(self._catalog.stream_tables)
            self._were_read = self._read()

    def state(self, number: int) -> StreamTable | None:
        with self._guard:
            return self._states.get(number)

    def stream_table_at(self, relation: Relation) -> StreamTable | None:
        """The stream table whose public name this is."""
        with self._guard:
            return next((t for t in self._states.values() if t.public.key == relation.key), None)

    def consumers(self, table: StreamTable) -> tuple[StreamTable, ...]:
        """Those that were computed from it. Who reads it by another catalog is not known here."""
        with self._guard:
            return tuple(other for other in self._states.values() if table.key in other.frontier)

    def diamond_of(self, table: StreamTable | None, consistency: str) -> tuple[StreamTable, ...]:
        """Those that are published together with it; nobody asks for the others."""
        with self._guard:
            states = list(self._states.values())
        if table is None or not (consistency == atomic.ATOMIC or atomic.is_atomic(states)):
            return ()
        return atomic.members(table, states)

    def suspended_among(self, frontier: Frontier) -> tuple[str, ...]:
        """Of the stream tables that are read, directly or over others, those that are not refreshed."""
        with self._guard:
            return edges.suspended(frontier, self._states.values())

    def way_back(self, number: int, frontier: Frontier) -> tuple[str, ...]:
        """The stream tables over which one that reads this would read itself."""
        with self._guard:
            return edges.way_back(f"pgt_{number}", frontier, self._states.values())

    def dependencies(self, number: int) -> tuple[Dependency, ...]:
        """What it read at its last refresh, and how that was captured."""
        with self._guard:
            return self._catalog.dependencies.get(number, ()) if self._catalog is not None else ()

    def meaning(self, session: Session) -> Mapping[str, str]:
        """The settings that belong to a definition, of a session in which no hooks have changed them."""
        with self._guard:
            if self._meaning is None:
                self._meaning = meaning(session)
            return self._meaning

    # --- of this run ---------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        with self._guard:
            return bool(self._opened)

    @property
    def has_news(self) -> bool:
        with self._guard:
            return bool(self._opened or self._dropped)

    def heed_schedules(self, selected: Sequence[Scheduled]) -> None:
        """Of the whole selection at once, before any of it is refreshed."""
        if self.settings.respect_schedule:
            with self._guard:
                self._not_due = not_due(selected, self._states, self.clock())

    def not_due(self, number: int) -> str:
        with self._guard:
            return self._not_due.get(number, "")

    def is_pending(self, number: int) -> bool:
        """Announced, and its end not told yet."""
        with self._guard:
            return number in self._opened and number not in self._outcomes

    def running(self, number: int) -> Refresh:
        with self._guard:
            if number not in self._opened:
                raise TrickleBug(f"stream table {number} was not announced when the invocation opened")
            return self._opened[number]

    def decided(self, number: int, action: str) -> None:
        """What its row says was tried, should it fail from here on."""
        with self._guard:
            if number in self._opened:  # `trickle explain` announces nothing
                self._opened[number] = replace(self._opened[number], action=action)

    def listed(self, number: int) -> guard.Listed:
        """Which commits its storage had when the invocation opened."""
        with self._guard:
            return self._listed.get(number, {})

    def name_of(self, number: int) -> str:
        with self._guard:
            plan = self._planned.get(number)
            return str(plan.public if plan is not None else number)

    def planned(self, number: int) -> Planned | None:
        with self._guard:
            return self._planned.get(number)

    def note(self, state: StreamTable, event: Event) -> None:
        """Found while looking, whatever becomes of the refresh: told now, and the state knows that it was."""
        self.tell(event)
        with self._guard:
            self._noted.append(event)
            self._states[state.pgt_id] = state

    def doubt(self, state: StreamTable) -> None:
        """Found out in the middle of a refresh, which begins anew with it."""
        with self._guard:
            self._states[state.pgt_id] = state

    def forget(self, number: int) -> None:
        with self._guard:
            self._states.pop(number, None)
            self._outcomes.pop(number, None)
            self._dropped.append(number)

    # --- inside --------------------------------------------------------------------------------

    def _ask_again(self, state: StreamTable) -> None:
        """Another run has computed it, from what may be newer than what this one has found: it must not go back."""
        with self._guard:
            self._overtaken |= {key for key, version in state.frontier.items() if version.kind == "STREAM_TABLE"}
        self.sources.forget_older(state.frontier)

    def _stands(self, state: StreamTable) -> bool:
        with self._guard:
            if state.key in self._overtaken:
                return False
            own = self._outcomes.get(state.pgt_id)
            ours = own is not None and own.state is not None and own.refresh.status == "COMPLETED"
            return guard.stands(state, self.listed(state.pgt_id), ours=ours)

    def _with_upstream(self, states: Iterable[StreamTable]) -> list[StreamTable]:
        found = {state.pgt_id: state for state in states}
        read = {key for state in found.values() for key in state.frontier}
        return [*found.values(), *(s for s in self._states.values() if s.key in read and s.pgt_id not in found)]

    def _patient(self, session: Session) -> Session:
        return session if isinstance(session, retry.Patient) else retry.Patient(session, self.invocation_id, self.wait)

    def _read(self) -> frozenset[int]:
        """The stream tables that others read."""
        keys = {key for state in self._states.values() for key in state.frontier}
        return frozenset(number for number, state in self._states.items() if state.key in keys)
