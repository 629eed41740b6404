"""One column of a hundred is updated: bytes that are captured and read, by how many columns the query uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.engine import Bench
from benchmarks.measure import Work
from benchmarks.report import Result, Row, seconds, size, work

TITLE = "One of 100 columns is updated"
ABOUT = """
A stream table that uses two of the columns, and one that uses all, of a source whose update changes one of the two;
then an update of a column that only the second one uses. *read* and *written* are bytes that Spark's process read and
wrote from the opening of the invocation to its close. What a change feed stores is the writer's doing: Delta writes
whole rows, as they were and as they are.
"""
COLUMNS = 100


def measure(bench: Bench, quick: bool) -> tuple[Result, dict[str, Any]]:
    rows, rounds = (2000, 2) if quick else (200_000, 5)
    found: list[Row] = []
    for capture in ("feed", "log"):
        found += _by(bench, capture, rows, rounds)
    return Result("wide_table", TITLE, ABOUT, tuple(found)), {"rows": rows, "columns": COLUMNS, "runs": rounds}


def _by(bench: Bench, capture: str, rows: int, rounds: int) -> list[Row]:
    engine = bench.engine(f"wide_{capture}")
    table = f"{engine.schema}.wide"
    columns = ", ".join(f"hash(id, {n}) AS c{n}" for n in range(1, COLUMNS))
    feed = "true" if capture == "feed" else "false"
    bench.sql(
        f"CREATE TABLE {table} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = '{feed}', "
        f"'delta.enableDeletionVectors' = 'true') AS SELECT id, {columns} FROM range(0, {rows}, 1, 4)"
    )
    requests = {
        "2 columns": engine.request("narrow", f"select id, c1 from {table}", primary_key=("id",), cdc_mode=capture),
        "all columns": engine.request("whole", f"select * from {table}", primary_key=("id",), cdc_mode=capture),
    }
    for request in requests.values():
        engine.run(request)
    writer, captured, found = Work(), [], []
    by_column: dict[tuple[str, str], list[Any]] = {}
    for number in range(1 + rounds):
        for changed in ("c1", "c2"):
            before = _bytes_of_changes(bench.warehouse)
            _, writer = bench.work_of(f"UPDATE {table} SET {changed} = {changed} + 1 WHERE id % 2000 = {number}")
            captured.append(_bytes_of_changes(bench.warehouse) - before)
            bench.append()
            for name, request in requests.items():
                run = engine.run(request)
                if number > 0:
                    by_column.setdefault((changed, name), []).append(run)
        bench.tell(f"{capture}: {number} of {rounds}")
    for (changed, name), runs in by_column.items():
        which = "a column that it uses" if changed == "c1" or name == "all columns" else "another column"
        note = f"{runs[-1].outcomes[0].refresh.action}; the update wrote {size(writer.written)}"
        note += f", {size(max(captured))} of them for the feed" if capture == "feed" else ""
        what = f"{capture}, {name}, {which} updated ({changed})"
        found.append(Row(what, seconds(runs) / bench.c, work=work(runs), note=note))
    narrow, whole = (work(by_column["c1", name]).read for name in requests)
    found.append(Row(f"{capture}: bytes read for 2 columns against all", narrow / max(whole, 1), "share"))
    return found


def _bytes_of_changes(warehouse: Path) -> int:
    return sum(entry.stat().st_size for entry in warehouse.glob("*/*/_change_data/*.parquet"))
