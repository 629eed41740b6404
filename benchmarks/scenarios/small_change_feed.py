"""A hundred rows that changed, captured by the source's change feed."""

from __future__ import annotations

from typing import Any

from benchmarks.engine import Bench
from benchmarks.report import Result
from benchmarks.scenarios.small_change import QUERIES, Plan, all_of

TITLE = "100 rows of a large source changed, captured by its change feed"
ABOUT = """
40 rows are updated, 30 deleted and 30 inserted, by three commits, scattered over all files of the source. Then each
stream table is refreshed by an invocation of its own; the figure is the median from its opening to its close. The
groups are a tenth as many as the source's rows. Where the source has deletion vectors, Delta does not write down the
rows that a DELETE takes; who reads the feed looks for them in all files that have lost one.
"""
NAMES = ("filter", "sum and count")


def measure(bench: Bench, quick: bool) -> tuple[Result, dict[str, Any]]:
    sizes = (10_000, 20_000) if quick else (1_000_000, 10_000_000)
    runs = 2 if quick else 3
    plans = [Plan("feed", sizes, tuple(QUERIES), runs), Plan("feed", sizes[1:], NAMES, runs, vectors=True)]
    rows, tables = all_of(bench, plans)
    return Result("small_change_feed", TITLE, ABOUT, rows, tables), {"rows": sizes, "runs": runs}
