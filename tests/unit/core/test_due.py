"""What is due is decided for a whole selection."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan.due import Scheduled, deadline, is_due, not_due, ticks_of

LAST = "2024-05-01T12:00:30.000+00:00"


@pytest.mark.parametrize(
    ("schedule", "now", "due"),
    [
        ("1m", "2024-05-01T12:00:40+00:00", False),
        ("1m", "2024-05-01T12:01:30+00:00", True),
        ("2h", "2024-05-01T12:50:00+00:00", False),
        ("2h", "2024-05-01T14:00:30+00:00", True),
        ("1d", "2024-05-01T13:00:00+00:00", False),
        ("1d", "2024-05-02T12:00:30+00:00", True),
        ("0 13 * * *", "2024-05-01T12:59:59+00:00", False),
        ("0 13 * * *", "2024-05-01T13:00:00+00:00", True),
        ("0 13 * * *", "2024-05-01T15:00:00+02:00", True),
        ("*/5 * * * *", "2024-05-01T12:04:59", False),
        ("*/5 * * * *", "2024-05-01T12:05:00", True),
    ],
)
def test_a_moment(schedule: str, now: str, due: bool) -> None:
    assert is_due(schedule, LAST, now) is due


@pytest.mark.parametrize(
    ("schedule", "then"),
    [
        ("1m", "2024-05-01T12:01:30.000+00:00"),
        ("2h", "2024-05-01T14:00:30.000+00:00"),
        ("0 13 * * *", "2024-05-01T13:00:00.000+00:00"),
        ("downstream", None),
        (None, None),
    ],
)
def test_until_when_it_is_fresh(schedule: str | None, then: str | None) -> None:
    assert deadline(schedule, LAST) == then
    assert deadline(schedule, None) is None


@given(st.integers(60, 10**8))
def test_ticks_are_48_times_a_power_of_two(seconds: int) -> None:
    tick = ticks_of(seconds)
    assert tick <= seconds < 2 * tick
    assert (tick // 48).bit_count() == 1
    assert tick % 48 == 0


def table(number: int, last: str | None = LAST) -> StreamTable:
    return StreamTable(number, "shop", f"t{number}", f"model.t{number}", is_populated=True, data_timestamp=last)


def selected(*schedules: str | None, **reads: str) -> list[Scheduled]:
    """t1, t2 … with these schedules; t3="1 2": it reads t1 and t2."""
    return [
        Scheduled(
            number,
            f"model.t{number}",
            schedule,
            frozenset(f"model.t{each}" for each in reads.get(f"t{number}", "").split()),
        )
        for number, schedule in enumerate(schedules, start=1)
    ]


def left_out(given: list[Scheduled], *, never: tuple[int, ...] = ()) -> list[int]:
    """At a moment at which minutes are due and days are not."""
    states = {each.pgt_id: table(each.pgt_id) for each in given if each.pgt_id not in never}
    return sorted(not_due(given, states, "2024-05-01T12:03:00+00:00"))


def test_a_selection() -> None:
    assert left_out(selected("1m", "1d", None)) == [2]
    assert left_out(selected("1d"), never=(1,)) == [], "what was never loaded is"
    assert left_out(selected("downstream", "1m", t2="1")) == []
    assert left_out(selected("downstream", "1d", t2="1")) == [1, 2]
    assert left_out(selected("downstream", None, t2="1")) == []
    assert left_out(selected("downstream")) == [1], "nobody reads it"
    assert left_out(selected("downstream", "downstream", "1m", t2="1", t3="2")) == []
    assert left_out(selected("downstream", "1d", "1m", t2="1", t3="2")) == [1, 2], "between them stands one that is not"
    assert left_out(selected("1d", "1m", t2="1")) == [1], "a schedule of its own holds"


def test_what_is_named_is_due() -> None:
    named = Scheduled(1, "model.t1", "downstream", named=True)
    assert not_due([named], {1: table(1)}, "2024-05-01T12:00:31+00:00") == {}


def over_one_table(*schedules: str | None, slowest: tuple[int, ...] = (), **reads: str) -> dict[int, str]:
    """What is left out, and why, of a selection of which those that read no other read a table, all the same one."""
    given = [
        replace(each, policy="slowest" if each.pgt_id in slowest else "fastest")
        for each in selected(*schedules, **reads)
    ]
    orders = SourceVersion("shop.orders", "TABLE", "shop.orders", "id", 3, LAST)
    states = {each.pgt_id: table(each.pgt_id) for each in given}
    bottom = [each.pgt_id for each in given if not each.reads]
    states |= {number: replace(states[number], frontier={orders.key: orders}) for number in bottom}
    return not_due(given, states, "2024-05-01T12:03:00+00:00")


@pytest.mark.parametrize(
    ("schedules", "slowest", "expected"),
    [
        (("1m", "1d", None), (), []),
        (("1m", "1d", "1d"), (), []),
        (("1d", "1d", "1m"), (), []),
        (("1d", "1d", "1d"), (), [1, 2, 3]),
        # One without a schedule is due at any time, which is no wish for others.
        ((None, "1d", None), (), [2]),
        (("1m", "1d", None), (3,), [1, 2]),
        (("1m", "1d", None), (1,), [1, 2]),
        (("1m", "1m", None), (1,), []),
        (("1m", None, "1d"), (2,), [1, 3]),
        (("downstream", "1m", "1d"), (3,), [1, 2, 3]),
        (("downstream", "1m", "1d"), (), []),
    ],
)
def test_a_diamond_is_due_with_the_fastest_or_the_slowest_of_it(
    schedules: tuple[str | None, ...], slowest: tuple[int, ...], expected: list[int]
) -> None:
    """The strictest policy wins, whoever of the diamond has it."""
    assert sorted(over_one_table(*schedules, slowest=slowest, t3="1 2")) == expected


def test_what_is_in_no_diamond_keeps_its_schedule() -> None:
    assert list(over_one_table("1m", "1d", None, "1d", t3="1 2", t4="3")) == [4]
    assert list(over_one_table("1m", "1d", slowest=(1,))) == [2], "nothing reads both"


def test_what_was_never_loaded_waits_for_no_diamond() -> None:
    given = [replace(each, policy="slowest") for each in selected("1m", "1d", "1m", t2="1", t3="1 2")]
    assert left_out(given) == [2, 3]
    assert left_out(given, never=(3,)) == [2]


def test_why_a_diamond_waits() -> None:
    assert over_one_table("1m", "1d", None, slowest=(1,), t3="1 2") == {
        1: "not due: with `diamond_schedule_policy: slowest` it waits until all of its diamond are",
        2: "not due: its schedule is 1d",
    }


def test_why() -> None:
    assert not_due(selected("1d", "downstream"), {1: table(1), 2: table(2)}, "2024-05-01T12:00:31+00:00") == {
        1: "not due: its schedule is 1d",
        2: "nothing downstream of it that was selected is due",
    }
