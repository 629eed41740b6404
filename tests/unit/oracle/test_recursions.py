"""Recursions that nothing bounds but their data: a refresh ends where the query does, whatever circles there are."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Timer
from typing import Any

import duckdb
import pytest
from checked import TIMES, check
from kept import Case
from lake import Change, History, Lake
from spark_in_duckdb import Row

from dbt_trickle.delta import recursion

# Of r the edges, of s where to begin, of t the places that are open (or not).
_EDGE = "SELECT CAST(x2.b AS BIGINT) FROM w AS w1 JOIN r AS x2 ON x2.a = w1.a"
STEPS = {
    "edges": _EDGE,
    "open": f"{_EDGE} JOIN t AS x3 ON x3.a = x2.b",
    "not closed": f"{_EDGE} WHERE NOT EXISTS (SELECT 1 FROM t AS x3 WHERE x3.a = x2.b)",
}
GRAPHS = 60 * TIMES
PLACES, MOST_ROWS = 6, 2000
# So that one that does not end fails.
SECONDS = 20.0


def query(step: str) -> str:
    base = "SELECT CAST(x1.a AS BIGINT) AS a FROM s AS x1"
    return f"WITH RECURSIVE w AS ({base} UNION ALL {STEPS[step]}) SELECT a FROM w"


@contextmanager
def within(lake: Lake, seconds: float) -> Iterator[None]:
    watch = Timer(seconds, lake.duck.interrupt)
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def case(step: str, start: dict[str, list[Row]], now: dict[str, list[Row]], feed: bool) -> Case:
    """All that is otherwise, in one refresh: what went and what came."""
    changes = []
    for table in start:
        gone, came = Counter(start[table]) - Counter(now[table]), Counter(now[table]) - Counter(start[table])
        changes += [Change(table, tuple(gone.elements()), ())] * bool(gone)
        changes += [Change(table, (), tuple(came.elements()))] * bool(came)
    history = History({table: tuple(rows) for table, rows in start.items()}, (tuple(changes),))
    return Case(query(step), tuple(start), (history,), (), feed)


def ends(step: str, tables: dict[str, list[Row]]) -> bool:
    """Of as many rows as fit a test."""
    places = Counter(row[1] for row in tables["t"])
    level, found = Counter(row[0] for row in tables["s"]), 0
    for _ in range(2 * PLACES):
        found += level.total()
        if not level or found > MOST_ROWS:
            break
        further: Counter[Any] = Counter()
        for begin, end, *_ in tables["r"]:
            times = {"edges": 1, "open": places[end], "not closed": int(not places[end])}[step]
            further[end] += level[begin] * times
        level = +further
    return not level


def drawn(rng: random.Random) -> dict[str, list[Row]]:
    def place() -> int:
        return rng.randint(1, PLACES)

    return {
        "r": [(place(), place(), None, None) for _ in range(rng.randint(1, 6))],
        "s": [(rng.randint(1, 2), None, None) for _ in range(rng.randint(1, 2))],
        "t": [(None, place(), None) for _ in range(rng.randint(0, 5))],
    }


def moved(rng: random.Random, tables: dict[str, list[Row]]) -> dict[str, list[Row]]:
    other = drawn(rng)
    return {name: [row for row in rows if rng.random() < 0.6] + other[name][:2] for name, rows in tables.items()}


@pytest.mark.parametrize("step", STEPS)
def test_it_ends_where_the_query_does(lake: Lake, step: str) -> None:
    rng, tried = random.Random(step), 0
    while tried < GRAPHS:
        start = drawn(rng)
        now = moved(rng, start)
        if start != now and ends(step, start) and ends(step, now):
            tried += 1
            with within(lake, SECONDS):
                check(lake, case(step, start, now, feed=bool(tried % 2)))


# 3 and 4 go round afterwards, and nothing leads there.
BEGIN: dict[str, list[Row]] = {"s": [(1, None, None)], "t": []}
BEFORE = {**BEGIN, "r": [(1, 2, None, None), (2, 3, None, None)]}
AFTER = {**BEGIN, "r": [(2, 3, None, None), (3, 4, None, None), (4, 3, None, None)]}


@pytest.mark.parametrize(("start", "now"), [(BEFORE, AFTER), (AFTER, BEFORE)], ids=["it came", "it went"])
def test_a_circle_that_nobody_comes_to(lake: Lake, start: dict[str, list[Row]], now: dict[str, list[Row]]) -> None:
    with within(lake, SECONDS):
        check(lake, case("edges", start, now, feed=True))


def test_what_went_would_go_round_among_the_new_edges(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is followed among those only that were there and are there."""
    was = recursion._two_ways

    def at_once(*arguments: Any) -> Any:
        ctes, less, more = was(*arguments)
        return ctes, replace(less, after=more.after), more

    monkeypatch.setattr(recursion, "_two_ways", at_once)
    with within(lake, 2.0), pytest.raises(duckdb.InterruptException):
        check(lake, case("edges", BEFORE, AFTER, feed=True))
