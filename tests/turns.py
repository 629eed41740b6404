"""Which part of what `make test` has not the time for: the code that this checkout's commit has says it.

So each one meets the same every time; one that changes documents only, what the one before it met. TRICKLE_TURN, a
number, says it of any commit; `all` takes everything, and who names a file or a test gets it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from math import lcm
from pathlib import Path
from typing import TypeVar

import pytest

ASKED = os.environ.get("TRICKLE_TURN")
ALL = ASKED == "all"
CODE = ("dbt", "dbt_trickle", "tests")
# Folders of whose classes one in so many has its turn. A test that is marked `in_turn(parts)` is one of its file alone.
PARTS = {
    "tests/functional/adapter/": 3,
    "tests/functional/stream_table_suites/": 3,
    "tests/functional/stream_table/": 2,
    "tests/functional/engine/": 3,
}

Case = TypeVar("Case")


def named(arguments: Iterable[str]) -> bool:
    """A file, or a test."""
    return any("::" in each or each.endswith(".py") for each in arguments)


def turn(parts: int, others: int = 1) -> int:
    """From 0 on; `others`: how many turns of something else go by until the next one."""
    return (int(ASKED) if ASKED and not ALL else _commit()) // others % parts


def mine(cases: Iterable[Case], parts: int) -> list[Case]:
    """Of what one test goes through."""
    if ALL or named(sys.argv[1:]):
        return list(cases)
    # Or a class would have the same half of its cases each time that it has its turn.
    mine = turn(parts, lcm(*PARTS.values()))
    return [case for number, case in enumerate(cases) if number % parts == mine]


def deselect(config: pytest.Config, items: list[pytest.Item]) -> None:
    if ALL or config.option.keyword or named(config.args):
        return
    known: dict[str, dict[str, int]] = {}
    now, others = [], []
    for item in items:
        family, unit, parts = _share(item)
        numbers = known.setdefault(family, {})
        number = numbers.setdefault(unit, len(numbers))
        (now if number % parts == turn(parts) else others).append(item)
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = now


def _share(item: pytest.Item) -> tuple[str, str, int]:
    """What it is one of, what is kept together, and how many parts there are."""
    marker = item.get_closest_marker("in_turn")
    if marker is not None:
        return item.nodeid.partition("::")[0], item.nodeid, marker.args[0]
    folder = next((each for each in PARTS if item.nodeid.startswith(each)), "")
    return folder, item.nodeid.rpartition("::")[0], PARTS.get(folder, 1)


@cache  # it is asked for each test
def _commit() -> int:
    asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", *(f"HEAD:{folder}" for folder in CODE)]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        return sum(int(each, 16) for each in told.split())
    except (OSError, subprocess.CalledProcessError):  # no git, or no checkout
        return 0
