"""Memory of the Python process while it refreshes, and how many rows it is given; then the same of a whole dbt."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.engine import Bench, Run
from benchmarks.measure import peak_memory
from benchmarks.report import Result, Row
from benchmarks.scenarios.small_change import QUERIES, Plan, change, source

TITLE = "Memory of the Python process"
ABOUT = """
The most that the Python process had resident during each invocation: with dbt's adapter, PySpark and the engine
loaded, without the JVM. No row of a source or of a stream table is fetched: *rows* are those of the catalog, of
histories and of descriptions. *A whole dbt run* is a process of its own, with a Spark of its own: dbt as a user starts
it, a table model of a million rows, and twenty stream tables over it, which it builds one after the other.
"""
TARGET = 300.0
MODELS = 20
PROFILE = """
bench:
  target: dev
  outputs:
    dev: {type: trickle, method: session, schema: bench, threads: 1, home: "{root}/home"}
"""
PROJECT = "{name: bench, profile: bench, version: '1.0', flags: {send_anonymous_usage_stats: false}}"
FACTS = "{{ config(materialized='table') }} select id, id % 1000 as grp, id * 7919 % 1009 as amount from range({rows})"
SUMS = """
{{ config(materialized='stream_table') }}
select grp, sum(amount) as total from {{ ref('facts') }} where id % {n} > 0 group by grp
"""
CHILD = """
import sys
from dbt.cli.main import dbtRunner
done = dbtRunner().invoke(["--quiet", "run", "--project-dir", sys.argv[1], "--profiles-dir", sys.argv[1]])
from benchmarks.measure import peak_memory
print(peak_memory(), done.success)
"""


def _project(bench: Bench, rows: int) -> Path:
    root = bench.home / "project"
    (root / "models").mkdir(parents=True, exist_ok=True)
    (root / "profiles.yml").write_text(PROFILE.replace("{root}", str(root)), encoding="utf-8")
    (root / "dbt_project.yml").write_text(PROJECT, encoding="utf-8")
    (root / "models" / "facts.sql").write_text(FACTS.replace("{rows}", str(rows)), encoding="utf-8")
    for n in range(MODELS):
        (root / "models" / f"sums_{n}.sql").write_text(SUMS.replace("{n}", str(n + 2)), encoding="utf-8")
    return root


def _of_dbt(root: Path) -> int:
    asked = [sys.executable, "-c", CHILD, str(root)]
    done = subprocess.run(asked, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)  # noqa: S603
    told = done.stdout.split()[-2:]
    if done.returncode or told[1:] != ["True"]:
        raise AssertionError(f"dbt failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return int(told[0])


def measure(bench: Bench, quick: bool) -> tuple[Result, dict[str, Any]]:
    size = 10_000 if quick else 10_000_000
    engine = bench.engine("memory")
    table = source(bench, engine, size, Plan("feed", (size,), ("filter",), 1))
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
    for what in ("twenty stream tables created", "twenty stream tables after all rows were replaced"):
        found.append(Row(f"a whole dbt run: {what}", _of_dbt(_project(bench, size // 10)) / 1e6, "MB", TARGET))
    bench.append(5)
    return Result("memory", TITLE, ABOUT, tuple(found)), {"rows": size}
