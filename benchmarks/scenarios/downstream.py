"""What a stream table that reads another one costs to bring up to date, against loading it anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.engine import Bench
from benchmarks.report import Result, Row, seconds, where_time_goes, work
from benchmarks.scenarios.small_change import told

TITLE = "A stream table over a stream table, against a full refresh of it"
ABOUT = """
The upper one holds all rows of its source, the lower one sums and counts of a thousand groups. So many rows of the
source are updated, scattered over its files; the upper one is refreshed, and the figure is a refresh of the lower one
alone, as a share of the same stream table's full refresh in the same run.
"""
SIZES = ((100_000, 100), (1_000_000, 1000), (10_000_000, 100))


def measure(bench: Bench, quick: bool) -> tuple[Result, dict[str, Any]]:
    sizes, rounds = (((10_000, 10),), 1) if quick else (SIZES, 3)
    rows, tables = [], []
    for size, changed in sizes:
        engine = bench.engine(f"downstream_{size}")
        source = f"{engine.schema}.facts"
        bench.sql(
            f"CREATE TABLE {source} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') AS "
            f"SELECT id, id % 1000 AS grp, id * 7919 % 100003 AS amount FROM range(0, {size}, 1, 16)"
        )
        upper = engine.request("upper", f"select id, grp, amount from {source}", refresh_mode="differential")
        text = f"select grp, sum(amount) as total, count(*) as n from {upper.public.sql} group by grp"
        lower = engine.request("lower", text, refresh_mode="differential")
        engine.run(upper, lower)
        runs, full = [], []
        for number in range(1 + rounds):
            bench.sql(f"UPDATE {source} SET amount = amount + 1 WHERE id % {size // changed} = {number * 17 + 3}")
            bench.append()
            engine.run(upper)
            runs.append(engine.run(lower))
            if runs[-1].outcomes[0].refresh.action != "DIFFERENTIAL":
                raise AssertionError(f"it did {runs[-1].outcomes[0].refresh}")
            bench.tell(f"downstream of {told(size)}: {runs[-1].seconds:.1f} s")
        full = [engine.run(replace(lower, full_refresh=True)) for _ in range(1 + rounds)]
        runs, full = runs[1:], full[1:]
        what = f"{changed} of {told(size)} rows changed"
        rivals = {"a refresh": seconds(runs) / bench.c, "full refresh": seconds(full) / bench.c}
        rows.append(Row(what, seconds(runs) / seconds(full), "share", rivals=rivals, work=work(runs)))
        tables.append(where_time_goes(what, runs, bench.c))
    return Result("downstream", TITLE, ABOUT, tuple(rows), tuple(tables)), {
        "rows": [s for s, _ in sizes],
        "runs": rounds,
    }
