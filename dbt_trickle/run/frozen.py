"""A query over its sources as they were at a given frontier, for `verify`.

run/sources.py finds the newest state of each source; here the states are given, and what is looked at is
whether the warehouse still has them. A state that cannot be had again is said so: a comparison with another
one would tell nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dbt_trickle import sql
from dbt_trickle.catalog.state import Column, StreamTable
from dbt_trickle.errors import ModelError, WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import FUNCTION, VIEW, Commit, SourceVersion
from dbt_trickle.names import Relation, key_of
from dbt_trickle.plan.public_view import view_query
from dbt_trickle.run import functions
from dbt_trickle.run.pins import MAX_VIEW_DEPTH, qualified
from dbt_trickle.run.session import Session, is_a_view, is_missing, is_not_versioned
from dbt_trickle.run.views import ViewText, parse_view

# How far back from a version our last commit may lie: behind it there can only be changes of properties and comments.
MARKED_WITHIN = 50


_PREFIX = "it cannot be verified: "


class Unverifiable(ModelError):
    """Not a difference, and never to be taken for none."""

    @property
    def reason(self) -> str:
        return self.what.removeprefix(_PREFIX)


def unverifiable(reason: str) -> Unverifiable:
    return Unverifiable(
        "TRK-212",
        _PREFIX + reason,
        remedy="`trickle verify` says the same; docs/operations.md says what can be verified.",
    )


@dataclass(frozen=True)
class Then:
    """What a stream table was computed from: states by name, texts of views by key, and settings."""

    states: Mapping[str, SourceVersion]
    views: Mapping[str, Mapping[str, Any]]
    meaning: Mapping[str, str]


@dataclass
class Frozen:
    """Past states of sources, looked up once for all stream tables of a command."""

    session: Session
    _commits: dict[tuple[Relation, int, int], list[Commit]] = field(default_factory=dict)

    def query(self, table: StreamTable, meaning: Mapping[str, str]) -> str:
        """The stream table's own text, its names pinned to the versions of its frontier."""
        for version in table.frontier.values():
            if version.kind == FUNCTION:
                self._function(version)
        then = Then({key_of(version.relation): version for version in table.frontier.values()}, table.views, meaning)
        return self._text(sql.without_terminator(table.defining_query), None, then, 0)

    def _text(
        self,
        text: str,
        schema: str | None,
        then: Then,
        depth: int,
    ) -> str:
        found = sql.analyse(text)
        if isinstance(found, sql.Unparsed):
            raise unverifiable(f"the names in its text are not understood ({found.reason})")
        if found.volatile:
            raise unverifiable(f"{', '.join(found.volatile)} gives another value each time")
        edits = []
        for ref in found.tables:
            relation = qualified(ref.parts, schema)
            if relation is None:
                raise unverifiable(f"{ref.parts[0]} is named without its schema")
            version = then.states.get(relation.key)
            if version is None or ref.travels:
                raise unverifiable(f"{relation} has no version in its frontier")
            if version.kind == "TABLE":
                self._commit(relation, version)
                edits.append(sql.Edit(ref.start, ref.end, delta.at_version(relation.sql, version.read_version)))
                continue
            is_view = version.kind == VIEW
            pinned = self._view(relation, version, then, depth) if is_view else self._stream_table(version)
            edits += ref.by(pinned)
        return sql.splice(text, edits)

    def _view(
        self,
        relation: Relation,
        version: SourceVersion,
        then: Then,
        depth: int,
    ) -> str:
        """By the text that it had then: the catalog keeps it."""
        if depth >= MAX_VIEW_DEPTH:
            raise unverifiable(f"the view {relation} is reached through more than {MAX_VIEW_DEPTH} views")
        kept = then.views.get(version.key)
        view = ViewText.from_row(kept) if kept is not None else self._today(relation)
        if view.digest != version.table_id:
            raise unverifiable(f"the text of the view {relation} has changed since its last refresh")
        if reason := view.unlike(then.meaning):
            raise unverifiable(f"the view {relation}: {reason}")
        return view.as_subquery(self._text(view.text, view.schema, then, depth + 1))

    def _today(self, relation: Relation) -> ViewText:
        """Of what was last refreshed before texts were kept: today's is right where its digest is."""
        try:
            row = self.session.query(f"DESCRIBE TABLE EXTENDED {relation.sql} AS JSON")[0]
        except WarehouseError as problem:
            if is_missing(problem):
                raise unverifiable(f"the view {relation} is gone") from problem
            raise
        return parse_view(str(next(iter(row.values()))))

    def _function(self, version: SourceVersion) -> None:
        """It cannot be pinned: what calls it calls the one of today."""
        name = Relation.parse(version.relation.removesuffix("()"))
        try:
            found = functions.described(self.session, name)
        except ModelError as problem:
            raise unverifiable(f"the function {version.relation} is gone") from problem
        if isinstance(found, str) or found.digest != version.table_id:
            raise unverifiable(f"the function {version.relation} has changed since its last refresh")

    def _stream_table(self, version: SourceVersion) -> str:
        """The storage that was behind its name then, with the columns that it had."""
        storage = Relation(tuple(version.table_id.split(".", 1)))
        self._commit(storage, version)
        marked = next((c.marker for c in self._history(storage, version.read_version, MARKED_WITHIN) if c.marker), None)
        if marked is None:
            raise unverifiable(f"which columns {storage} had at version {version.read_version} is not known any more")
        columns = tuple(Column(**c) for c in marked.definition.get("columns", ()))
        return f"({view_query(columns, delta.read_at(version))})"

    def _commit(self, relation: Relation, version: SourceVersion) -> Commit:
        """The commit of that version, if it is still the same table's: another one may have its name now."""
        found = self._history(relation, version.read_version, 1)[0]
        if found.committed_at != version.read_at:
            raise unverifiable(f"{relation} was dropped and made anew since its last refresh")
        return found

    def _history(self, relation: Relation, version: int, depth: int) -> list[Commit]:
        """The commits from that version back, as many as asked for or as there are."""
        if (relation, version, depth) not in self._commits:
            self._commits[relation, version, depth] = self._find(relation, version, depth)
        return self._commits[relation, version, depth]

    def _find(self, relation: Relation, version: int, depth: int) -> list[Commit]:
        limit = depth
        while True:
            try:
                commits = [delta.commit_of(row) for row in self.session.query(delta.history(relation, limit))]
            except WarehouseError as problem:
                if is_missing(problem):
                    raise unverifiable(f"{relation} is gone") from problem
                if is_a_view(problem) or is_not_versioned(problem):
                    raise unverifiable(f"{relation} is no Delta table any more") from problem
                raise
            newest = commits[0].version
            if newest < version:
                raise unverifiable(f"{relation} was dropped and made anew since its last refresh")
            found = [c for c in commits if c.version <= version]
            if len(found) >= depth or (found and len(commits) < limit):
                return found[:depth]
            if len(commits) < limit:
                raise unverifiable(f"{relation} does not keep its version {version} any more")
            # Others may write between two questions: then once more, that much further back.
            limit = newest - version + depth
