"""A refresh that is about to commit, where readers of its diamond are to stay with what they see; see held_back.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.plan.decide import Decision, Work
from dbt_trickle.run import held_back
from dbt_trickle.run.situation import Situation


def begun(here: Situation, decision: Decision) -> Situation:
    """From here on its readers may have been told to stay with what they see, whatever becomes of the refresh."""
    before = here.before
    if before is None or before.held_back is None:
        return here
    known = here.run.state(here.request.pgt_id) or before
    if _is_fresher(known, before):  # another way of this refresh has begun, and came to nothing
        before = replace(before, **_standing(known))
    elif decision.work is not Work.LOAD:  # that commits to another storage: of this one they see the newest version
        before = held_back.freshened(here.session, before, here.now)
    here.run.doubt(replace(known, **_standing(before)))
    return replace(here, before=before)


def _is_fresher(known: StreamTable, before: StreamTable) -> bool:
    held, planned = known.held_back, before.held_back
    if held is None or planned is None:
        return False
    return held.storage == planned.storage and held.version > planned.version


def _standing(table: StreamTable) -> dict[str, Any]:
    return {"held_back": table.held_back, "seen_version": table.seen_version, "seen_at": table.seen_at}


def not_begun(here: Situation) -> Situation:
    """Nothing is to be committed: they stay with something else only where an earlier refresh has told them to."""
    before, known = here.before, here.run.state(here.request.pgt_id)
    if before is None or known is None or before.held_back == known.held_back:
        return here
    return replace(here, before=replace(before, held_back=known.held_back))
