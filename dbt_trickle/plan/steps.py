"""A decision as statements: built without side effects, then executed, or printed by `explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbt_trickle.apply.base import Applied
from dbt_trickle.catalog.state import Column, HeldBack
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Marker
from dbt_trickle.names import Relation, literal, quote
from dbt_trickle.plan.public_view import text_of

NO_DOCS = ""


@dataclass(frozen=True)
class Commit:
    """The one statement that counts: it changes the storage and carries the marker."""

    sql: str
    storage: Relation
    marker: Marker
    may_be_empty: bool = False  # a MERGE that finds nothing to do commits nothing


@dataclass(frozen=True)
class Statement:
    sql: str
    publishes: bool = False  # moves the public name: only where no other run has moved it meanwhile
    holds: bool = False  # has readers stay with what they see: where they do already, there is nothing to do


Step = Commit | Statement


@dataclass(frozen=True)
class Docs:
    """Descriptions that persist_docs asks to store."""

    relation: str | None = None
    columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Constraint:
    name: str
    expression: str


@dataclass(frozen=True)
class Target:
    """The stream table as this refresh is to leave it."""

    public: Relation
    storage: Relation
    columns: tuple[Column, ...]
    docs: Docs = Docs()
    constraints: tuple[Constraint, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    unset: tuple[str, ...] = ()  # properties that an older view has and this one is not to have
    location: str | None = None  # of a storage that is created; none: in its schema, or where it lies
    of_storage: tuple[tuple[str, str], ...] = ()  # properties that the storage has beside, when it is created
    held_back: HeldBack | None = None  # what readers are shown meanwhile, in place of the storage

    @property
    def is_view(self) -> bool:
        return self.public != self.storage

    @property
    def stored(self) -> list[tuple[str, str]]:
        return [(column.stored, column.name) for column in self.columns]


def load(
    target: Target,
    query: str,
    marker: Marker,
    config: StreamTableConfig,
    existing: str | None,
    stored: Sequence[tuple[str, str]],
) -> tuple[Step, ...]:
    """A new generation beside the old one; the public name moves when it is complete.

    `existing`: what has the public name now: 'ours' (a view of an older generation), 'view', 'table' or nothing.
    `stored`: the storage's columns, and the query's names of them, in order.
    """
    create = delta.table_as(
        target.storage,
        query,
        columns=stored,
        properties={**dict(target.properties), **dict(target.of_storage), **constraints(target)},
        partition_by=[_stored_name(target, name) for name in config.partition_by],
        cluster_by=_clusters(target, config),
        location=target.location,
    )
    if not target.is_view:
        # One atomic replace. A view in its way must go first; nothing can swap a view for a table.
        before = (Statement(f"DROP VIEW {target.public.sql}"),) if existing in ("view", "ours") else ()
        return (*before, Commit(create, target.storage, marker), *comments(target))
    return (
        Commit(create, target.storage, marker),
        *comments(target),
        *publish(target, existing),
    )


def overwrite(
    target: Target, query: str, marker: Marker, config: StreamTableConfig, stored: Sequence[tuple[str, str]]
) -> tuple[Step, ...]:
    commit = Commit(delta.overwrite(target.storage, query, stored), target.storage, marker)
    # The overwrite takes the clustering away (docs/decisions.md).
    return *_held(target), commit, *_clustered(target, config)


def bring_in(target: Target, applied: Applied, marker: Marker) -> tuple[Step, ...]:
    """A delta, as the statement that was worked out for it."""
    return *_held(target), Commit(applied.sql, target.storage, marker, may_be_empty=applied.work in ("merge", "bag"))


def placeholder(target: Target, query: str, existing: str | None) -> tuple[Step, ...]:
    """No commit that counts: the table stays unpopulated in the catalog."""
    if not target.is_view and existing in ("view", "ours"):
        before: tuple[Step, ...] = (Statement(f"DROP VIEW {target.public.sql}"),)
    else:
        before = ()
    create = Statement(
        delta.table_as(target.storage, query, columns=target.stored, properties={}, location=target.location)
    )
    after = publish(target, existing) if target.is_view else ()
    return (*before, create, *after)


def publish(target: Target, existing: str | None) -> tuple[Step, ...]:
    """The public view. ALTER VIEW is atomic for readers; CREATE OR REPLACE VIEW is not (docs/decisions.md)."""
    select = text_of(target.columns, target.storage, target.held_back)
    properties = {"trickle.storage": str(target.storage), **dict(target.properties)}
    rows = ", ".join(f"{literal(k)} = {literal(v)}" for k, v in sorted(properties.items()))
    if existing in ("ours", "view"):
        comment = f", 'comment' = {literal(target.docs.relation)}" if target.docs.relation is not None else ""
        return (
            Statement(f"ALTER VIEW {target.public.sql} AS {select}", publishes=True),
            Statement(f"ALTER VIEW {target.public.sql} SET TBLPROPERTIES ({rows}{comment})"),
            *_unset(target),
        )
    drop = (Statement(f"DROP TABLE {target.public.sql}", publishes=True),) if existing == "table" else ()
    comment = f" COMMENT {literal(target.docs.relation)}" if target.docs.relation is not None else ""
    return (
        *drop,
        Statement(f"CREATE VIEW {target.public.sql}{comment} TBLPROPERTIES ({rows}) AS {select}", publishes=True),
    )


def _unset(target: Target) -> tuple[Statement, ...]:
    keys = ", ".join(map(literal, target.unset))
    return (Statement(f"ALTER VIEW {target.public.sql} UNSET TBLPROPERTIES IF EXISTS ({keys})"),) if keys else ()


def describe(target: Target, config: StreamTableConfig) -> tuple[Step, ...]:
    """Changed descriptions of an otherwise unchanged stream table; also all that a run that died did not get to.

    A view takes its columns' comments from the storage when it is made: it is made again, in place.
    """
    before = (*_clustered(target, config), *comments(target))
    return (*before, *publish(target, "ours")) if target.is_view else before


def comments(target: Target) -> tuple[Statement, ...]:
    described = dict(target.docs.columns)
    changes = [
        f"{quote(column.stored)} COMMENT {literal(described[column.name])}"
        for column in target.columns
        if column.name in described
    ]
    steps = []
    if changes:
        steps.append(Statement(f"ALTER TABLE {target.storage.sql} ALTER COLUMN {', '.join(changes)}"))
    if not target.is_view and target.docs.relation is not None:
        steps.append(Statement(f"COMMENT ON TABLE {target.storage.sql} IS {literal(target.docs.relation)}"))
    return tuple(steps)


def constraints(target: Target) -> dict[str, str]:
    """Properties of the creating commit, so that rows that break one are never there: for ADD CONSTRAINT
    they would be, where the storage is what readers see, and a run that died before it would leave none."""
    return {f"delta.constraints.{c.name.lower()}": c.expression for c in target.constraints}


def release(public: Relation, columns: Sequence[Column], storage: Relation) -> Statement:
    """Readers are shown the storage as it is."""
    return Statement(f"ALTER VIEW {public.sql} AS {text_of(columns, storage)}")


def _held(target: Target) -> tuple[Statement, ...]:
    """Before the commit that they are not to see yet."""
    if target.held_back is None or not target.is_view:
        return ()
    select = text_of(target.columns, target.storage, target.held_back)
    return (Statement(f"ALTER VIEW {target.public.sql} AS {select}", holds=True),)


def _clustered(target: Target, config: StreamTableConfig) -> tuple[Step, ...]:
    clusters = _clusters(target, config)
    return (Statement(delta.cluster_by(target.storage, clusters)),) if clusters else ()


def _clusters(target: Target, config: StreamTableConfig) -> list[str]:
    return [_stored_name(target, name) for name in config.liquid_clustered_by]


def _stored_name(target: Target, name: str) -> str:
    """Of an output column: others were refused before (run/columns.py)."""
    found: Mapping[str, str] = {c.name.lower(): c.stored for c in target.columns}
    return found[name.lower()]
