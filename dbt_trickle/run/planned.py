"""What is going to be executed, worked out from a decision: read from the warehouse, and nothing written."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dbt_trickle import names
from dbt_trickle.apply import staged as by_table
from dbt_trickle.apply import whole
from dbt_trickle.apply.base import Applied, incomparable
from dbt_trickle.apply.shape import load
from dbt_trickle.apply.stored import Stored
from dbt_trickle.apply.top import first_rows
from dbt_trickle.capture.table import feed_is_on
from dbt_trickle.catalog.state import Column, StreamTable
from dbt_trickle.errors import TrickleBug
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Marker, Staged
from dbt_trickle.names import Relation
from dbt_trickle.plan import steps
from dbt_trickle.plan.decide import Decision, Work
from dbt_trickle.run import recover
from dbt_trickle.run.buffers import PROPERTIES
from dbt_trickle.run.situation import Situation, meaning_of
from dbt_trickle.run.understand import Understood

WHOLE_HISTORY = 1_000_000


@dataclass(frozen=True)
class Plan:
    plan: tuple[steps.Step, ...]
    base: StreamTable  # the stream table before
    target: steps.Target
    generation: int


@dataclass(frozen=True)
class Refresh(Plan):
    marker: Marker  # what the commit among the steps says of itself


def all_rows(
    here: Situation, decision: Decision, columns: tuple[Column, ...], understood: Understood, *, others: bool = False
) -> Refresh:
    """Into a new generation, or in place of the old ones; `others`: it is known that of these most are others."""
    base = base_of(here)
    generation, storage = base.generation, base.storage_or_none
    before: tuple[steps.Step, ...] = ()
    if decision.work is Work.LOAD:
        generation, storage, before = _next_generation(here, base)
    if storage is None:
        raise TrickleBug(f"{base.public} is populated and has no storage")
    marker = replace(_marker(here, decision, base, generation, columns, understood), others=others)
    target = _created(here, here.target(storage, columns))
    query, stored = _all_rows(here, target, understood)
    if decision.work is Work.LOAD:
        plan = steps.load(target, query, marker, here.request.config, here.request.standing(base), stored)
    else:
        plan = steps.overwrite(target, query, marker, here.request.config, stored)
    return Refresh((*before, *plan), base, target, generation, marker)


def difference(here: Situation, columns: tuple[Column, ...], understood: Understood) -> Applied | None:
    """What a full refresh does in place of an overwrite where others read the stream table, and its rows can be told
    apart.
    """
    base = base_of(here)
    stored = understood.shape or Stored(columns)
    if not here.run.consumers(base) or incomparable(stored.columns):
        return None
    query, names = _all_rows(here, here.target(base.storage, columns), understood)
    all_rows = delta.named(query, names)
    if here.place is not None:
        return by_table.difference(stored, all_rows, here.place, base.storage, base.stored_version)
    return whole.difference(stored, all_rows, base.storage, base.stored_version)


def changes(
    here: Situation,
    decision: Decision,
    columns: tuple[Column, ...],
    understood: Understood,
    applied: Applied,
    moved: tuple[int, int] | None = None,
    touched: int = 0,
    staged: Staged | None = None,
) -> Refresh:
    """`moved`: the rows that come and go, where that is known before; `touched`: how many may go."""
    base = base_of(here)
    marker = _marker(here, decision, base, base.generation, columns, understood)
    marker = replace(marker, work=applied.work, moved=moved, touched=touched, staged=staged)
    target = here.target(base.storage, columns)
    return Refresh(steps.bring_in(target, applied, marker), base, target, base.generation, marker)


def stand_in(here: Situation, columns: tuple[Column, ...]) -> Plan:
    base = base_of(here)
    generation, storage, before = _next_generation(here, base)
    target = _created(here, here.request.target(storage, columns))
    plan = steps.placeholder(target, here.pinned.text, here.request.standing(base))
    return Plan((*before, *plan), base, target, generation)


def statements(found: Plan) -> tuple[str, ...]:
    """As they are sent, with what is set around the commit that counts."""
    told: list[str] = []
    for step in found.plan:
        before, after = delta.marked(step.marker) if isinstance(step, steps.Commit) else ((), ())
        told += (*before, step.sql, *after)
    return tuple(told)


def base_of(here: Situation) -> StreamTable:
    request, before = here.request, here.before
    if before is not None and before.batch:
        return before
    batch = 0
    if request.config.expose == "table" and request.existing == "table":
        # It may have been this stream table, then another kind of model: Delta has not forgotten its batches,
        # and would skip a batch that it knows.
        known = recover.marked_commits(here.session, request.public, request.pgt_id, WHOLE_HISTORY)
        batch = max((marker.batch for _, marker in known), default=0)
    public = request.public
    new = StreamTable(request.pgt_id, public.schema, public.identifier, request.unique_id, created_at=here.now)
    return replace(before or new, batch=batch)


def _all_rows(here: Situation, target: steps.Target, understood: Understood) -> tuple[str, list[tuple[str, str]]]:
    """The query of a full refresh, and the storage's columns that its own go to."""
    shape = understood.shape
    if shape is None:
        return here.pinned.text, target.stored
    at = {key: delta.read_at(version) for key, version in delta.tables(here.pinned.frontier).items()}
    return load(shape, here.pinned.text, at), [(name, name) for name in shape.stored]


def _marker(
    here: Situation,
    decision: Decision,
    base: StreamTable,
    generation: int,
    columns: tuple[Column, ...],
    understood: Understood,
) -> Marker:
    return Marker(
        pgt_id=base.pgt_id,
        batch=base.batch + 1,
        generation=generation,
        action=decision.action,
        reason=decision.reason,
        fingerprint=here.facts.fingerprint,
        frontier=here.pinned.frontier,
        origins=here.pinned.origins,
        data_timestamp=here.data_timestamp,
        run=here.run.invocation_id,
        rows_before=base.rows,
        definition={
            **here.request.definition(columns, here.pinned.unversioned, here.pinned.functions),
            "engine": understood.remembered(),
            **first_rows(understood.shape),
            "views": here.pinned.view_texts,
            "meaning": dict(meaning_of(here.request, here.session, here.run)),
        },
    )


def _next_generation(here: Situation, base: StreamTable) -> tuple[int, Relation, tuple[steps.Step, ...]]:
    """Above every storage that exists, a dead run's too: what a reader may see is never replaced."""
    schema, known = here.run.settings.change_schema, generations(here)
    generation = max([base.generation, *known]) + 1
    if here.request.config.expose == "table":
        return generation, here.request.public, ()
    # The catalog may have been made with another change schema, or that be gone.
    create = steps.Statement(f"CREATE SCHEMA IF NOT EXISTS {names.quote(schema)}")
    return generation, names.storage(schema, base.pgt_id, generation), () if known else (create,)


def _created(here: Situation, target: steps.Target) -> steps.Target:
    request = here.request
    # Its readers' next windows begin with it, so it is recorded from the beginning.
    wanted = request.config.change_buffer == "feed" and not feed_is_on(dict(target.properties))
    feed = PROPERTIES if wanted and here.run.consumers(base_of(here)) else {}
    return replace(
        target,
        of_storage=tuple(sorted(feed.items())),
        location=request.location(target.storage, here.run.invocation_id),
        unset=request.unset(here.before),
    )


def generations(here: Situation) -> list[int]:
    return list(recover.generations(here.session, here.run.settings.change_schema, here.request.pgt_id))
