"""How `cdc_mode: auto` moves a source from its change feed (TRIGGER) to its log and versions (WAL), and back.

    TRIGGER ──the log can serve──▶ TRANSITIONING ──both captures of a window agree──▶ WAL
       ▲                                 │ they differ, the log cannot be read, too late    │
       └─────────────────────────────────┴──────────────── the log would cost too much ─────┘

A source without a change feed is WAL from the beginning. The log can serve where a window's commits only added
files, because then it reads those files and no more; or where the table is small, because then the difference of
two versions is cheap, too. Both are known of a window that has been read, so nothing is asked for it. What failed
is not tried again while the source is defined as it was.

Where two captures of a window differ, the versions themselves tell which one is wrong. A feed that is wrong is not
read any more: then, too, the source is WAL.

A window is read whole by one capture, whatever the state is, and the next one begins where it ended: a change of
state can neither lose a change nor double it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from dbt_trickle.capture.base import Batches, LogFacts
from dbt_trickle.capture.choose import STAGED, Chosen, Mode, Refused, choose, only_appends, without_feed

State = Literal["TRIGGER", "TRANSITIONING", "WAL", "NONE"]
Ending = Literal["complete", "failed"]

SMALL = 4 * 1024 * 1024  # bytes of a table: up to there the difference of two versions costs what an empty one does
FEED_ON = "its change feed is on"
FEED_OFF = "its change feed is off"
NO_FEED_KNOWN = "its versions are compared"
LOG_SERVES = "its log serves"
LOG_WRONG = "its log told other changes than its change feed and its versions"
FEED_WRONG = "its change feed told other changes than its versions: what was read from it before may be wrong, too"
_EXPLICIT: dict[Mode, tuple[State, str]] = {
    "feed": ("TRIGGER", "cdc_mode is feed"),
    "log": ("WAL", "cdc_mode is log"),
}
# It is recomputed meanwhile, or refused.
_WITHOUT = "cdc_mode is feed; its change feed is off"


@dataclass(frozen=True)
class Capturing:
    """How a source is captured, and what is remembered for that from run to run."""

    state: State
    reason: str
    since: str | None = None  # when it became TRANSITIONING
    mark: str = ""  # the source as it was defined then, or when a transition failed
    failed: bool = False


@dataclass(frozen=True)
class Reading:
    """How one window is read, and what it told of the log."""

    chosen: Chosen | Refused
    rival: Chosen | None = None  # the other capture, with which it is to be compared
    serves: str = ""  # why the log could serve
    obstacle: str = ""  # why it cannot


@dataclass(frozen=True)
class Seen:
    """What a refresh that succeeded has seen of a source."""

    moved: bool = False
    feed: bool | None = None  # whether its change feed is on; none: nobody asked
    mark: str = ""
    serves: str = ""
    obstacle: str = ""
    agreed: bool | None = None  # none: the captures were not compared
    problem: str = ""  # why they did not agree
    staged: bool = False  # its own refreshes stage what they change


@dataclass(frozen=True)
class Step:
    after: Capturing
    ending: Ending | None = None


def asks(mode: Mode, before: Capturing | None) -> Mode:
    """Which capture's facts are needed before a window can be read: those of the log hold the feed's."""
    if mode == "auto" and before is not None and before.state in ("TRANSITIONING", "WAL") and not _unknown(before):
        return "log"
    return mode


def reading(mode: Mode, before: Capturing | None, facts: LogFacts) -> Reading:
    if isinstance(facts.staged, Batches) and mode != "log":
        return Reading(choose(mode, facts))  # whatever its feed and its log are
    state = before.state if mode == "auto" and before is not None else None
    if before is None or state not in ("TRANSITIONING", "WAL") or _unknown(before):
        chosen = choose(mode, facts)
        return Reading(chosen, serves=_serves(facts) if isinstance(chosen, Chosen) else "")
    by_log, by_feed = choose("log", facts, "it is captured by its log"), choose("auto", facts)
    if isinstance(by_log, Refused) or isinstance(by_feed, Refused):
        return Reading(by_log)
    if by_feed.capture != "feed":
        return Reading(by_feed if state == "TRANSITIONING" else by_log)
    if before.failed:
        return Reading(by_log)
    if by_log.capture == "difference" and not _is_small(facts):
        return Reading(by_feed, obstacle=f"its log would be read as a whole: {by_log.reason}")
    return Reading(by_feed, by_log) if state == "TRANSITIONING" else Reading(by_log, serves=_serves(facts))


def step(mode: Mode, before: Capturing | None, seen: Seen, now: str, timeout_seconds: int) -> Step:
    """What follows from a refresh that succeeded; one that failed changes nothing."""
    if seen.staged:
        return Step(Capturing("TRIGGER", STAGED))
    if mode in _EXPLICIT:
        return Step(_asked_for(mode, before, seen))
    if before is None or before.state == "NONE" or _was_explicit(before):
        return Step(_begun(seen))
    if _unknown(before) and seen.feed is not None:
        return Step(_begun(seen))
    if seen.feed is False:
        return Step(Capturing("WAL", FEED_OFF))
    if not seen.moved:
        return Step(before)
    match before.state:
        case "TRIGGER":
            return Step(_from_feed(before, seen, now))
        case "TRANSITIONING":
            return _compared(before, seen, now, timeout_seconds)
        case _:
            return _from_log(before, seen)


def _unknown(before: Capturing) -> bool:
    """Nobody had looked at its feed; of a stream table it is switched on behind the first look."""
    return before.reason == NO_FEED_KNOWN


def _was_explicit(before: Capturing) -> bool:
    return before.reason == _WITHOUT or (before.state, before.reason) in _EXPLICIT.values()


def _asked_for(mode: Mode, before: Capturing | None, seen: Seen) -> Capturing:
    """By name, so there is nothing to move to; what keeps it from working is told."""
    state, reason = _EXPLICIT[mode]
    unknown = seen.feed is None and before is not None and before.reason == _WITHOUT
    return Capturing(state, _WITHOUT if mode == "feed" and (seen.feed is False or unknown) else reason)


def _begun(seen: Seen) -> Capturing:
    if seen.feed:
        return Capturing("TRIGGER", FEED_ON)
    return Capturing("WAL", NO_FEED_KNOWN if seen.feed is None else FEED_OFF)


def _from_feed(before: Capturing, seen: Seen, now: str) -> Capturing:
    if before.failed and seen.mark in ("", before.mark):
        return before
    if seen.serves:
        return Capturing("TRANSITIONING", f"its log is to be compared: {seen.serves}", now, seen.mark)
    return Capturing("TRIGGER", FEED_ON)


def _compared(before: Capturing, seen: Seen, now: str, timeout_seconds: int) -> Step:
    """One window that both captures tell alike is enough: each is right by itself, or it would not be chosen."""
    if seen.agreed:
        return Step(Capturing("WAL", "its log told what its change feed told"), "complete")
    problem = seen.problem or seen.obstacle
    if not problem and seen.mark not in ("", before.mark):
        return Step(Capturing("TRIGGER", "the source was altered while it was changing over"))
    if not problem and _seconds(before.since or now, now) > timeout_seconds:
        problem = f"its feed and its log could not be compared within {timeout_seconds} s"
    if not problem:
        return Step(before)
    if problem == FEED_WRONG:
        return Step(Capturing("WAL", problem, mark=seen.mark, failed=True), "failed")
    return Step(Capturing("TRIGGER", problem, mark=seen.mark or before.mark, failed=True), "failed")


def _from_log(before: Capturing, seen: Seen) -> Step:
    if before.failed:  # it is known that its feed cannot be trusted
        return Step(before if seen.mark in ("", before.mark) else Capturing("WAL", LOG_SERVES))
    if seen.feed and seen.obstacle:
        return Step(Capturing("TRIGGER", seen.obstacle, mark=seen.mark, failed=True), "failed")
    if seen.feed and before.reason == FEED_OFF:
        return Step(Capturing("WAL", LOG_SERVES))
    return Step(before)


def _serves(facts: LogFacts) -> str:
    if without_feed(facts) is not None:
        return ""
    if only_appends(facts):
        return "files were only added"
    return "the table is small" if _is_small(facts) else ""


def _is_small(facts: LogFacts) -> bool:
    return facts.size is not None and facts.size <= SMALL


def _seconds(since: str, now: str) -> float:
    return (datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds()
