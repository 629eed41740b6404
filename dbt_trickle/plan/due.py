"""Which stream tables of a selection are due, by their schedules: decided for all of them at the start of a run.

A duration is kept by ticks of 48·2ⁿ seconds since 1970, the longest that is no longer than it is, so that tables of
different durations are due at the same moments as often as can be. Cron is in UTC.

What reads several branches shows the newest moment that all of them have had, so one that is ahead is of no use to it.
Those of a diamond that have a schedule are due together: with the fastest of them, or with the slowest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from croniter import croniter

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import schedule_seconds
from dbt_trickle.plan.graph import diamonds

SHORTEST = 48
DOWNSTREAM = "downstream"


@dataclass(frozen=True)
class Scheduled:
    """`reads`: the unique ids of the stream tables that it reads; `named`: the user asked for this very one."""

    pgt_id: int
    unique_id: str
    schedule: str | None
    reads: frozenset[str] = frozenset()
    named: bool = False
    policy: str = "fastest"  # diamond_schedule_policy

    @property
    def has_times(self) -> bool:
        return self.schedule not in (None, DOWNSTREAM)


def not_due(selected: Sequence[Scheduled], states: Mapping[int, StreamTable], now: str) -> dict[int, str]:
    """Why not, of those that are not. What was never loaded is due."""
    by_id = {each.unique_id: each for each in selected}
    alone = {each.unique_id for each in selected if _by_itself(each, states.get(each.pgt_id), now)}
    due, waits = _with_their_diamonds(selected, states, alone)
    ahead = list(due)
    while ahead:
        for upstream in by_id[ahead.pop()].reads & by_id.keys():
            if by_id[upstream].schedule == DOWNSTREAM and upstream not in due:
                due.add(upstream)
                ahead.append(upstream)
    return {each.pgt_id: _why(each, each.unique_id in waits) for each in selected if each.unique_id not in due}


def _with_their_diamonds(
    selected: Sequence[Scheduled], states: Mapping[int, StreamTable], alone: set[str]
) -> tuple[set[str], set[str]]:
    """What is due, and what would be by itself. Of the policies of a diamond, and of several, the strictest wins."""
    due, waits = set(alone), set[str]()
    for group in _diamonds(selected, states):
        timed = {each.unique_id for each in group if each.has_times}
        if not any(each.policy == "slowest" for each in group):
            due |= timed if timed & alone else set()
        elif not timed <= alone:
            # What was never loaded has nothing to show meanwhile.
            waits |= {each.unique_id for each in group if each.has_times and _is_there(states.get(each.pgt_id))}
    return due - waits, alone & waits


def _diamonds(selected: Sequence[Scheduled], states: Mapping[int, StreamTable]) -> Iterator[list[Scheduled]]:
    """Of the selection. Which tables one reads is known when it was loaded, and before that it is due anyway."""
    reads = {
        each.unique_id: each.reads | _tables(state) if (state := states.get(each.pgt_id)) is not None else each.reads
        for each in selected
    }
    for diamond in diamonds(reads):
        yield [each for each in selected if each.unique_id in (*diamond.members, *diamond.converges)]


def _tables(state: StreamTable) -> frozenset[str]:
    return frozenset(key for key, version in state.frontier.items() if version.kind == "TABLE")


def _is_there(state: StreamTable | None) -> bool:
    return state is not None and state.is_populated


def _by_itself(each: Scheduled, state: StreamTable | None, now: str) -> bool:
    if state is None or not _is_there(state) or each.schedule is None:
        return True
    if each.schedule == DOWNSTREAM:
        return each.named
    return state.data_timestamp is None or is_due(each.schedule, state.data_timestamp, now)


def is_due(schedule: str, last: str, now: str) -> bool:
    seconds = schedule_seconds(schedule)
    if seconds is not None:
        tick = ticks_of(seconds)
        return _seconds(now) // tick > _seconds(last) // tick
    # The moment itself is one that has come.
    came: datetime = croniter(schedule, _moment(now) + timedelta(seconds=1)).get_prev(datetime)
    return came > _moment(last)


def deadline(schedule: str | None, data_timestamp: str | None) -> str | None:
    """When data of that moment is older than its schedule wants it."""
    if schedule is None or schedule == DOWNSTREAM or data_timestamp is None:
        return None
    last, seconds = _moment(data_timestamp), schedule_seconds(schedule)
    next_one = last + timedelta(seconds=seconds) if seconds is not None else croniter(schedule, last).get_next(datetime)
    return str(next_one.isoformat(timespec="milliseconds"))


def ticks_of(seconds: int) -> int:
    tick = SHORTEST
    while tick * 2 <= seconds:
        tick *= 2
    return tick


def _why(each: Scheduled, waits: bool) -> str:
    if waits:
        return "not due: with `diamond_schedule_policy: slowest` it waits until all of its diamond are"
    if each.schedule == DOWNSTREAM:
        return "nothing downstream of it that was selected is due"
    return f"not due: its schedule is {each.schedule}"


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)


def _seconds(text: str) -> int:
    return int(_moment(text).timestamp())
