"""A refresh by what changed: the windows of the sources that moved, how each is read, and the one statement.

Or why not: then the stream table is recomputed, and its history says for which reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dbt_trickle.apply import few, recursion, unrestricted
from dbt_trickle.apply.base import Applied
from dbt_trickle.apply.choose import applied, staged
from dbt_trickle.apply.shape import Shape
from dbt_trickle.capture.base import Effect, LogFacts
from dbt_trickle.capture.choose import Chosen, Refused, Why
from dbt_trickle.capture.read import changes
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.delta.context import Context, Source, read_columns
from dbt_trickle.errors import TrickleBug
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan import cost
from dbt_trickle.plan.decide import Decision, Work
from dbt_trickle.run import feeds
from dbt_trickle.run.situation import Situation
from dbt_trickle.tree.algebra import scans

_GROWS = (Effect.NOTHING, Effect.APPEND)


@dataclass(frozen=True)
class Read:
    """A moved source: its window, what is known of it, and how it is read."""

    key: str
    facts: LogFacts
    chosen: Chosen


@dataclass(frozen=True)
class Differential:
    applied: Applied
    reason: str
    choice: cost.Choice | None
    changed: Mapping[str, int | None]  # rows of each source that moved
    captures: Mapping[str, str]  # how each source that moved is read, and why so


def differential(here: Situation, shape: Shape, why: str) -> Differential | Decision:
    """The statement, or what is to be done instead. Facts are gathered first, then it is decided."""
    before = here.before
    if before is None:
        raise TrickleBug("a differential refresh of what was never loaded")
    read: list[Read] = []
    for key in dict.fromkeys(scan.source for scan in scans(shape.tree)):
        old, new = before.frontier.get(key), here.pinned.frontier[key]
        if new.same_state(old):
            continue
        found = _read(here, shape, key, old, new)
        if isinstance(found, Decision):
            return found
        if found is not None:
            read.append(found)
    if not read:
        return Decision("NO_DATA", f"{why}, but no row of it changed", Work.NOTHING)
    config = here.request.config
    changed = {here.pinned.frontier[each.key].relation: each.facts.rows for each in read}
    if config.refresh_mode == "auto" and (others := _of_others(read)):
        told = f"{why}; most rows of {here.pinned.frontier[others].relation} are others than before"
        return Decision("FULL", told, Work.OVERWRITE, changed=changed)
    append_only = all(grew(each.facts) for each in read)
    if obstacle := unrestricted.this_time(shape.groups, append_only):
        return Decision("FULL", f"{why}; {obstacle}", Work.OVERWRITE, changed=changed)
    # What was loaded anew does not tell how much changed, and that once is no measure of other times.
    anew = any(_is_anew(here.pinned.frontier[each.key], each.facts) for each in read)
    choice = _choice(here, before, read) if config.refresh_mode == "auto" and not anew else None
    if choice is not None:
        why = f"{why}; {choice.reason}"
        if not choice.differential:
            return Decision("FULL", why, Work.OVERWRITE, choice=choice, changed=changed)
    read = [
        replace(each, chosen=here.captures.compared(here.session, each.key, each.facts, each.chosen)) for each in read
    ]
    context = Context(
        {
            key: _source(before.frontier.get(key), version, read)
            for key, version in delta.tables(here.pinned.frontier).items()
        }
    )
    place = here.place
    if place is not None:
        done = staged(shape, context, place, before.storage, before.stored_version, append_only)
    else:
        done = applied(shape, context, before.storage, before.stored_version, append_only)
    if reason := recursion.as_dear_as_anew(shape, done):
        return Decision("FULL", f"{why}; {reason}", Work.OVERWRITE, changed=changed)
    if not _few(read) and not done.kept:
        done = replace(done, few=None)
    captures = {each.key: f"{each.chosen.capture} ({each.chosen.reason})" for each in read}
    versions = here.pinned.frontier
    how = "; ".join(f"{versions[key].relation} by {capture}" for key, capture in captures.items())
    told = (done.few or done).how
    if because := shape.why or unrestricted.rows_went(shape.groups, append_only):
        told = f"{told} ({because})"
    if done.stage:
        told = f"{told}; staged before, for those that read it"
    return Differential(done, f"{why}; {how}; {told}", choice, changed, captures)


def grew(facts: LogFacts) -> bool:
    """No row of it went. From one table to another there are no commits that would say so."""
    return facts.window.was is None and all(commit.effect in _GROWS for commit in facts.commits)


def _is_anew(source: SourceVersion, facts: LogFacts) -> bool:
    """A stream table into another storage, or, where readers see its storage itself, in the place of the old one."""
    replaced = any(commit.effect is Effect.REPLACE for commit in facts.commits)
    return facts.window.was is not None or (source.kind == "STREAM_TABLE" and replaced)


def _of_others(read: list[Read]) -> str | None:
    """A source that says so itself: a stream table, of its full refresh."""
    return next((each.key for each in read if any(commit.others for commit in each.facts.commits)), None)


def _few(read: list[Read]) -> bool:
    """Of the sources; a row of one may still touch many of what it is joined with, so that is asked (apply/few.py)."""
    return sum(few.MOST + 1 if each.facts.rows is None else each.facts.rows for each in read) <= few.MOST


def _choice(here: Situation, before: StreamTable, read: list[Read]) -> cost.Choice:
    """The sources' sizes are only asked for as long as nothing was measured."""
    versions = here.pinned.frontier
    moved = [cost.Moved(versions[each.key].relation, each.facts.rows) for each in read]
    if not cost.can_predict(before, moved):
        size = here.run.sources.size
        moved = [
            replace(each, rows=size(here.session, versions[one.key])) if each.touched is not None else each
            for each, one in zip(moved, read, strict=True)
        ]
    return cost.choose(before, moved, here.request.config.max_change_ratio)


def _read(
    here: Situation, shape: Shape, key: str, old: SourceVersion | None, new: SourceVersion
) -> Read | Decision | None:
    if old is None:
        return Decision("REINITIALIZE", f"{new.relation} is read for the first time", Work.LOAD)
    anew = new.kind == "STREAM_TABLE" and old.table != new.table
    if not anew and (new.version <= old.version or old.table != new.table):
        return Decision("FULL", f"{new.relation} was replaced by another table", Work.OVERWRITE)
    facts, chosen = here.captures.read(here.session, new, old, read_columns(shape.tree, key))
    if chosen is None:
        return None
    if isinstance(chosen, Refused):
        why = f"{new.relation}: {chosen.reason}"
        if chosen.why is Why.SCHEMA:
            return Decision("REINITIALIZE", why, Work.LOAD)
        if chosen.why is Why.MODE:
            return feeds.stopped(here, new, chosen.reason)
        return Decision("FULL", why, Work.OVERWRITE)
    return Read(key, facts, chosen)


def _source(old: SourceVersion | None, new: SourceVersion, read: list[Read]) -> Source:
    mine = next((each for each in read if each.key == new.key), None)
    now = delta.read_at(new)
    if mine is None or old is None:
        return Source(now, now)
    return Source(delta.read_at(old), now, changes(mine.chosen, mine.facts), mine.facts.rows)
