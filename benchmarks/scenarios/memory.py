"""Memory of the Python process while it refreshes, and how many rows it is given."""

from __future__ import annotations

from typing import Any

from benchmarks.engine import Bench, Run
from benchmarks.measure import peak_memory
from benchmarks.report import Result, Row
from benchmarks.scenarios.small_change import QUERIES, change, source

TITLE = "Memory of the Python process"
ABOUT = """
The most that the Python process had resident during each invocation: with dbt's adapter, PySpark and the engine
loaded, without the JVM. No row of a source or of a stream table is fetched: *rows* are those of the catalog, of
histories and of descriptions.
"""
TARGET = 300.0


def measure(bench: Bench, quick: bool) -> tuple[Result, dict[str, Any]]:
    size = 10_000 if quick else 10_000_000
    engine = bench.engine("memory")
    table = source(bench, engine, size, "feed")
    query = QUERIES["filter"][0].format(source=table)
    request = engine.request("filtered", query, cdc_mode="feed", refresh_mode="differential")
    found = []

    def during(what: str) -> None:
        peak_memory(anew=True)
        run: Run = engine.run(request)
        action = run.outcomes[0].refresh.action
        bench.tell(f"{what}: {run.seconds:.1f} s")
        found.append(Row(what, peak_memory() / 1e6, "MB", TARGET, work=run.work, note=action))

    during(f"a first load from {size:,} rows")
    bench.sql(*change(table, size, 0, True))
    during("100 changed rows")
    bench.sql(f"UPDATE {table} SET amount = amount + 1 WHERE id % 100 = 1")
    during(f"{size // 100:,} changed rows")
    during("no change")
    bench.append(5)
    return Result("memory", TITLE, ABOUT, tuple(found)), {"rows": size}
