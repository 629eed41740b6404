"""Which state of each source a refresh reads: found once per invocation, then the same for all.

A table is pinned by its version. A view is taken by its text, with the tables below it pinned. What
cannot be pinned (another format, a view of other settings) is read as it is, and says why.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbt_trickle import sql
from dbt_trickle.capture.table import TableFacts, table_facts
from dbt_trickle.catalog.state import StreamTable, Unversioned
from dbt_trickle.errors import ModelError, WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Frontier, SourceVersion
from dbt_trickle.names import Relation, placeholder
from dbt_trickle.plan.points import Branch
from dbt_trickle.run.functions import WITHOUT_SCHEMA, Functions
from dbt_trickle.run.pins import (
    MAX_VIEW_DEPTH,
    Meaning,
    Pinned,
    PinnedQuery,
    Wanted,
    is_files,
    no_such_source,
    no_such_storage,
    pinned_stream_table,
    qualified,
    require_no_password,
    unversioned_source,
    view_version,
)
from dbt_trickle.run.session import Session, is_a_view, is_missing, is_not_versioned
from dbt_trickle.run.views import ViewText, parse_view
from dbt_trickle.sql import verbatim
from dbt_trickle.tree.functions import AGGREGATES, SCALARS

FIRST_LOOK = 10  # commits of a stream table that is read
FURTHER = 10  # times as many, where these do not reach
UNKNOWN_SOURCES = "its sources are unknown"
# Of other names the warehouse is asked: there are some five hundred, and more with each release.
SPARKS_OWN = SCALARS | AGGREGATES.keys() | sql.PURE_TABLE_FUNCTIONS | sql.VOLATILE


class Sources:
    """The pins of one invocation, shared by its threads."""

    def __init__(
        self,
        stream_table_at: Callable[[Relation], StreamTable | None],
        clock: Callable[[], str],
        stands: Callable[[StreamTable], bool] = lambda _: False,
    ) -> None:
        """`stands`: whether it is known that a stream table's storage is as the catalog has it."""
        self._stream_table_at = stream_table_at
        self._stands = stands
        self._clock = clock
        self._pins: dict[tuple[str, Meaning | None], Pinned] = {}
        self._system_functions: frozenset[str] | None = None
        self._functions = Functions()
        self._sizes: dict[tuple[str, str, int], int] = {}
        self._guard = threading.RLock()

    def forget(self, relation: Relation) -> None:
        """A node of this run wrote it: who reads it after that must see the new state.

        Views over it were resolved with the old one, so all views go, too. Other stream tables stay as they were found:
        all that this run reads of one is of one moment.
        """
        with self._guard:
            stale = [at for at, pin in self._pins.items() if at[0] == relation.key or pin.under is not None]
            for at in stale:
                del self._pins[at]

    def forget_older(self, frontier: Frontier) -> None:
        """Of what another run has read at a later version."""
        with self._guard:
            for at, pin in list(self._pins.items()):
                both = ((version, frontier[key]) for key, version in pin.frontier.items() if key in frontier)
                if any(mine.table_id == theirs.table_id and mine.version < theirs.version for mine, theirs in both):
                    del self._pins[at]

    def forget_texts(self) -> None:
        """Statements of the user's ran: whatever is a text, a view or a function, may be another one."""
        with self._guard:
            self._functions.forget()
            for at in [at for at, pin in self._pins.items() if pin.under is not None]:
                del self._pins[at]

    def size(self, session: Session, version: SourceVersion) -> int:
        """How many rows a source has; Delta knows it from its files' statistics."""
        with self._guard:
            asked = (version.key, version.table_id, version.version)
            if asked not in self._sizes:
                row = session.query(f"SELECT count(*) AS size FROM {delta.read_at(version)}")[0]
                self._sizes[asked] = int(row["size"])
            return self._sizes[asked]

    def pin_query(self, session: Session, text: str, wanted: Wanted) -> PinnedQuery:
        return self._pin_text(session, text, None, wanted, 0)

    def _pin_text(self, session: Session, text: str, schema: str | None, wanted: Wanted, depth: int) -> PinnedQuery:
        found = sql.analyse(text)
        if isinstance(found, sql.Unparsed):
            return PinnedQuery(text, {}, (Unversioned(f"{UNKNOWN_SOURCES}: {found.reason}"),), template=text)
        frontier: Frontier = {}
        facts: dict[str, TableFacts] = {}
        unversioned = [Unversioned(f"{name}() reads what has no version") for name in found.table_functions]
        called = verbatim.called(text)
        functions = sorted(found.unknown_functions if called is None else called)
        own = self._functions.called(session, self._user_functions(session, functions))
        frontier.update(own.frontier)
        unversioned += own.unversioned
        functions += own.below
        as_of: list[str] = []
        views: dict[str, ViewText] = {}
        inlined: dict[Relation, str] = {}
        branches: dict[str, Branch] = {}
        volatile = [*found.volatile, *own.volatile]
        edits: list[sql.Edit] = []
        places: list[sql.Edit] = []
        for ref in found.tables:
            relation = qualified(ref.parts, schema)
            if relation is None:
                # It may be a temporary view, or of whatever schema the session is in: Spark knows, we do not.
                unversioned.append(Unversioned(f"{ref.parts[0]} is named without its schema"))
                continue
            # Of a view's text, put into another query: its bare names would be found elsewhere, or be a CTE's.
            bare = schema is not None and len(ref.parts) == 1
            whole = [sql.Edit(ref.start, ref.end, relation.sql)] if bare else []
            if ref.travels:
                edits += whole
                reason = f"{relation} is read at a version that the query chooses"
                unversioned.append(Unversioned(reason, str(relation)))
                continue
            pin = self._pin(session, relation, wanted, depth)
            frontier.update(pin.frontier)
            facts.update(pin.tables)
            unversioned += pin.unversioned
            as_of += pin.as_of
            functions += pin.functions
            views.update(pin.views)
            inlined.update(pin.inlined)
            branches.update(pin.branches)
            volatile += pin.volatile
            if pin.text is not None:
                as_is = sql.Edit(ref.start, ref.end, pin.text)
                edits += ref.by(pin.text) if pin.needs_alias else (as_is,)
                # The template's table is known by the schema's name, too, unless an alias takes that away.
                plain = ref.whole and not pin.needs_alias
                places += (replace(as_is, text=pin.template),) if plain else ref.by(pin.template)
            else:
                edits += whole
        places = list(dict.fromkeys(places))  # what names a column is told by each place that has the table
        # A volatile query has to be computed again even where its sources stand still.
        unversioned += [Unversioned(f"{name} is volatile") for name in found.volatile]
        return PinnedQuery(
            sql.splice(text, edits),
            frontier,
            tuple(dict.fromkeys(unversioned)),
            tuple(as_of),
            tuple(dict.fromkeys(volatile)),
            sql.splice(text, places),
            tuple(places),
            facts,
            tuple(sorted(set(functions))),
            views,
            inlined,
            branches,
        )

    def _user_functions(self, session: Session, called: Sequence[str]) -> list[str]:
        called = [name for name in called if name not in SPARKS_OWN]
        if not called:
            return []
        with self._guard:
            if self._system_functions is None:
                rows = session.query("SHOW SYSTEM FUNCTIONS")
                self._system_functions = frozenset(str(row["function"]).lower() for row in rows)
        return [name for name in called if name not in self._system_functions]

    def _pin(self, session: Session, relation: Relation, wanted: Wanted, depth: int) -> Pinned:
        if relation.key in wanted.at:
            return wanted.at[relation.key]
        with self._guard:
            for at in ((relation.key, None), (relation.key, wanted.under)):
                # What is below a view may be what has to be read otherwise.
                if at in self._pins and not (wanted.at and self._pins[at].views):
                    return self._pins[at]
            pin = self._resolve(session, relation, wanted, depth)
            if not (wanted.at and pin.views):
                self._pins[relation.key, pin.under] = pin
            return pin

    def _resolve(self, session: Session, relation: Relation, wanted: Wanted, depth: int) -> Pinned:
        require_no_password(relation)
        upstream = self._stream_table_at(relation)
        if upstream is not None:
            try:
                return self._stream_table(session, relation, upstream)
            except WarehouseError as problem:
                if is_missing(problem):
                    raise no_such_storage(relation, upstream.storage) from problem
                raise
        if is_files(relation):
            return unversioned_source(relation, "it is no Delta table and keeps no history")
        before = wanted.known.get(relation.key)
        try:
            return self._table(session, relation, before)
        except WarehouseError as problem:
            if is_missing(problem):
                raise no_such_source(relation) from problem
            if is_a_view(problem):
                return replace(self._view(session, relation, wanted, depth), under=wanted.under)
            if is_not_versioned(problem):
                return unversioned_source(relation, "it is no Delta table and keeps no history")
            raise

    def _table(self, session: Session, relation: Relation, before: SourceVersion | None) -> Pinned:
        asked = self._clock()  # what is committed while that is answered may be in, or not
        newest = delta.commit_of(session.query(delta.history(relation, 1))[0])
        if before is not None and (before.version, before.committed_at) == (
            newest.version,
            newest.committed_at,
        ):
            version = before  # the same commit, hence the same table: its id need not be asked for
            tables = {}
        else:
            facts = table_facts(session.query(delta.detail(relation))[0])
            version = SourceVersion(
                relation.key, "TABLE", str(relation), facts.table_id, newest.version, newest.committed_at
            )
            tables = {relation.key: facts}
        text = delta.at_version(relation.sql, version.version)
        found = {relation.key: version}
        return Pinned(text, False, placeholder(relation.key), found, tables, as_of=(asked,))

    def _stream_table(self, session: Session, relation: Relation, upstream: StreamTable) -> Pinned:
        """A stream table is a source of its own: the storage behind its public name."""
        if not upstream.is_populated:
            return unversioned_source(relation, "it is a stream table that was not loaded yet")
        branch = Branch(upstream, str(relation), (), 0)
        while not (branch.tells_newest or self._stands(upstream)):
            branch = looked_further(session, branch)
        version = branch.newest
        return replace(pinned_stream_table(upstream, version, upstream.data_timestamp), branches={version.key: branch})

    def _view(self, session: Session, relation: Relation, wanted: Wanted, depth: int) -> Pinned:
        if depth >= MAX_VIEW_DEPTH:
            raise ModelError(
                "TRK-205",
                f"the view {relation} is reached through more than {MAX_VIEW_DEPTH} views",
                remedy="Read a view further down, or make one of them a table or a stream table.",
            )
        row = session.query(f"DESCRIBE TABLE EXTENDED {relation.sql} AS JSON")[0]
        view = parse_view(next(iter(_values(row))))
        if reason := view.unlike(wanted.meaning):
            return unversioned_source(relation, reason)
        inner = self._pin_text(session, view.text, view.schema, wanted, depth + 1)
        for why in inner.unversioned:
            # A function's bare name would be found elsewhere as well. So the view stays a view.
            if UNKNOWN_SOURCES in why.reason or why.reason.endswith(WITHOUT_SCHEMA):
                return unversioned_source(relation, UNKNOWN_SOURCES if UNKNOWN_SOURCES in why.reason else why.reason)
        frontier: Frontier = {
            **inner.frontier,
            relation.key: view_version(relation, view),
        }
        text, template = view.as_subquery(inner.text), view.as_subquery(inner.template)
        return Pinned(
            text,
            True,
            template,
            frontier,
            inner.tables,
            inner.unversioned,
            inner.as_of,
            inner.volatile,
            functions=inner.functions,
            views={**inner.views, relation.key: view},
            inlined={**inner.inlined, relation: text},
            branches=inner.branches,
        )


def looked_further(session: Session, branch: Branch) -> Branch:
    """Older commits of its storage."""
    limit = branch.asked * FURTHER or FIRST_LOOK
    commits = [delta.commit_of(row) for row in session.query(delta.history(branch.table.storage, limit))]
    return replace(branch, commits=commits, asked=limit)


def _values(row: Mapping[str, Any]) -> list[str]:
    return [str(value) for value in row.values()]
