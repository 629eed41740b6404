"""Having readers stay with what they see of a diamond that is published together, and letting them go on.

What holds them is a statement of the refresh itself (plan/steps.py), before its commit. What lets them go on is done
for a whole diamond, when its last member of a run has ended, and at the beginning and the end of each run: one ALTER
VIEW after the other, within which readers may see some of the members and not yet the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from dbt_trickle.catalog.events import HELD_BACK, Event
from dbt_trickle.catalog.state import HeldBack, StreamTable
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.errors import ModelError, TrickleError
from dbt_trickle.formats import delta
from dbt_trickle.names import literal
from dbt_trickle.plan import atomic, steps
from dbt_trickle.plan.decide import Decision, Facts, Work
from dbt_trickle.plan.public_view import showing
from dbt_trickle.run import recover
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.session import Session

# Delta reads no version for others that is older than its retention, but for the newest: one that is to stay readable
# for as long as possible gets a commit of today, without rows.
FRESH = timedelta(hours=1)
CONCERNED = (Work.DELTA, Work.OVERWRITE, Work.LOAD)


def held(
    before: StreamTable | None,
    config: StreamTableConfig,
    facts: Facts,
    decision: Decision,
    members: Sequence[StreamTable],
    now: str,
) -> StreamTable | None:
    """The stream table with what its readers are to stay with, where its rows are about to change."""
    if before is None or decision.work not in CONCERNED:
        return before
    others = [each for each in members if each.pgt_id != before.pgt_id]
    asked = config.diamond_consistency == atomic.ATOMIC
    if asked:
        _require_views(others)
    if before.held_back is not None:
        lost = facts.previous_storage_missing and before.held_back.relation == before.storage
        return replace(before, held_back=None) if lost else before
    if not others or not (asked or atomic.is_atomic(others)) or not _has_readers(before, config, facts):
        return before
    return atomic.hold(before, now)


def _has_readers(before: StreamTable, config: StreamTableConfig, facts: Facts) -> bool:
    """Whether there is something to stay with: of what was never loaded, or is gone, there is nothing older to show."""
    gone = facts.previous_storage_missing or facts.shows_another or not facts.public_is_ours
    return before.is_populated and before.expose == config.expose == "view" and not gone


def _require_views(others: Iterable[StreamTable]) -> None:
    shown = next((each for each in others if each.expose == "table"), None)
    if shown is not None:
        raise ModelError(
            "TRK-217",
            f"`diamond_consistency: atomic`, and {shown.public}, which is of the same diamond, has `expose: table`: "
            "readers see its rows with its commit, so they cannot be shown together",
            remedy=f"Use `expose: view` for {shown.public}, or `diamond_consistency: none` for all of the diamond.",
        )


def freshened(session: Session, table: StreamTable, now: str) -> StreamTable:
    """With a version to stay with that was committed lately."""
    at = table.seen_at if table.seen_version > table.storage_version else table.storage_at
    if table.held_back is None or not _is_old(at, now) or table.held_back.relation != table.storage:
        return table
    if table.held_back.version != table.stored_version:
        return table  # its readers stay with older rows already
    session.execute(f"ALTER TABLE {table.storage.sql} SET TBLPROPERTIES ('trickle.held_back' = {literal(now)})")
    newest = delta.commit_of(session.query(delta.history(table.storage, 1))[0])
    if newest.version != table.stored_version + 1:
        return table  # somebody else commits there
    seen = replace(table, seen_version=newest.version, seen_at=newest.committed_at)
    return replace(seen, held_back=replace(table.held_back, version=newest.version))


def _is_old(at: str, now: str) -> bool:
    return not at or datetime.fromisoformat(now) - datetime.fromisoformat(at) >= FRESH


def released(session: Session, group: Sequence[StreamTable], warn: Callable[[str], None]) -> list[StreamTable]:
    """Of a diamond those whose readers are shown the newest rows now. What fails is told, and the next run does it."""
    try:
        found = [_shown(session, table) for table in group]
    except TrickleError as problem:
        _tell(group, problem, warn)
        return []
    if any(has_moved_on for _, has_moved_on in found):
        return []  # what another run has committed need not agree with what this one knows
    done = []
    for table, (text, _) in zip(group, found, strict=True):
        if table.held_back is None:
            continue
        shown = showing(text, table.pgt_id) if text is not None else None
        if shown is not None and shown.is_pinned:
            try:
                session.execute(steps.release(table.public, table.columns, table.storage).sql)
            except TrickleError as problem:
                _tell([table], problem, warn)
                continue
        done.append(table)
    return done


def _shown(session: Session, table: StreamTable) -> tuple[str | None, bool]:
    """The text of its view, and whether another run has committed more of it than this one knows."""
    storage, text = recover.serving(session, table.public, table.pgt_id)
    if storage not in (None, table.storage):
        return text, True
    found = recover.last_marked(session, table.storage, table.pgt_id)
    return text, found is not None and found[1].batch != table.batch


def let_go(table: StreamTable, now: str) -> StreamTable:
    """Who has just opened the view reads the older generation still: it waits as long as any that was left just now."""
    held = table.held_back
    if held is None:
        return table
    retired = tuple((g, now if held.storage.endswith(f"_g{g}") else since) for g, since in table.retired)
    return replace(table, held_back=None, retired=retired)


def _tell(tables: Iterable[StreamTable], problem: TrickleError, warn: Callable[[str], None]) -> None:
    names = ", ".join(str(table.public) for table in tables)
    warn(
        f"readers of {names} could not be shown the newest rows: {problem}\n"
        "They go on seeing those before. The next run shows them."
    )


def told(outcome: Outcome, why: str) -> Outcome:
    """The history says of a refresh that readers do not see yet why they do not."""
    row = outcome.refresh
    reason = f"{row.reason}; readers are shown what was there before, until all of its diamond have come: {why}"
    return replace(outcome, refresh=replace(row, reason=reason))


def event(table: StreamTable, held: HeldBack, why: str, now: str) -> Event:
    told = {"since": held.since, "data_timestamp": held.data_timestamp, "reason": why}
    return Event(HELD_BACK, table.pgt_id, now, str(table.public), told)
