"""One dbt invocation: the catalog is read when its first stream table needs it, one append says that it
began, another one how it ended. An invocation that was never closed tells the next one what to doubt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.events import Event
from dbt_trickle.catalog.state import DiamondGroup, Refresh, StreamTable
from dbt_trickle.errors import TrickleBug
from dbt_trickle.formats.base import Commit, Marker
from dbt_trickle.names import Relation
from dbt_trickle.plan import atomic, epochs
from dbt_trickle.run import guard, held_back, maintain, past, recover, retry, stale
from dbt_trickle.run.announced import Outcome, Planned
from dbt_trickle.run.buffers import Buffers
from dbt_trickle.run.known import Known
from dbt_trickle.run.session import Session


class Invocation(Known):
    """The protocol: what is written of a run, and when."""

    def open(self, session: Session, planned: Sequence[Planned]) -> None:
        """Before the first commit: the catalog exists, doubts are settled, and the append says who runs."""
        with self._guard:
            if self._opened:
                return
            session = self._patient(session)
            self.load(session)
            self._ensure_catalog(session)
            settled = self._settle_doubts(session)
            now = self.clock()
            self._planned = {plan.pgt_id: plan for plan in planned}
            known = [state for number in self._planned if (state := self._states.get(number)) is not None]
            self.heed_schedules([plan.scheduled for plan in planned])
            self._listed = guard.list_commits(session, self._with_upstream(known))
            opened = {
                plan.pgt_id: Refresh(
                    plan.refresh_id,
                    plan.pgt_id,
                    self.invocation_id,
                    now,
                    action="",
                    status="RUNNING",
                    initiated_by=self.initiated_by,
                )
                for plan in planned
            }
            names = {plan.pgt_id: plan.public for plan in planned}
            entries = [store.opened(self.invocation_id, names), *map(store.refresh, opened.values())]
            session.execute(store.append(self.settings.catalog_schema, self.invocation_id, [*settled, *entries]))
            # Only now: what could not be said to have begun has no end to tell of.
            self._opened.update(opened)
            self._release(session, ())  # what a run that died did not come to

    def finish(self, outcome: Outcome) -> None:
        """Remembered now, written when the invocation closes."""
        number = outcome.refresh.pgt_id
        for event in outcome.events:
            self.tell(event)
        with self._guard:
            self._outcomes[number] = outcome
            if outcome.state is not None:
                self._states[number] = outcome.state
        if outcome.state is not None:
            # Outside: who looks a source up holds the sources and asks here for stream tables.
            self.sources.forget(outcome.state.public)

    def release(self, session: Session) -> None:
        """Readers of diamonds of which no member is still to come in this run go on, where all have come."""
        with self._guard:
            to_come = self._opened.keys() - self._outcomes.keys()
        self._release(self._patient(session), to_come)

    def look_again(self, session: Session, number: int, public: Relation) -> StreamTable | None:
        """Another run has moved it: its state as its storage tells. One that was closed as dead may have done it."""
        before = self.state(number)
        current = self._rolled_forward(session, number, public)
        self.sources.forget(public)
        if current is not None and current != before:
            self._ask_again(current)
        found = recover.last_marked(session, current.storage, number) if current and current.is_populated else None
        if found is not None and found[1].run != self.invocation_id:
            late = past.after_all(session, self.settings.catalog_schema, *found, before)
            with self._guard:
                self._late += late
        return current

    def close(self, session: Session) -> None:
        """All of the invocation's history and state, in one append."""
        with self._guard:
            if not self.has_news:
                return
            session = self._patient(session)
            self._release(session, ())
            self._settle_buffers(session)
            self._tell_held_back()
            entries = [entry for number in self._dropped for entry in store.dropped(number)]
            diamonds = self._diamonds()
            for number, row in self._opened.items():
                outcome = self._outcomes.get(number)
                if outcome is None:
                    # dbt does not tell the adapter of a node that it skips because one upstream failed.
                    reason = "not reached: it was skipped, or the run ended before it"
                    entries.append(
                        store.refresh(
                            replace(row, action="SKIP", status="SKIPPED", reason=reason, end_time=self.clock())
                        )
                    )
                    continue
                entries.append(store.refresh(outcome.refresh))
                entries += map(store.event, outcome.events)
                if outcome.state is not None:
                    shown = self._as_shown(session, outcome, outcome.state)
                    entries.append(store.stream_table(epochs.placed(shown, diamonds)))
                if outcome.dependencies is not None:
                    entries.append(store.dependencies(number, outcome.dependencies))
            others = (self._states[number] for number in sorted(self._released - self._outcomes.keys()))
            entries += [
                store.stream_table(epochs.placed(state, diamonds)) for state in others if self._still(session, state)
            ]
            entries += [store.diamond(name, group) for name, group in self._moved(diamonds)]
            entries += [*map(store.event, [*self._noted, *self._told_stale(session)]), *self._late]
            if self._opened:
                entries.append(store.closed(self.invocation_id))
            session.execute(store.append(self.settings.catalog_schema, self.invocation_id, entries))
            ended = self._ended() if self._opened else None
            self._opened.clear()
            self._noted.clear()
            self._late.clear()
            self._dropped.clear()
            self._released.clear()
        if ended is not None and self.wait(0):
            maintain.after(session, ended)

    # --- inside --------------------------------------------------------------------------------

    def _settle_buffers(self, session: Session) -> None:
        """Of stream tables that have got their first reader in this run, or lost their last one.

        The state is written where this run has refreshed it; else its own next run finds it done.
        """
        read = self._read()
        buffers = Buffers(session, self.settings, self.clock(), self.warn)
        for number in sorted((read ^ self._were_read) & self._states.keys()):
            self._remember(buffers.after_change(self._states[number], number in read))

    def _release(self, session: Session, to_come: Collection[int]) -> None:
        with self._guard:
            due = atomic.due(list(self._states.values()), to_come)
        for shown in [table for group in due for table in held_back.released(session, group, self.warn)]:
            with self._guard:
                self._remember(held_back.let_go(self._states[shown.pgt_id], self.clock()))
                self._released.add(shown.pgt_id)

    def _remember(self, state: StreamTable) -> None:
        """Of one whose refresh is over, or that this run does not refresh."""
        with self._guard:
            self._states[state.pgt_id] = state
            outcome = self._outcomes.get(state.pgt_id)
            if outcome is not None and outcome.state is not None:
                self._outcomes[state.pgt_id] = replace(outcome, state=state)

    def _tell_held_back(self) -> None:
        """Of its own selection; of others `trickle health` tells."""
        known = self._catalog.stream_tables if self._catalog is not None else {}
        for number, outcome in list(self._outcomes.items()):
            state = self._states.get(number)
            if state is None or state.held_back is None or outcome.refresh.status != "COMPLETED":
                continue  # of one that failed readers see what there is
            why = atomic.why(state, list(self._states.values())) or "another run goes on with one of them"
            self._outcomes[number] = held_back.told(outcome, why)
            if (before := known.get(number)) is None or before.held_back is None:
                event = held_back.event(state, state.held_back, why, self.clock())
                self.tell(event)
                self._noted.append(event)

    def _told_stale(self, session: Session) -> list[Event]:
        """Of its own selection; of others `trickle health` tells."""
        mine = (state for number in self._opened if (state := self._states.get(number)) is not None)
        late = stale.not_told(session, self.settings, stale.found(mine, self.clock()))
        for event in late:
            self.tell(event)
        return late

    def _diamonds(self) -> Mapping[str, DiamondGroup]:
        """As they are now. In a run in which nothing moved they are what they were, and need not be looked for."""
        before = self._catalog or store.Catalog(0)
        known = before.stream_tables
        moved = self._dropped or any(epochs.moved(known.get(n), state) for n, state in self._states.items())
        return epochs.groups(list(self._states.values()), before.diamonds) if moved else before.diamonds

    def _moved(self, diamonds: Mapping[str, DiamondGroup]) -> Iterator[tuple[str, DiamondGroup | None]]:
        before = self._catalog.diamonds if self._catalog is not None else {}
        for name in sorted(before.keys() | diamonds.keys()):
            if before.get(name) != diamonds.get(name):
                yield name, diamonds.get(name)

    def _ended(self) -> maintain.Ended:
        done = (outcome for outcome in self._outcomes.values() if outcome.refresh.status == "COMPLETED")
        refreshed = [outcome.state for outcome in done if outcome.state is not None]
        catalog, known = self._catalog or store.Catalog(0), list(self._states.values())
        return maintain.Ended(self.invocation_id, self.settings, catalog, refreshed, known, self.clock(), self.warn)

    def _ensure_catalog(self, session: Session) -> None:
        if self._catalog is None:
            raise TrickleBug("the catalog was not read")
        if self._catalog.version == tables.SCHEMA_VERSION:
            return
        for statement in tables.create_statements(self.settings.catalog_schema, self.settings.change_schema):
            retry.despite_others(session, statement, self.invocation_id, self.wait)
        if 0 < self._catalog.version < tables.SCHEMA_VERSION:
            for statement in tables.upgrade_statements(self.settings.catalog_schema):
                session.execute(statement)
        session.execute(store.append(self.settings.catalog_schema, self.invocation_id, [store.schema_version()]))

    def _still(self, session: Session, state: StreamTable) -> bool:
        """Of one that this run has not refreshed: another one may have, or have dropped it, since this one began."""
        storage = recover.serving_storage(session, state.public, state.pgt_id)
        found = recover.last_marked(session, storage, state.pgt_id) if storage == state.storage else None
        return found is not None and found[1].batch == state.batch

    def _as_shown(self, session: Session, outcome: Outcome, state: StreamTable) -> StreamTable:
        """Of two runs that both lead readers on, the last one counts: which of them that is, the name tells."""
        if not outcome.moved:
            return state
        schema, number = self.settings.change_schema, state.pgt_id
        return recover.roll_forward(session, schema, number, state.public, state, self.clock()) or state

    def _rolled_forward(self, session: Session, number: int, public: Relation) -> StreamTable | None:
        schema, before = self.settings.change_schema, self.state(number)
        current = recover.roll_forward(session, schema, number, public, before, self.clock())
        if current is not None:
            with self._guard:
                self._states[number] = current
        return current

    def _settle_doubts(self, session: Session) -> list[store.Entry]:
        """What an invocation that died left behind: its storages know what it had committed."""
        if self._catalog is None or not self._catalog.unclosed:
            return []
        entries: list[store.Entry] = []
        known = dict(self._states)
        committed: dict[str, dict[int, tuple[Commit, Marker]]] = defaultdict(dict)
        for number, public in sorted(self._catalog.in_doubt.items()):
            before = self._states.get(number)
            current = self._rolled_forward(session, number, public)
            if current is None:
                continue  # nothing of it is served: the next refresh creates it
            if current != before:
                entries.append(store.stream_table(current))
            if current.is_populated:
                for commit, marker in recover.marked_commits(session, current.storage, number):
                    committed[marker.run].setdefault(number, (commit, marker))
        for dead in self._catalog.unclosed:
            at = self.settings.catalog_schema
            entries += past.close_rows(session, at, dead, committed[dead], known, self.clock())
            entries.append(store.closed(dead))
        return entries
