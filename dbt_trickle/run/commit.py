"""Executing a plan: its statements in order, and the one commit that counts, marked, guarded and confirmed."""

from __future__ import annotations

from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Commit, Marker
from dbt_trickle.names import Relation
from dbt_trickle.plan import steps
from dbt_trickle.run import recover
from dbt_trickle.run.session import Session
from dbt_trickle.run.situation import Situation


def run_steps(here: Situation, plan: tuple[steps.Step, ...]) -> tuple[tuple[str, ...], Commit | None]:
    """Executes in order; what follows a commit is only done when it was this run that made it."""
    commit, holds = None, ""
    for step in plan:
        match step:
            case steps.Statement(sql, publishes, is_hold):
                if is_hold:
                    holds = sql
                    _require_unmoved(here)
                    _require_ours(here)
                    _hold(here, sql)
                    continue
                if publishes:
                    _require_unmoved(here)
                here.session.execute(sql)
            case steps.Commit(_, storage, marker):
                ran_empty = _run_commit(here.session, step)
                here.phases.lap("execute")
                commit = _committed(here.session, storage, marker, ran_empty)
                _require_shown(here, storage)
                if holds:
                    _hold(here, holds)  # another run may have let readers go on meanwhile
                here.phases.lap("confirm")
    return tuple(step.sql for step in plan), commit


def _require_unmoved(here: Situation) -> None:
    """The name must not go back from what another run has made it show since this one looked."""
    public = here.request.public
    shown = recover.serving_storage(here.session, public, here.request.pgt_id)
    if shown is None or shown in (public, here.before.storage_or_none if here.before else None):
        return
    if recover.last_marked(here.session, shown, here.request.pgt_id) is not None:  # else a stand-in
        raise WarehouseError(
            "TRK-303",
            f"another run has made {shown} what it shows",
            remedy="Nothing is lost: its content is that run's. Run again to go on from there.",
        )


def _require_shown(here: Situation, storage: Relation) -> None:
    """What was brought into a generation that readers are not led to any more has refreshed nothing.

    Asked after the commit: whoever leads them on later than that, does so from what they have seen.
    """
    public, before = here.request.public, here.before
    if before is None or storage == public or storage != before.storage_or_none:
        return
    shown = recover.serving_storage(here.session, public, here.request.pgt_id)
    if shown not in (None, storage):
        raise WarehouseError(
            "TRK-303",
            f"another run has made {shown} what it shows, while this one brought changes into {storage}",
            remedy="Nothing is lost: its content is that run's. Run again to go on from there.",
        )


def _hold(here: Situation, statement: str) -> None:
    """Where readers do not stay with what they see yet."""
    shown, text = recover.serving(here.session, here.request.public, here.request.pgt_id)
    if shown is not None and text is not None and not statement.endswith(f" AS {text.strip()}"):
        here.session.execute(statement)


def _require_ours(here: Situation) -> None:
    """Readers who were shown what another run has committed must not go back from it."""
    before = here.before
    found = recover.last_marked(here.session, before.storage, before.pgt_id) if before is not None else None
    if before is not None and found is not None and found[1].batch != before.batch:
        raise WarehouseError(
            "TRK-303",
            f"another run has committed batch {found[1].batch} of it first",
            remedy="Nothing is lost: its content is that run's. Run again to go on from there.",
        )


def _run_commit(session: Session, step: steps.Commit) -> bool:
    """A commit's settings are taken back whatever happens, or a hook would inherit them.

    True where it ran and is known to have changed nothing. A MERGE answers with its counts; one that is skipped
    because its batch has been committed answers nothing.
    """
    before, after = delta.marked(step.marker)
    mode = str(session.query(f"SET {delta.OVERWRITE_MODE}")[0]["value"])
    if mode.lower() == "dynamic":
        before, after = (*before, delta.overwrite_mode("static")), (*after, delta.overwrite_mode(mode))
    try:
        for statement in before:
            session.execute(statement)
        if not step.may_be_empty:
            session.execute(step.sql)
            return False
        answer = session.query(step.sql)
        return bool(answer) and all(int(row["num_affected_rows"]) == 0 for row in answer)
    finally:
        for statement in after:
            session.execute(statement)


def _committed(session: Session, storage: Relation, marker: Marker, ran_empty: bool) -> Commit | None:
    """A guarded statement that was skipped looks like one that ran: the marker tells.

    It may have been skipped for this run's own sake: when a connection is lost, the server may still finish what
    it was doing, after this run has looked again. That is the same commit if it says the same.
    """
    found = recover.last_marked(session, storage, marker.pgt_id)
    if ran_empty and (found is None or found[1].batch < marker.batch):
        return None  # nothing to commit: the batch is still to come
    if found is None or _same(found[1]) != _same(marker):
        raise WarehouseError(
            "TRK-303",
            f"another run has committed batch {marker.batch} of it first",
            remedy="Nothing is lost: its content is that run's. Run again to go on from there.",
        )
    return found[0]


def _same(marker: Marker) -> tuple[object, ...]:
    return marker.batch, marker.run, marker.work, marker.frontier
