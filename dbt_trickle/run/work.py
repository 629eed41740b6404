"""All rows anew, or a stand-in: the statements, the one commit that counts, and what it is known to have done."""

from __future__ import annotations

from dataclasses import replace

from dbt_trickle.apply import unrestricted
from dbt_trickle.catalog.state import INITIALIZING, Column, Experience
from dbt_trickle.errors import TrickleBug, WarehouseError
from dbt_trickle.plan import retyped
from dbt_trickle.plan.decide import Decision, Work
from dbt_trickle.run import guard, holding, leave, planned, recover, retire
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.commit import run_steps
from dbt_trickle.run.done import measured, outcome, update_docs
from dbt_trickle.run.situation import Situation
from dbt_trickle.run.understand import Understood


def apply(
    here: Situation, decision: Decision, columns: tuple[Column, ...], understood: Understood, *, others: bool = False
) -> Outcome:
    """All rows anew: into a new generation, or in place of the old ones; `others`: it is known that most differ."""
    here = holding.begun(here, decision)
    found = planned.all_rows(here, decision, columns, understood, others=others)
    base, storage, marker = found.base, found.target.storage, found.marker
    here.phases.lap("plan")
    try:
        done, commit = run_steps(here, found.plan)
    except WarehouseError:
        # Nothing can swap a view for a table: the view had to go first, and must not be missed when that was in vain.
        if not found.target.is_view and base.is_populated:
            leave.serve_again(here.session, base)
        raise
    here.phases.lap("execute")
    if commit is None:
        raise TrickleBug("a plan without a commit")

    now = here.run.clock()
    state = replace(
        recover.apply_marker(base, storage, commit, marker),
        updated_at=now,
        held_back=found.target.held_back,
        last_full_ms=sum(here.phases.spent.values()),
    )
    if decision.work is Work.LOAD:
        # What was measured was another query's, or over other sources.
        state = replace(state, told=Experience(), untold=Experience())
        state = replace(state, storage_path=guard.path_of(here.session, storage))
        state = retire.retire(state, planned.generations(here), now)
    else:
        state = measured(here, decision, state)
        state, described = update_docs(here, replace(state, docs=base.docs))
        done += described
    refreshed = outcome(here, decision, marker, base, state, (commit.rows_written, base.rows), done, understood)
    warnings = (*_of_types(here, columns), *(_of_rows_that_go(here, understood) if decision.work is Work.LOAD else ()))
    return replace(refreshed, warnings=warnings)


def _of_types(here: Situation, columns: tuple[Column, ...]) -> tuple[str, ...]:
    """Said once, by the run that brings them: what reads these columns may not compile, or compare them otherwise."""
    if here.before is None or not here.before.is_populated:
        return ()
    changed = retyped.incompatibly(here.before.columns, columns)
    return (f"{here.request.name}: its columns have other types now: {', '.join(changed)}",) if changed else ()


def _of_rows_that_go(here: Situation, understood: Understood) -> tuple[str, ...]:
    """`differential` forbids what an UPDATE will make due: to be told before, since some tables only grow."""
    groups = understood.shape.groups if understood.shape is not None else None
    if here.request.config.refresh_mode != "differential" or not unrestricted.this_time(groups, append_only=False):
        return ()
    return (
        f"{here.request.name}: once a row of its sources goes, its aggregates without GROUP BY have to be computed "
        "from all rows, which `refresh_mode: differential` forbids: an UPDATE or a DELETE will be the error TRK-203. "
        "`refresh_mode: auto` recomputes then.",
    )


def stand_in(here: Situation, decision: Decision, columns: tuple[Column, ...]) -> Outcome:
    """--empty of a model that was never loaded: something with its columns, unpopulated in the catalog."""
    found = planned.stand_in(here, columns)
    base, storage = found.base, found.target.storage
    done, _ = run_steps(here, found.plan)
    state = replace(
        base,
        **here.request.settings(),
        storage_relation=str(storage),
        generation=found.generation,
        expose=here.request.config.expose,
        updated_at=here.now,
        # Its name may have gone while the catalog held it to be loaded: what it shows from now on is not.
        status=INITIALIZING,
        is_populated=False,
        fingerprint="",
        frontier={},
        origins={},
        rows=0,
        storage_version=-1,
        storage_at="",
        storage_path="",
        seen_version=-1,
        seen_at="",
        held_back=None,
    )
    state = retire.retire(state, planned.generations(here), here.run.clock())
    row = replace(
        here.row,
        action=decision.action,
        reason=decision.reason,
        status="SKIPPED",
        end_time=here.run.clock(),
        phase_ms=here.phases.spent,
    )
    return Outcome(row, state, statements=done)
