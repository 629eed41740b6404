"""`trickle plan` of a selection: whether what is refreshed before will be of one moment with all else that is read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from shared_worlds import Lake, Query, run

from dbt_trickle.run.foresee import _Future


def shop() -> Lake:
    """Of which `t` has moved since all were refreshed."""
    reads = {"a": ("t",), "b": ("t",), "d": ("a",), "c": ("b", "d")}
    lake = Lake({name: Query(inputs, tuple) for name, inputs in reads.items()})
    run(lake, lake.queries)
    lake.written("t", 1)
    return lake


def agrees(lake: Lake, name: str, *before: tuple[str, str]) -> bool:
    """`before`: what is refreshed before it, and how."""
    now = lake.invocation()
    as_run: Any = SimpleNamespace(state=now.states.get, doubt=now.know)
    future = _Future(as_run)
    for each, action in before:
        found: Any = SimpleNamespace(here=_here(now, each))
        future.note(found, action)
    return future.agrees(_here(now, name).pinned)


def _here(now: Any, name: str) -> SimpleNamespace:
    number = now.lake.number(name)
    before = now.rolled_forward(number)
    return SimpleNamespace(before=before, pinned=now._pinned(name, before), request=SimpleNamespace(pgt_id=number))


REFRESHED = "DIFFERENTIAL"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ([], True),  # as they are, all stand at one moment
        ([("b", REFRESHED)], False),
        ([("a", REFRESHED), ("d", REFRESHED)], False),
        ([("a", REFRESHED), ("b", REFRESHED)], False),  # the one between is not selected
        ([("a", REFRESHED), ("d", REFRESHED), ("b", REFRESHED)], True),
        ([("a", "NO_DATA"), ("d", "NO_DATA"), ("b", REFRESHED)], True),
        ([("a", REFRESHED), ("d", REFRESHED), ("b", "NO_DATA")], True),
        ([("a", "SKIP"), ("d", "SKIP"), ("b", REFRESHED)], False),
    ],
)
def test_what_is_not_refreshed_holds_it_back(before: list[tuple[str, str]], expected: bool) -> None:
    assert agrees(shop(), "c", *before) == expected


def test_what_reads_one_alone_is_held_back_by_nothing() -> None:
    assert agrees(shop(), "d", ("a", REFRESHED))
