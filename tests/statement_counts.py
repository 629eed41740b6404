"""How many statements and commits each action takes: measured for the test, and written as a table of the docs.

python tests/statement_counts.py    measures on a Spark of its own, and writes both down
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import quick_spark
import yaml
from engine_world import embedded_sessions

from benchmarks.engine import Engine, Run
from benchmarks.measure import Recorder, label
from dbt_trickle.apply import whole
from dbt_trickle.catalog import store
from dbt_trickle.config import ProjectSettings
from dbt_trickle.run import leave, repair
from dbt_trickle.run.orphans import Scope
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "functional" / "engine" / "statement_counts.yml"
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- statements: make update-fixtures -->", "<!-- end of statements -->"
HEADER = """# Statements and commits of a run of one stream table (but where more are named), from its opening to its
# close. Written by `make update-fixtures`; docs/performance.md shows them.
"""
# `settings`: SET and RESET, which only the session sees.
COLUMNS = ("open", "refresh", "close", "statements", "settings", "commits")
FEED = "tblproperties ('delta.enableChangeDataFeed' = 'true')"
Counts = dict[str, dict[str, int]]


def engine(connect: Callable[[], Session], warehouse: Path) -> Engine:
    settings = ProjectSettings(catalog_schema="counted_catalog", change_schema="counted_changes")
    return Engine(Recorder(connect()), settings, warehouse, schema="counted")


def counted(by: Engine) -> Counts:
    """Every action once, in an order in which each finds what it needs."""
    at, session = by.schema, by.session.inner
    for statement in (
        f"create schema {at}",
        f"create table {at}.orders (id int, region string, amount bigint) {FEED}",
        *(f"create table {at}.{name} (id int, region string, amount bigint)" for name in ("added", "compared")),
        *(
            f"insert into {at}.{name} values (1, 'north', 10), (2, 'north', 5), (3, 'south', 7)"
            for name in ("orders", "added", "compared")
        ),
        f"insert into {at}.compared select id, 'many', 9 from range(10, 700)",
    ):
        session.execute(statement)
    made = {name: by.request(name, query.format(at=at), **config) for name, (query, config) in STREAM_TABLES.items()}
    others = [made[name] for name in made if name not in ("rows", "sums")]
    found: Counts = {}

    def note(case: str, *requests: Request, action: str, says: tuple[str, ...] = ()) -> None:
        run = by.run(*requests)
        for outcome in run.outcomes:
            told = outcome.refresh.action, outcome.refresh.reason
            if told[0] != action or not all(text in told[1] for text in says):
                raise AssertionError(f"{case}: {told}")
        found[case] = counts(run)

    note("the first of all: the catalog is created, too", made["rows"], action="FULL")
    note("create", made["sums"], action="FULL")
    by.run(*others)
    as_table = by.request("as_table", STREAM_TABLES["rows"][0].format(at=at), expose="table", **_DIFFERENTIAL)
    note("create, `expose: table`", as_table, action="FULL")
    note("no change", made["rows"], action="NO_DATA")
    note("no change of seven over three sources", *made.values(), action="NO_DATA")
    for statement in (
        f"insert into {at}.added values (4, 'east', 1)",
        *(f"delete from {at}.{name} where id = 1 or id >= 10" for name in ("orders", "compared")),
        *(f"update {at}.{name} set amount = 6 where id = 2" for name in ("orders", "compared")),
    ):
        session.execute(statement)
    for name, (capture, says) in DIFFERENTIAL.items():
        note(f"differential by {capture}: {says}", made[name], action="DIFFERENTIAL", says=(f" by {capture} (", says))
    shown = f"differential by feed, `expose: table`: {DIFFERENTIAL['rows'][1]}"
    note(shown, as_table, action="DIFFERENTIAL", says=(DIFFERENTIAL["rows"][1],))
    note("full", made["recomputed"], action="FULL")
    note("full, asked for (`--full-refresh`)", replace(made["rows"], full_refresh=True), action="FULL")
    changed = by.request("rows", STREAM_TABLES["rows"][0].format(at=at).replace("> 3", "> 4"))
    note("alter: the query changed", changed, action="ALTER")
    storage = by.run(made["keyed"]).outcomes[0].state
    if storage is None:
        raise AssertionError("a stream table without a state")
    session.execute(f"delete from {storage.storage.sql} where true")
    note("reinitialize: somebody else has written to its storage", made["keyed"], action="REINITIALIZE")
    for number in range(2):
        session.execute(f"insert into {at}.orders values ({number + 20}, 'west', 7)")
        if number == 0:
            by.run(made["sums"])  # from now on its log is to be compared
    note("differential, while a source changes over: by feed and by log, compared", made["sums"], action="DIFFERENTIAL")
    note("skip: suspended", by.request("sums", made["sums"].query, status="suspended"), action="SKIP")
    models = {each.unique_id: each.public for each in (*made.values(), as_table)}
    scope = Scope("counted", "", frozenset({at}), models, (as_table.public,))
    found["`trickle repair` where all is right"] = counts(by.command(lambda: repaired(by, scope)))
    found["`trickle drop`"] = counts(by.command(lambda: dropped(by, made["extremes"])))
    last = read_by_others(by, note, made["recomputed"])
    found["`trickle drop` of the only one that reads another"] = counts(by.command(lambda: dropped(by, last)))
    return found


def read_by_others(by: Engine, note: Callable[..., None], recomputed: Request) -> Request:
    """Stream tables on stream tables, in both ways of keeping changes; the only reader of the one with a feed."""
    at = by.schema
    reader = by.request("reads_recomputed", f"select id, amount from {at}.recomputed", **_DIFFERENTIAL)
    by.run(recomputed)
    note("create, the first one that reads another", reader, action="FULL")
    by.session.inner.execute(f"insert into {at}.orders values (29, 'west', 8)")
    note("full, of one that is read", recomputed, action="FULL", says=(whole.HOW,))
    note("differential by the feed of a stream table", reader, action="DIFFERENTIAL", says=(" by feed (",))
    staged = by.request("staged", STREAM_TABLES["rows"][0].format(at=at), change_buffer="table", **_DIFFERENTIAL)
    reads_staged = by.request("reads_staged", f"select id, amount from {at}.staged", **_DIFFERENTIAL)
    by.run(staged, reads_staged)
    by.session.inner.execute(f"insert into {at}.orders values (30, 'west', 8)")
    shown = "differential, of one that is read, with `change_buffer: table`"
    note(shown, staged, action="DIFFERENTIAL", says=("staged before",))
    note("differential by what a stream table has staged", reads_staged, action="DIFFERENTIAL", says=(" by staged (",))
    return reader


def dropped(by: Engine, request: Request) -> None:
    tables = store.parse(by.session.inner.query(store.read_query(by.settings.catalog_schema))).stream_tables
    leave.drop(by.session, by.settings, tables[request.pgt_id], list(tables.values()), cascade=False, reads={})


def repaired(by: Engine, scope: Scope) -> None:
    findings = repair.examine(by.session, by.settings, scope)
    if findings.rebuilt or findings.orphans:
        raise AssertionError(f"something was to be repaired: {findings}")
    repair.write(by.session, by.settings, findings)
    repair.remove(by.session, by.settings, findings)


_DIFFERENTIAL: dict[str, Any] = {"max_change_ratio": 1.0}  # of three rows, one is many
STREAM_TABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "rows": ("select id, amount from {at}.orders where amount > 3", _DIFFERENTIAL),
    "keyed": ("select id, amount from {at}.orders where amount > 3", {"primary_key": ("id",), **_DIFFERENTIAL}),
    "sums": ("select region, sum(amount) as total, count(*) as n from {at}.orders group by region", _DIFFERENTIAL),
    "extremes": ("select region, min(amount) as low, count(*) as n from {at}.orders group by region", _DIFFERENTIAL),
    "appended": ("select id, amount from {at}.added where amount > 0", _DIFFERENTIAL),
    "difference": ("select id, amount from {at}.compared where amount > 3", {"primary_key": ("id",), **_DIFFERENTIAL}),
    "recomputed": ("select id, amount from {at}.orders where amount > 3", {"refresh_mode": "full"}),
}
# How it is captured, and what its history says of how it was done.
DIFFERENTIAL = {
    "rows": ("feed", "few rows replaced by what they hold"),
    "keyed": ("feed", "rows of few keys replaced"),
    "sums": ("feed", "few groups brought forward from their stored state"),
    "extremes": ("feed", "few touched groups computed anew"),
    "appended": ("log", "rows appended"),
    "difference": ("difference", "rows merged by their key"),
}


def counts(run: Run) -> dict[str, int]:
    parts = {name: sum(len(part.statements) for part in run.parts if part.name == name) for name in COLUMNS[:3]}
    settings = sum(each.sql.startswith(("SET ", "RESET ")) for _, each in run.statements)
    return {**parts, "statements": len(run.statements), "settings": settings, "commits": run.commits}


def load() -> Counts:
    return yaml.safe_load(DATA.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def table(found: Counts) -> str:
    lines = [("", *COLUMNS), ("---",) * (1 + len(COLUMNS))]
    lines += [(case, *(str(row[name]) for name in COLUMNS)) for case, row in found.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(text: str, found: Counts) -> str:
    """The page with its table."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table(found)}\n{END}{rest.partition(END)[2]}"


def told(by: Engine) -> str:
    """What was asked, a line each: for whoever wants to know what a count is made of."""
    return "\n".join(label(each.sql, 110) for each in by.session.statements)


def update() -> None:
    with tempfile.TemporaryDirectory() as home:
        parameters = {"spark.sql.catalogImplementation": "in-memory", **quick_spark.SETTINGS}
        connect = embedded_sessions({"method": "session", "home": home, "server_side_parameters": parameters})
        found = counted(engine(connect, Path(home) / "warehouse"))
    text = yaml.safe_dump(found, sort_keys=False, width=200, default_flow_style=None)
    DATA.write_text(HEADER + text, encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    update()
