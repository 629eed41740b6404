"""A hundred rows that changed, captured without anything that the source's writers do for it."""

from __future__ import annotations

from typing import Any

from benchmarks.engine import Bench
from benchmarks.report import Result
from benchmarks.scenarios.small_change import Plan, all_of

TITLE = "100 rows of a large source changed, captured by its log"
ABOUT = """
As with the change feed, of a source that has none. Rows that were only added are read from the files that the log
names; updates and deletes are the difference of two versions.
"""
NAMES = ("filter", "sum and count")


def measure(bench: Bench, quick: bool) -> tuple[Result, dict[str, Any]]:
    sizes = (10_000, 20_000) if quick else (1_000_000, 10_000_000)
    runs = 2 if quick else 3
    plans = [
        Plan("log", sizes, NAMES, runs, mixed=False),
        Plan("log", sizes[1:], NAMES, runs),
    ]
    rows, tables = all_of(bench, plans)
    return Result("small_change_log", TITLE, ABOUT, rows, tables), {"rows": sizes, "runs": runs}
