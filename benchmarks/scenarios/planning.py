"""What it takes to understand a query: from its text to the statements' parts, without Spark."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.engine import Bench
from benchmarks.report import Result, Row, Table
from dbt_trickle.apply.top import top_of
from dbt_trickle.capture.base import Window
from dbt_trickle.capture.feed import Feed
from dbt_trickle.delta import rules
from dbt_trickle.delta.context import Context, Source, read_columns
from dbt_trickle.formats.delta import at_version
from dbt_trickle.names import Relation
from dbt_trickle.tree import guard
from dbt_trickle.tree.algebra import Project
from dbt_trickle.tree.build import Schema, Unsupported, build
from dbt_trickle.tree.identity import with_keys

TITLE = "Planning"
ABOUT = """
Each query of the corpus (`tests/corpus`, but TPC-H's, whose schemas are Spark's to tell) is parsed, made a tree, and
written again for Spark to compare; then its delta is worked out with all of its sources moved. So much is done in
Python for a refresh; Spark is not asked anything. *Beside C*: an append commit in the same run.
"""
TARGET = 200.0
TIMES = 3


def measure(bench: Bench, quick: bool) -> tuple[Result, dict[str, Any]]:
    texts, schemas = corpus()
    if quick:
        texts = dict(list(texts.items())[:20])
    taken: dict[str, float] = {}
    for name, text in texts.items():
        try:
            taken[name] = 1000 * min(_planned(text, schemas) for _ in range(TIMES))
        except Unsupported:
            continue
    bench.append(5)
    slowest = sorted(taken, key=lambda name: -taken[name])[:5]
    rows = (
        Row(f"the slowest of {len(taken)}", taken[slowest[0]], "ms", TARGET),
        Row("the median", median(taken.values()), "ms", TARGET),
        Row("the slowest, beside C", taken[slowest[0]] / 1000 / bench.c, "C"),
    )
    table = Table("The slowest", ("ms", "query"), tuple((f"{taken[n]:.1f}", texts[n][:160]) for n in slowest))
    return Result("planning", TITLE, ABOUT, rows, (table,)), {"queries": len(taken)}


def corpus() -> tuple[dict[str, str], dict[str, Schema]]:
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "corpus"))
    import queries  # type: ignore[import-not-found]

    found = {name: " ".join(text.split()) for name, text in queries.of_small_tables().items()}
    named = {name: name for name in queries.SCHEMAS}
    keys = {name: Schema(f"corpus.{name}", schema.columns) for name, schema in queries.SCHEMAS.items()}
    return {name: text.format(**named) for name, text in found.items()}, keys


def _planned(text: str, schemas: dict[str, Schema]) -> float:
    started = perf_counter()
    built = build(text, schemas)
    tree = with_keys(built.tree)
    guard.candidates(built.tree, {schema.key: schema.key for schema in schemas.values()})
    _delta(tree, schemas)
    return perf_counter() - started


def _delta(tree: Project, schemas: dict[str, Schema]) -> None:
    moved = {}
    for schema in schemas.values():
        relation = Relation.parse(schema.key)
        changes = Feed().changes(Window(relation, 1, 2, read_columns(tree, schema.key)))
        moved[schema.key] = Source(at_version(relation.sql, 1), at_version(relation.sql, 2), changes, rows=1)
    if top_of(tree) is None:  # first rows are brought forward from what is stored
        rules.delta(tree, Context(moved))
