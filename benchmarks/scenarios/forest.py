"""Five hundred stream tables, ten deep, of whose sources one changes."""

from __future__ import annotations

from typing import Any

from benchmarks.engine import Bench, Run
from benchmarks.report import Result, Row, phases, seconds, work
from benchmarks.scenarios.chain import LINK
from dbt_trickle.run.request import Request

UNAFFECTED = 0.5
TITLE = "Five hundred stream tables, one changed source"
ABOUT = """
Fifty chains of ten stream tables, each chain over a source of its own. One source changes, and all are run: ten are
refreshed, and the others looked at. *Unaffected*: the run of all, less a run of the ten alone after a like change,
divided by those that nothing reached. The catalog has all of them; so *the ten alone* shows what reading that costs.
"""
DEPTH = 10


def measure(bench: Bench, quick: bool) -> tuple[Result, dict[str, Any]]:
    chains, size, rounds = (2, 100, 1) if quick else (50, 1000, 3)
    engine = bench.engine("forest")
    sources, requests = [], list[Request]()
    for chain in range(chains):
        above = f"{engine.schema}.source_{chain}"
        sources.append(above)
        bench.sql(
            f"CREATE TABLE {above} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') AS "
            f"SELECT id, id % 10 AS grp, id * 7919 % 1000 AS amount FROM range({size})"
        )
        for link in range(DEPTH):
            requests.append(engine.request(f"st_{chain}_{link}", LINK.format(up=above), refresh_mode="differential"))
            above = requests[-1].public.sql
    for chain in range(chains):
        bench.tell(f"forest: {chain * DEPTH} of {len(requests)} created")
        engine.run(*requests[chain * DEPTH : (chain + 1) * DEPTH])
    of_all: list[Run] = []
    of_ten: list[Run] = []
    for number in range(1 + rounds):
        for selected, found in ((requests, of_all), (requests[:DEPTH], of_ten)):
            bench.sql(f"UPDATE {sources[0]} SET amount = amount + 1 WHERE id % 10 = {number}")
            bench.append()
            found.append(engine.run(*selected))
            done = [outcome.refresh.action for outcome in found[-1].outcomes]
            if done != ["DIFFERENTIAL"] * DEPTH + ["NO_DATA"] * (len(selected) - DEPTH):
                raise AssertionError(f"ten were to be refreshed, and it did {done}")
            bench.tell(f"forest, {len(selected)}: {found[-1].seconds:.1f} s")
    all_, ten, c = of_all[1:], of_ten[1:], bench.c
    others = len(requests) - DEPTH
    rows = (
        Row(
            f"unaffected, of {len(requests)}",
            (seconds(all_) - seconds(ten)) / c / others,
            target=UNAFFECTED,
            work=work(all_),
            note="work of all",
        ),
        Row("the ten alone, each", seconds(ten) / c / DEPTH, work=work(ten), note="work of the ten"),
    )
    shown = (phases("Phases of the first", {"of all": all_, "of ten": ten}, c),)
    return Result("forest", TITLE, ABOUT, rows, shown), {"rows": size, "runs": rounds}
