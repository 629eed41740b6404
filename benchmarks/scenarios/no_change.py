"""A run in which no source moved: what it costs to look at twenty stream tables over three sources."""

from __future__ import annotations

import os
from statistics import median
from time import perf_counter
from typing import Any

from dbt.cli.main import dbtRunner

from benchmarks.engine import Bench
from benchmarks.report import Result, Row, phases, seconds, where_time_goes, work

TARGET = 0.5
TITLE = "No source moved"
ABOUT = """
Twenty stream tables over three sources, none of which has changed since their last refresh. The figure is everything
from the opening of the invocation to its close, divided by the number of stream tables. Below it a real `dbt run` of
twenty like models in the same process, with dbt's parsing, its cache and its threads.
"""
QUERIES = (
    "select id, amount from {source} where amount > {n}",
    "select grp, count(*) as n, sum(amount) as total from {source} where kind <> {n} group by grp",
    "select grp, min(amount) as low, max(amount) as high from {source} where kind <> {n} group by grp",
)
SOURCES = ("first", "second", "third")


def measure(bench: Bench, quick: bool) -> tuple[Result, dict[str, Any]]:
    count, rows, rounds = (3, 1000, 2) if quick else (20, 100_000, 7)
    engine = bench.engine("no_change")
    for name in SOURCES:
        bench.sql(
            f"CREATE TABLE {engine.schema}.{name} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') AS "
            f"SELECT id, id % 100 AS grp, id % 7 AS kind, id * 7919 % 1000 AS amount FROM range({rows})"
        )
    queries = [QUERIES[n % 3].format(source=f"{engine.schema}.{SOURCES[n % 3]}", n=n) for n in range(count)]
    requests = [engine.request(f"st_{n:02}", query) for n, query in enumerate(queries)]
    engine.run(*requests)
    runs = []
    for number in range(2 + rounds):
        run = engine.run(*requests)
        actions = {outcome.refresh.action for outcome in run.outcomes}
        if actions != {"NO_DATA"}:
            raise AssertionError(f"nothing had changed, and it did {actions}")
        bench.append()
        bench.tell(f"no change: {run.seconds:.1f} s")
        if number >= 2:
            runs.append(run)
    by_dbt = _dbt(bench, engine.schema, queries, rounds)
    c, done = bench.c, work(runs)
    rows_ = (
        Row("the engine, per stream table", seconds(runs) / c / count, target=TARGET, work=done, note="work of all"),
        Row("the engine, all of them", seconds(runs) / c, work=done),
        Row("`dbt run`, per stream table", by_dbt / c / count, note="for information: dbt's own work is in it"),
    )
    tables = (where_time_goes("Statement by statement", runs, c), phases("Phases of one of them", {"first": runs}, c))
    return Result("no_change", TITLE, ABOUT, rows_, tables), {"stream_tables": count, "rows": rows, "runs": rounds}


def _dbt(bench: Bench, schema: str, queries: list[str], rounds: int) -> float:
    """The same models as a dbt project, from its second run on."""
    project = bench.home / "project"
    (project / "models").mkdir(parents=True)
    for number, query in enumerate(queries):
        for name in SOURCES:
            query = query.replace(f"{schema}.{name}", f"{{{{ source('bench', '{name}') }}}}")
        text = f"{{{{ config(materialized='stream_table') }}}}\n{query}\n"
        (project / "models" / f"st_{number:02}.sql").write_text(text, encoding="utf-8")
    tables = "".join(f"      - name: {name}\n" for name in SOURCES)
    sources = f"sources:\n  - name: bench\n    schema: {schema}\n    tables:\n{tables}"
    (project / "models" / "sources.yml").write_text(sources, encoding="utf-8")
    (project / "dbt_project.yml").write_text("name: bench\nprofile: bench\n", encoding="utf-8")
    target = f"{{type: trickle, method: session, schema: bench_dbt, threads: 4, home: '{bench.home}'}}"
    profile = f"bench:\n  target: bench\n  outputs:\n    bench: {target}\n"
    (project / "profiles.yml").write_text(profile, encoding="utf-8")
    os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
    took = []
    for number in range(2 + min(rounds, 3)):
        began = perf_counter()
        arguments = ["--quiet", "run", "--project-dir", str(project), "--profiles-dir", str(project)]
        answer = dbtRunner().invoke(arguments)
        if not answer.success:
            raise AssertionError(f"dbt run failed: {answer.exception or answer.result}")
        bench.tell(f"dbt run: {perf_counter() - began:.1f} s")
        if number >= 2:
            took.append(perf_counter() - began)
    return median(took)
