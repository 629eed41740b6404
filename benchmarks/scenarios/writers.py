"""What a source's writers pay for its capture: rows a second, with the change feed, by the log, and with nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.engine import Bench
from benchmarks.report import Result, Row

TITLE = "What writers pay"
ABOUT = """
Rows a second of one writer and of eight at once, against those of a table that nobody captures. A table that is
captured by its log has a stream table over it, refreshed before. Updates are of partitions of the writers' own, or they
would wait for each other in any case. The three tables take turns, and the figure is the median of the rounds' ratios.
"""
KINDS = ("untracked", "log", "feed")
PARTITIONS, NOISE = 8, 0.95


def measure(bench: Bench, quick: bool) -> tuple[Result, dict[str, Any]]:
    rows, writes, rounds = (100, 8, 1) if quick else (20_000, 8, 7)
    engine = bench.engine("writers")
    names = {kind: f"{engine.schema}.by_{kind}" for kind in KINDS}
    for kind, name in names.items():
        feed = "true" if kind == "feed" else "false"
        bench.sql(
            f"CREATE TABLE {name} USING delta PARTITIONED BY (part) "
            f"TBLPROPERTIES ('delta.enableChangeDataFeed' = '{feed}') AS SELECT id, id * 31 AS v, "
            f"CAST(id % {PARTITIONS} AS INT) AS part FROM range({rows * PARTITIONS})"
        )
        if kind != "untracked":
            query = f"select part, sum(v) as total, count(*) as n from {name} group by part"
            engine.run(engine.request(f"over_{kind}", query, cdc_mode=kind))

    def append(name: str, number: int, writer: int) -> str:
        first = 10**9 + number * rows  # behind what is updated
        return f"INSERT INTO {name} SELECT id, id, {writer} FROM range({first}, {first + rows}, 1, 1)"

    def update(name: str, number: int, writer: int) -> str:
        return f"UPDATE {name} SET v = v + 1 WHERE part = {writer} AND id < {rows * PARTITIONS}"

    found = []
    for what, statement in (("append", append), ("update", update)):
        for writers in (1, 8):
            rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
            for number in range(1 + rounds):
                # Each goes first as often as the others.
                for at in range(len(KINDS)):
                    kind = KINDS[(at + number) % len(KINDS)]
                    rate = _rate(bench, names[kind], statement, writers, writes, rows)
                    if number > 0:
                        rates[kind].append(rate)
                bench.append(1)
                bench.tell(f"{what} by {writers}: {number} of {rounds}")
            for kind in ("log", "feed"):
                share = median(a / b for a, b in zip(rates[kind], rates["untracked"], strict=True))
                target = NOISE if kind == "log" else None
                who = "1 writer" if writers == 1 else f"{writers} writers"
                found.append(Row(f"{kind}: {what} by {who}", share, "share", target, at_least=True))
    sizes = {"rows_a_write": rows, "writes": writes, "runs": rounds}
    return Result("writers", TITLE, ABOUT, tuple(found)), sizes


def _rate(
    bench: Bench, table: str, statement: Callable[[str, int, int], str], writers: int, writes: int, rows: int
) -> float:
    """Rows a second of so many writes, shared among the writers."""
    sessions = [bench.spark.newSession() for _ in range(writers)]

    def write(writer: int) -> None:
        for number in range(writes // writers):
            # A writer that is alone goes through the partitions that eight would have shared.
            part = writer if writers > 1 else number % PARTITIONS
            sessions[writer].sql(statement(table, number, part))

    began = perf_counter()
    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    return writes * rows / (perf_counter() - began)
