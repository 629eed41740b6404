"""A hundred changed rows of a large source: what a refresh costs, against a full one, at two sizes of the source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from benchmarks.engine import Bench, Engine, Run
from benchmarks.report import Row, Table, phases, seconds, where_time_goes, work
from dbt_trickle.run.request import Request

TARGET, FLAT = 8.0, 1.2
QUERIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "filter": ("select id, grp, amount from {source} where amount >= 90000", ()),
    "filter with a key": ("select id, grp, amount from {source} where amount >= 90000", ("id",)),
    "sum and count": ("select grp, sum(amount) as total, count(*) as n from {source} group by grp", ()),
    "min and max": ("select grp, min(amount) as low, max(amount) as high from {source} group by grp", ()),
}
FILES = 16


@dataclass(frozen=True)
class Plan:
    """`names`: of QUERIES; `mixed`: rows are updated and deleted, too; `rivals`: how often they are run."""

    capture: str
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    rounds: int
    mixed: bool = True
    rivals: int = 1
    vectors: bool = False  # deletion vectors, of the source


@dataclass
class Measured:
    runs: dict[str, list[Run]] = field(default_factory=lambda: defaultdict(list))
    rivals: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))


def source(bench: Bench, engine: Engine, size: int, plan: Plan) -> str:
    name = f"{engine.schema}.facts"
    feed, vectors = ("true" if on else "false" for on in (plan.capture == "feed", plan.vectors))
    bench.sql(
        f"CREATE TABLE {name} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = '{feed}', "
        f"'delta.enableDeletionVectors' = '{vectors}') AS "
        f"SELECT id, id % {max(size // 10, 1)} AS grp, id % 7 AS kind, id * 7919 % 100003 AS amount, "
        f"concat('note ', id % 1000) AS note FROM range(0, {size}, 1, {FILES})"
    )
    return name


def change(table: str, size: int, number: int, mixed: bool) -> tuple[str, ...]:
    """A hundred rows, scattered over all files; 40 updates, 30 deletes and 30 inserts where mixed."""
    new = 30 if mixed else 100
    first = size + number * 1000
    insert = (
        f"INSERT INTO {table} SELECT id, id * 7919 % {max(size // 10, 1)}, 0, 100002 - id % 1000, 'new' "
        f"FROM range({first}, {first + new}, 1, 1)"
    )
    if not mixed:
        return (insert,)
    return (
        f"UPDATE {table} SET amount = 100003 - amount WHERE id < {size} AND id % {size // 40} = {number * 17 + 3}",
        f"DELETE FROM {table} WHERE id < {size} AND id % {size // 30} = {number * 17 + 5}",
        insert,
    )


def measured(bench: Bench, plan: Plan, size: int) -> Measured:
    name = f"{plan.capture}_{'mixed' if plan.mixed else 'appended'}_{'dv_' if plan.vectors else ''}{size}"
    engine = bench.engine(name)
    table = source(bench, engine, size, plan)
    requests = {
        each: engine.request(
            each.replace(" ", "_"),
            QUERIES[each][0].format(source=table),
            refresh_mode="differential",
            cdc_mode=plan.capture,
            primary_key=QUERIES[each][1],
        )
        for each in plan.names
    }
    for request in requests.values():
        engine.run(request)
    found = Measured()
    warm = 2 if size == plan.sizes[0] else 1  # by then Java has compiled most of it
    for number in range(warm + plan.rounds):
        bench.sql(*change(table, size, number, plan.mixed))
        bench.append()
        # Who comes first after a change reads the source's log for the others: each does so in turn.
        order = [*plan.names[number % len(plan.names) :], *plan.names[: number % len(plan.names)]]
        for each in order:
            run = engine.run(requests[each])
            if run.outcomes[0].refresh.action != "DIFFERENTIAL":
                raise AssertionError(f"{each} did {run.outcomes[0].refresh}")
            if number >= warm:
                found.runs[each].append(run)
        bench.tell(f"{name}: {number + 1} of {warm + plan.rounds}")
    for each in plan.names:
        found.rivals[each] = _rivals(bench, engine, requests[each], plan.rivals)
    return found


def _rivals(bench: Bench, engine: Engine, request: Request, times: int) -> dict[str, float]:
    """All rows anew: as `dbt run --full-refresh` of the stream table, and as the statement of dbt's table model."""
    full = replace(request, full_refresh=True)
    runs = [engine.run(full) for _ in range(times)]
    took = []
    for _ in range(times):
        began = perf_counter()
        bench.sql(f"CREATE OR REPLACE TABLE {engine.schema}.rival USING delta AS {request.query}")
        took.append(perf_counter() - began)
    return {"full refresh": min(run.seconds for run in runs), "dbt's table model": min(took)}


def rows(plan: Plan, by_size: Mapping[int, Measured], c: float) -> list[Row]:
    found = []
    how = _how(plan)
    for size, here in by_size.items():
        for each in plan.names:
            runs = here.runs[each]
            rivals = {name: took / c for name, took in here.rivals[each].items()}
            note = runs[-1].outcomes[0].refresh.reason.rpartition("changed; ")[2].split(".facts ")[-1]
            what = f"{each}, {told(size)} rows{how}"
            target = TARGET if size == max(by_size) else None
            found.append(Row(what, seconds(runs) / c, target=target, rivals=rivals, work=work(runs), note=note))
    small, large = min(by_size), max(by_size)
    for each in plan.names if small != large else ():
        grown = seconds(by_size[large].runs[each]) / seconds(by_size[small].runs[each])
        found.append(Row(f"{each}, {told(large)} against {told(small)}{how}", grown, "share", FLAT))
    return found


def tables(plan: Plan, by_size: Mapping[int, Measured], c: float) -> list[Table]:
    large = max(by_size)
    here = by_size[large]
    how = _how(plan)
    return [
        *(where_time_goes(f"{each}, {told(large)} rows{how}", here.runs[each], c) for each in plan.names),
        phases(f"Phases at {told(large)} rows{how}", here.runs, c),
    ]


def _how(plan: Plan) -> str:
    return ("" if plan.mixed else ", rows only added") + (", the source has deletion vectors" if plan.vectors else "")


def told(size: int) -> str:
    return f"{size // 1_000_000} M" if size >= 1_000_000 else f"{size // 1000} k"


def all_of(bench: Bench, plans: Sequence[Plan]) -> tuple[tuple[Row, ...], tuple[Table, ...]]:
    done = [(plan, {size: measured(bench, plan, size) for size in plan.sizes}) for plan in plans]
    found = [row for plan, by_size in done for row in rows(plan, by_size, bench.c)]
    return tuple(found), tuple(table for plan, by_size in done for table in tables(plan, by_size, bench.c))
