"""Which capture reads a window, and why; or why none does. Decided from facts alone, nothing is asked here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from dbt_trickle.capture.base import Appended, Batches, Effect, LogFacts, NotStaged, Unlogged, incomparable
from dbt_trickle.capture.commits import replaced_at
from dbt_trickle.capture.table import feed_is_on
from dbt_trickle.capture.types import same
from dbt_trickle.errors import TrickleBug

Mode = Literal["auto", "feed", "log"]
CaptureName = Literal["feed", "log", "difference", "staged"]

# What a window may hold for its files to be read from the log; the log itself must agree.
_LOGGABLE = (Effect.NOTHING, Effect.APPEND)
# A feed's window across a rename or a replacement fails (measured). Restoring may bring back an old schema or
# switch the feed, and of what is not known nothing is: the difference is right for both.
_BREAKS_FEED = (Effect.REPLACE, Effect.RENAME, Effect.RESTORE, Effect.UNKNOWN)
STAGED = "its refreshes stage what they change"
# A stream table, into another storage. There is no log, and no feed, from one to the other.
_LOADED_ANEW = "it was loaded anew since"


class Why(Enum):
    """What kind of obstacle a refusal is: a caller treats them differently."""

    GONE = "the old version cannot be read any more"
    SCHEMA = "a column that is read was another one, or was not there, at the old version"
    COLUMNS = "a column is of a type by which rows cannot be compared"
    MODE = "the capture that the user asked for cannot read this window"


@dataclass(frozen=True)
class Chosen:
    capture: CaptureName
    reason: str


@dataclass(frozen=True)
class Refused:
    why: Why
    reason: str


def choose(mode: Mode, facts: LogFacts, why_log: str = "cdc_mode is log") -> Chosen | Refused:
    refused = unreadable(facts) or _not_comparable(facts) or _another_schema(facts)
    if refused is not None:
        return refused
    if facts.window.was is not None and mode != "feed":
        return Chosen("difference", _LOADED_ANEW)
    if isinstance(facts.staged, Batches) and mode != "log":
        return Chosen("staged", STAGED)
    no_feed = without_feed(facts)
    if isinstance(facts.staged, NotStaged):
        why_log = f"{facts.staged.reason}; {why_log}"
        no_feed = no_feed and f"{facts.staged.reason}; {no_feed}"
    match mode:
        case "feed":
            return Refused(Why.MODE, f"cdc_mode is feed; {no_feed}") if no_feed else Chosen("feed", "cdc_mode is feed")
        case "log":
            return _from_log(facts, why_log)
        case "auto":
            return _from_log(facts, no_feed) if no_feed else Chosen("feed", "its change feed is on")
        case _:
            raise TrickleBug(f"the unknown cdc_mode {mode!r}")


def unreadable(facts: LogFacts) -> Refused | None:
    """Why the old version is not there. A table that was dropped and made anew may have reached its number."""
    window = facts.window
    if facts.gone:
        return Refused(Why.GONE, facts.gone)
    if facts.found_at is None:
        newest = facts.later[-1:] or facts.commits[-1:]
        if not newest or newest[0].version <= window.old:
            return Refused(Why.GONE, "dropped and re-created")
        return Refused(Why.GONE, f"its history does not go back to version {window.old}")
    if facts.found_at != facts.known_at:
        return Refused(Why.GONE, "dropped and re-created")
    if window.was is None and not facts.is_whole:
        return Refused(Why.GONE, "its transaction log is not complete")
    since = facts.commits + facts.later
    replaced = replaced_at(since)
    vacuums = [c.removes_files_older_than for c in since]
    if replaced is not None and any(before is not None and replaced <= before for before in vacuums):
        return Refused(Why.GONE, f"vacuumed past version {window.old}")
    return None


def without_feed(facts: LogFacts) -> str | None:
    """Why the window has no feed that can be read; none: it has one.

    It must have been on for the window's first commit, or that commit must be the one that switched it on. The
    history tells what was set, the properties what holds now: no setting in between, so it held all the time.
    """
    if facts.window.was is not None:
        return _LOADED_ANEW
    first, *others = facts.commits
    switched = next((c for c in [*others, *facts.later] if c.feed is not None), None)
    if switched is not None:
        return f"its change feed was switched at version {switched.version}"
    if not feed_is_on(facts.properties):
        return "its change feed is off"
    if first.feed is False:
        return f"its change feed was switched at version {first.version}"
    breaking = next((c for c in facts.commits + facts.later if c.effect in _BREAKS_FEED), None)
    return _told(breaking.effect, breaking.operation, breaking.version) if breaking else None


def only_appends(facts: LogFacts) -> bool:
    """By the operations alone; the log itself must agree before it is read in place of the table."""
    return _not_only_appends(facts) is None


def needs_log(mode: Mode, facts: LogFacts) -> bool:
    """Whether the transaction log is worth reading: only then can what it says be chosen."""
    may = mode == "log" or (mode == "auto" and without_feed(facts) is not None)
    return may and facts.window.was is None and only_appends(facts)


def _from_log(facts: LogFacts, reason: str) -> Chosen:
    obstacle = _not_only_appends(facts)
    if obstacle is None:
        match facts.log:
            case Appended():
                return Chosen("log", f"{reason}; files were only added")
            case Unlogged(reason=why):
                obstacle = why
            case None:
                raise TrickleBug("the transaction log was not asked for")
    return Chosen("difference", f"{reason}; {obstacle}")


def _not_only_appends(facts: LogFacts) -> str | None:
    other = next((c for c in facts.commits if c.effect not in _LOGGABLE), None)
    return _told(other.effect, other.operation, other.version) if other else None


def _told(effect: Effect, operation: str, version: int) -> str:
    match effect:
        case Effect.REPLACE:
            return f"replaced at version {version}"
        case Effect.RESTORE:
            return f"restored at version {version}"
        case _:
            return f"{operation} at version {version}"


def _not_comparable(facts: LogFacts) -> Refused | None:
    reason = incomparable(facts.window)
    return Refused(Why.COLUMNS, reason) if reason else None


def _another_schema(facts: LogFacts) -> Refused | None:
    if facts.old_columns is None:
        raise TrickleBug("the columns of the old version were not asked for")
    old = {name.lower(): type_text for name, type_text in facts.old_columns}
    for name, type_text in facts.window.columns:
        before = old.get(name.lower())
        if before is None:
            return Refused(Why.SCHEMA, f"column {name} was not there at version {facts.window.old}")
        if not same(before, type_text):
            what = f"column {name} was {before} at version {facts.window.old} and is {type_text}"
            return Refused(Why.SCHEMA, what)
    return None
