"""Which part of what `make test` has not the time for: the commit of this checkout says it.

So a few commits meet all of it, and each one the same every time. TRICKLE_TURN, a number, says it of any commit;
`all` takes everything.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import pytest

ASKED = os.environ.get("TRICKLE_TURN")
ALL = ASKED == "all"

Case = TypeVar("Case")


def turn(parts: int) -> int:
    """From 0 on."""
    return int(ASKED) % parts if ASKED and not ALL else _commit() % parts


def mine(cases: Iterable[Case], parts: int) -> list[Case]:
    """Of what one test goes through."""
    return list(cases) if ALL else [case for n, case in enumerate(cases) if n % parts == turn(parts)]


def deselect(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test that is marked `in_turn(parts)`, the cases that are not this commit's."""
    if ALL or any("::" in each for each in config.args) or config.option.keyword:
        return  # who names one wants it
    numbers: Counter[str] = Counter()
    now, others = [], []
    for item in items:
        marker = item.get_closest_marker("in_turn")
        if marker is None:
            now.append(item)
            continue
        family = item.nodeid.partition("[")[0]
        (parts,) = marker.args
        (now if numbers[family] % parts == turn(parts) else others).append(item)
        numbers[family] += 1
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = now


def _commit() -> int:
    asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        return int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout, 16)
    except (OSError, subprocess.CalledProcessError):  # no git, or no checkout
        return 0
