"""What is known of sources in one state: as parts of a query's text, and in a frontier."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dbt_trickle.capture.table import TableFacts
from dbt_trickle.catalog.state import Dependency, StreamTable, Unversioned
from dbt_trickle.errors import ModelError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import FUNCTION, VIEW, Frontier, SourceVersion
from dbt_trickle.masking import masked
from dbt_trickle.names import SESSION_CATALOG, Relation, key_of, placeholder
from dbt_trickle.plan.points import Branch
from dbt_trickle.plan.public_view import view_query
from dbt_trickle.run.views import ViewText
from dbt_trickle.sql.text import Edit

MAX_VIEW_DEPTH = 10
_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@")
NOT_CAPTURED = "the next refresh tells"
Meaning = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Wanted:
    """Who pins: what a query has its meaning under, what was read before, and which states must be read, by name."""

    meaning: Mapping[str, str]
    known: Frontier
    at: Mapping[str, Pinned] = field(default_factory=dict)

    @property
    def under(self) -> Meaning:
        return tuple(sorted(self.meaning.items()))


@dataclass(frozen=True)
class Pinned:
    """A source in one state: its text in a query, and what the frontier says of it."""

    text: str | None  # what replaces the name; none: the name stays as it is
    needs_alias: bool
    template: str = ""  # the same with a placeholder for each table, whatever version of it is read
    frontier: Frontier = field(default_factory=dict)
    tables: Mapping[str, TableFacts] = field(default_factory=dict)  # by key, of those that had to be asked for
    unversioned: tuple[Unversioned, ...] = ()
    as_of: tuple[str, ...] = ()  # when tables were pinned, and data timestamps of the stream tables below
    volatile: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    views: Mapping[str, ViewText] = field(default_factory=dict)  # by key: itself, and those below
    inlined: Mapping[Relation, str] = field(default_factory=dict)  # the same, with what each was replaced by
    branches: Mapping[str, Branch] = field(default_factory=dict)  # by key, the stream tables
    # A view is what its text says under a session's settings, which a model's hooks may have changed.
    under: Meaning | None = None


@dataclass(frozen=True)
class PinnedQuery:
    """The user's text with its sources pinned."""

    text: str
    frontier: Frontier
    unversioned: tuple[Unversioned, ...] = ()
    as_of: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()  # functions whose value no source determines
    template: str = ""  # the text with placeholders (names.placeholder) for its tables
    places: tuple[Edit, ...] = ()  # what has made that of the text
    tables: Mapping[str, TableFacts] = field(default_factory=dict)
    functions: tuple[str, ...] = ()  # all that it calls, in views below it as well
    views: Mapping[str, ViewText] = field(default_factory=dict)
    inlined: Mapping[Relation, str] = field(default_factory=dict)
    branches: Mapping[str, Branch] = field(default_factory=dict)
    origins: Frontier = field(default_factory=dict)  # see Marker
    held: str = ""  # why older states than the newest are read
    newest: Frontier = field(default_factory=dict)  # which these are
    apart: str = ""  # why there are no states that can be read together

    @property
    def view_texts(self) -> dict[str, dict[str, Any]]:
        """For whoever wants to know later what the query read: the warehouse only has a view's text of today."""
        return {key: asdict(view) for key, view in self.views.items()}


def qualified(parts: tuple[str, ...], schema: str | None) -> Relation | None:
    """schema.table; a catalog only where it is not Spark's own."""
    if len(parts) == 1:
        return Relation((schema, *parts)) if schema is not None else None
    if len(parts) == 3 and parts[0].lower() == SESSION_CATALOG:
        return Relation(parts[1:])
    return Relation(parts)


def is_files(relation: Relation) -> bool:
    """Files by their path, as in parquet.`/a/b`: of a history Spark says that there is no such table."""
    return len(relation.parts) == 2 and relation.schema.lower() != "delta" and "/" in relation.identifier


def pinned_table(version: SourceVersion) -> Pinned:
    """A table at a version that was not asked for here: nobody has said since when it stands there."""
    relation = Relation.parse(version.relation)
    text = delta.at_version(relation.sql, version.version)
    return Pinned(text, False, placeholder(version.key), {version.key: version})


def pinned_stream_table(upstream: StreamTable, version: SourceVersion, as_of: str | None) -> Pinned:
    """By its storage's columns, which are those of a generation."""
    text = f"({view_query(upstream.columns, delta.read_at(version))})"
    template = f"({view_query(upstream.columns, placeholder(version.key))})"
    return Pinned(text, True, template, {version.key: version}, as_of=(as_of,) if as_of else ())


def view_version(relation: Relation, view: ViewText) -> SourceVersion:
    """A view has no versions; its text stands for one, so that a changed text is a moved source."""
    return SourceVersion(relation.key, VIEW, str(relation), view.digest, 0, "")


def unversioned_source(relation: Relation, reason: str) -> Pinned:
    return Pinned(None, False, unversioned=(Unversioned(f"{relation}: {reason}", str(relation)),))


def require_no_password(relation: Relation) -> None:
    """What the catalog keeps of a source is its name, in clear: frontiers, reasons, events."""
    if _PASSWORD.search(relation.identifier):
        raise ModelError(
            "TRK-218",
            f"the path of its source {masked(str(relation))} has a password in it",
            remedy="Give it to the server, or to Spark's settings in the profile (`spark.hadoop.…`), and leave it out.",
        )


def no_such_source(relation: Relation) -> ModelError:
    return ModelError(
        "TRK-202",
        f"its source {relation} does not exist",
        remedy="Check the name in the source's yml (schema, identifier), and that what builds it has run.",
    )


def carried_over(now: Iterable[Dependency], known: Iterable[Dependency]) -> tuple[Dependency, ...]:
    """How each source was captured until now, which a refresh that cannot say anything of it does not undo: a feed that
    was found wrong is not read again.
    """
    before = {key_of(row.source): row for row in known}
    return tuple(
        replace(found, source_table_id=row.source_table_id, confirmed_version=row.confirmed_version)
        if (found := before.get(key_of(row.source))) is not None and found.source_type == row.source_type
        else row
        for row in now
    )


def no_such_storage(relation: Relation, storage: Relation) -> ModelError:
    return ModelError(
        "TRK-202",
        f"{storage}, the storage of the stream table {relation} that it reads, does not exist",
        remedy="Somebody has dropped it. Run that stream table: it is loaded anew, and this one goes on from there.",
    )


def dependencies(number: int, found: Frontier, unversioned: tuple[Unversioned, ...]) -> tuple[Dependency, ...]:
    """One row per source. Neither a function is one, nor what is unversioned about the query itself (rand())."""
    versioned = tuple(
        Dependency(number, v.relation, v.table_id, v.kind, cdc_reason=NOT_CAPTURED, confirmed_version=v.version)
        for v in found.values()
        if v.kind != FUNCTION
    )
    others = tuple(
        Dependency(number, why.relation, "", "TABLE", cdc_reason=why.reason) for why in unversioned if why.relation
    )
    return versioned + others
