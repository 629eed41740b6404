"""Stream tables over stream tables: what a hop costs, those that nothing reached, and a full refresh that is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.engine import Bench, Engine, Run
from benchmarks.report import Result, Row, phases, seconds, where_time_goes, work
from dbt_trickle.run.request import Request

HOP, UNAFFECTED, READ = 7.0, 0.5, 2.0
TITLE = "Stream tables over stream tables"
ABOUT = """
*A hop*: ten stream tables, each over the one before, over 100 k rows of which a hundred change; everything from the
opening of the invocation to its close, divided by ten. *Unaffected*: twenty stream tables over each of three sources;
one source changes. The run of all sixty, less a run of only the twenty that are reached, divided by the forty others.
*A full refresh that is read*: the same stream table with and without another one that reads it, after a hundred changed
rows; what is read writes only the rows that differ.
"""
LENGTH, SOURCES, WIDTH = 10, 3, 20
LINK = "select id, grp, amount + 1 as amount from {up} where amount >= 0"
LEAF = "select grp, sum(amount) as total, count(*) as n from {up} where kind <> {n} group by grp"
READ_TEXT = "select id % {groups} as part, max(amount) as most, count(*) as n from {up} group by id % {groups}"


def measure(bench: Bench, quick: bool) -> tuple[Result, dict[str, Any]]:
    size, rounds, width = (1000, 1, 2) if quick else (100_000, 5, WIDTH)
    hops = _chain(bench, size, rounds)
    all_, reached = _wide(bench, size, rounds, width)
    alone, read = _full(bench, size, rounds)
    c, others = bench.c, (SOURCES - 1) * width
    spared = (seconds(all_) - seconds(reached)) / c / others
    rows = (
        Row("a hop of ten", seconds(hops) / c / LENGTH, target=HOP, work=work(hops), note="work of all ten"),
        Row(f"unaffected, of {SOURCES * width}", spared, target=UNAFFECTED, work=work(all_), note="work of all"),
        Row("a full refresh that nobody reads", seconds(alone) / c, work=work(alone)),
        Row("a full refresh that is read", seconds(read) / c, work=work(read)),
        Row("read against not read", seconds(read) / seconds(alone), "share", READ),
    )
    tables = (
        where_time_goes("A chain of ten, statement by statement", hops, c),
        where_time_goes("A full refresh that is read", read, c),
        phases("Phases", {"the first of the chain": hops, "full, read": read}, c),
    )
    return Result("chain", TITLE, ABOUT, rows, tables), {"rows": size, "runs": rounds}


def _source(bench: Bench, engine: Engine, name: str, size: int) -> str:
    table = f"{engine.schema}.{name}"
    bench.sql(
        f"CREATE TABLE {table} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') AS "
        f"SELECT id, id % 1000 AS grp, id % 7 AS kind, id * 7919 % 1000 AS amount FROM range(0, {size}, 1, 4)"
    )
    return table


def _change(bench: Bench, table: str, number: int) -> None:
    """A hundred rows."""
    bench.sql(f"UPDATE {table} SET amount = amount + 1 WHERE id % 1000 = {number * 7 + 3} AND id < 100000")
    bench.append()


def _require(run: Run, action: str) -> Run:
    done = {outcome.refresh.action for outcome in run.outcomes}
    if done != {action}:
        raise AssertionError(f"{action} was to be measured, and it did {done}")
    return run


def _chain(bench: Bench, size: int, rounds: int) -> list[Run]:
    engine = bench.engine("chain")
    table = _source(bench, engine, "first", size)
    requests: list[Request] = []
    for number in range(LENGTH):
        above = requests[-1].public.sql if requests else table
        text = LINK.format(up=above)
        requests.append(engine.request(f"link_{number}", text, refresh_mode="differential"))
    engine.run(*requests)
    found = []
    for number in range(1 + rounds):
        _change(bench, table, number)
        found.append(_require(engine.run(*requests), "DIFFERENTIAL"))
        bench.tell(f"chain: {found[-1].seconds:.1f} s")
    return found[1:]


def _wide(bench: Bench, size: int, rounds: int, width: int) -> tuple[list[Run], list[Run]]:
    engine = bench.engine("wide")
    tables = [_source(bench, engine, f"source_{number}", size) for number in range(SOURCES)]
    requests = [
        engine.request(f"leaf_{i}_{n}", LEAF.format(up=table, n=n), refresh_mode="differential")
        for i, table in enumerate(tables)
        for n in range(width)
    ]
    engine.run(*requests)
    reached = requests[:width]
    of_all: list[Run] = []
    of_reached: list[Run] = []
    for number in range(1 + rounds):
        for selected, found in ((requests, of_all), (reached, of_reached)):
            _change(bench, tables[0], 2 * number + (selected is reached))
            found.append(engine.run(*selected))
            done = [outcome.refresh.action for outcome in found[-1].outcomes]
            if done.count("DIFFERENTIAL") != width or len(done) - done.count("NO_DATA") != width:
                raise AssertionError(f"{width} were to be refreshed, and it did {done}")
            bench.tell(f"wide, {len(selected)}: {found[-1].seconds:.1f} s")
    return of_all[1:], of_reached[1:]


def _full(bench: Bench, size: int, rounds: int) -> tuple[list[Run], list[Run]]:
    engine = bench.engine("full")
    table = _source(bench, engine, "facts", size)
    query = READ_TEXT.format(up=table, groups=max(size // 10, 1))
    alone, read = (engine.request(name, query) for name in ("alone", "read"))
    below = engine.request("below", f"select count(*) as n from {read.public.sql}")
    engine.run(alone, read, below)
    found: tuple[list[Run], list[Run]] = ([], [])
    for number in range(1 + rounds):
        _change(bench, table, number)
        for request, runs in zip((alone, read), found, strict=True):
            runs.append(_require(engine.run(replace(request, full_refresh=True)), "FULL"))
        bench.tell(f"full: {found[0][-1].seconds:.1f} s, read {found[1][-1].seconds:.1f} s")
    return found[0][1:], found[1][1:]
