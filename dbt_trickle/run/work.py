"""Acting on a decision: the statements, the one commit that counts, and what it is known to have done."""

from __future__ import annotations

from dataclasses import replace

from dbt_trickle import names
from dbt_trickle.apply.shape import load
from dbt_trickle.catalog.state import INITIALIZING, Column, StreamTable
from dbt_trickle.errors import TrickleBug, WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Marker
from dbt_trickle.names import Relation
from dbt_trickle.plan import cost, steps
from dbt_trickle.plan.decide import Decision, Work
from dbt_trickle.run import guard, leave, recover, retire
from dbt_trickle.run.commit import run_steps
from dbt_trickle.run.differential import Differential
from dbt_trickle.run.invocation import Outcome
from dbt_trickle.run.situation import Situation
from dbt_trickle.run.understand import Understood

WHOLE_HISTORY = 1_000_000


def apply(here: Situation, decision: Decision, columns: tuple[Column, ...], understood: Understood) -> Outcome:
    """All rows anew: into a new generation, or in place of the old ones."""
    base = _base(here)
    generation, storage = base.generation, base.storage_or_none
    if decision.work is Work.LOAD:
        generation, storage = _next_generation(here, base)
    if storage is None:
        raise TrickleBug(f"{base.public} is populated and has no storage")
    marker = _marker(here, decision, base, generation, columns, understood)
    target = _created(here, here.request.target(storage, columns))
    query, stored = _all_rows(here, target, understood)
    if decision.work is Work.LOAD:
        standing = here.request.standing(base)
        plan = steps.load(target, query, marker, here.request.config, standing, stored)
    else:
        plan = steps.overwrite(target, query, marker, here.request.config, stored)
    here.phases.lap("plan")
    try:
        done, commit = run_steps(here, plan)
    except WarehouseError:
        # Nothing can swap a view for a table: the view had to go first, and must not be missed when that was in vain.
        if not target.is_view and base.is_populated:
            leave.serve_again(here.session, base)
        raise
    here.phases.lap("execute")
    if commit is None:
        raise TrickleBug("a plan without a commit")

    now = here.run.clock()
    state = replace(
        recover.apply_marker(base, storage, commit, marker),
        updated_at=now,
        last_full_ms=sum(here.phases.spent.values()),
    )
    if decision.work is Work.LOAD:
        # What was measured was another query's, or over other sources.
        state = replace(state, measured=(), fulls_chosen=0, patience=0)
        state = replace(state, storage_path=guard.path_of(here.session, storage))
        state = retire.retire(state, _generations(here), now)
    else:
        state = _measured(here, decision, state)
        state, described = update_docs(here, replace(state, docs=base.docs))
        done += described
    return _done(here, decision, marker, base, state, (commit.rows_written, base.rows), done, understood)


def bring_in(
    here: Situation,
    decision: Decision,
    columns: tuple[Column, ...],
    understood: Understood,
    differential: Differential,
) -> Outcome | None:
    """What changed, in one statement; none where none of its rows did."""
    base = _base(here)
    marker = replace(
        _marker(here, decision, base, base.generation, columns, understood), work=differential.applied.work
    )
    here.phases.lap("plan")
    plan = steps.bring_in(here.request.target(base.storage, columns), differential.applied, marker)
    done, commit = run_steps(here, plan)
    here.phases.lap("execute")
    if commit is None:
        return None
    state = replace(
        recover.apply_marker(base, base.storage, commit, marker),
        updated_at=here.run.clock(),
        last_diff_ms=sum(here.phases.spent.values()),
    )
    state = guard.doubted(here.session, base, _measured(here, decision, state))
    state, described = update_docs(here, replace(state, docs=base.docs))
    moved = recover.moved_rows(commit, marker)
    if not any(moved):
        # With the batch's number to note, a MERGE that changes no row commits even so.
        decision = replace(decision, action="NO_DATA", reason=f"{decision.reason}; none of its rows changed")
    return _done(here, decision, marker, base, state, moved, done + described, understood)


def _measured(here: Situation, decision: Decision, state: StreamTable) -> StreamTable:
    if decision.choice is None:
        return state
    return cost.remembered(state, decision.choice, sum(here.phases.spent.values()))


def _done(
    here: Situation,
    decision: Decision,
    marker: Marker,
    base: StreamTable,
    state: StreamTable,
    moved: tuple[int, int],
    done: tuple[str, ...],
    understood: Understood,
) -> Outcome:
    inserted, deleted = moved
    captured, told = here.captures.settle(
        here.session, here.pinned.frontier, here.pinned.unversioned, understood.shape, understood.reason
    )
    state = retire.sweep(here.session, state, here.run.settings.change_schema, here.run.clock())
    return Outcome(
        replace(
            here.row,
            action=decision.action,
            reason=decision.reason,
            status="COMPLETED",
            initiated_by=decision.initiated_by,
            batch=marker.batch,
            data_timestamp=state.data_timestamp,
            rows_inserted=inserted,
            rows_deleted=deleted,
            delta_rows=inserted + deleted,
            frontier_from=base.frontier,
            frontier_to=state.frontier,
            end_time=here.run.clock(),
            phase_ms=here.phases.spent,
        ),
        state,
        captured,
        statements=done,
        events=told,
        moved=decision.work is Work.LOAD,
    )


def stand_in(here: Situation, decision: Decision, columns: tuple[Column, ...]) -> Outcome:
    """--empty of a model that was never loaded: something with its columns, unpopulated in the catalog."""
    base = _base(here)
    generation, storage = _next_generation(here, base)
    target = _created(here, here.request.target(storage, columns))
    done, _ = run_steps(here, steps.placeholder(target, here.pinned.text, here.request.standing(base)))
    state = replace(
        base,
        **here.request.settings(),
        storage_relation=str(storage),
        generation=generation,
        expose=here.request.config.expose,
        updated_at=here.now,
        # Its name may have gone while the catalog held it to be loaded: what it shows from now on is not.
        status=INITIALIZING,
        is_populated=False,
        fingerprint="",
        frontier={},
        rows=0,
        storage_version=-1,
        storage_path="",
        seen_version=-1,
        seen_at="",
    )
    state = retire.retire(state, _generations(here), here.run.clock())
    row = replace(
        here.row,
        action=decision.action,
        reason=decision.reason,
        status="SKIPPED",
        end_time=here.run.clock(),
        phase_ms=here.phases.spent,
    )
    return Outcome(row, state, statements=done)


def update_docs(here: Situation, state: StreamTable) -> tuple[StreamTable, tuple[str, ...]]:
    """Descriptions are no part of the query: changed ones are stored without a rebuild."""
    wanted = here.request.docs_mark
    if wanted == state.docs:
        return state, ()
    plan = steps.describe(here.request.target(state.storage, state.columns))
    return replace(state, docs=wanted), run_steps(here, plan)[0]


def _base(here: Situation) -> StreamTable:
    if here.before is not None:
        return here.before
    request = here.request
    batch = 0
    if request.config.expose == "table" and request.existing == "table":
        # It may have been this stream table, then another kind of model: Delta has not forgotten its batches,
        # and would skip a batch that it knows.
        known = recover.marked_commits(here.session, request.public, request.pgt_id, WHOLE_HISTORY)
        batch = max((marker.batch for _, marker in known), default=0)
    return StreamTable(
        request.pgt_id,
        request.public.schema,
        request.public.identifier,
        request.unique_id,
        batch=batch,
        created_at=here.now,
    )


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
        data_timestamp=here.data_timestamp,
        run=here.run.invocation_id,
        rows_before=base.rows,
        definition={
            **here.request.definition(columns, here.pinned.unversioned, here.pinned.functions),
            "engine": understood.remembered(),
            "views": here.pinned.view_texts,
            "meaning": dict(here.run.meaning(here.session, here.request.hooked)),
        },
    )


def _next_generation(here: Situation, base: StreamTable) -> tuple[int, Relation]:
    """Above every storage that exists, a dead run's too: what a reader may see is never replaced."""
    schema, known = here.run.settings.change_schema, _generations(here)
    generation = max([base.generation, *known]) + 1
    if here.request.config.expose == "table":
        return generation, here.request.public
    if not known:
        # The catalog may have been made with another change schema, or that be gone.
        here.session.execute(f"CREATE SCHEMA IF NOT EXISTS {names.quote(schema)}")
    return generation, names.storage(schema, base.pgt_id, generation)


def _created(here: Situation, target: steps.Target) -> steps.Target:
    request = here.request
    return replace(
        target,
        location=request.location(target.storage, here.run.invocation_id),
        unset=request.unset(here.before),
    )


def _generations(here: Situation) -> list[int]:
    return list(recover.generations(here.session, here.run.settings.change_schema, here.request.pgt_id))
