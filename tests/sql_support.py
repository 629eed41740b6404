"""What of SQL is maintained, as data: read for the tests, and written as docs/sql-support.md.

python tests/sql_support.py    writes the page
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import sql_functions
import yaml

from dbt_trickle.delta.aggregate.functions import rule
from dbt_trickle.tree import functions
from dbt_trickle.tree.build import Schema, Unsupported, build

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "functional" / "engine" / "sql_support.yml"
PAGE = ROOT / "docs" / "sql-support.md"
TABLES = {
    "o": (
        ("k", "bigint"), ("cid", "bigint"), ("region", "string"), ("amount", "decimal(10,2)"), ("at", "timestamp"),
        ("x", "double"), ("info", "struct<size:int,tag:string>"), ("tags", "map<string,int>"),
    ),
    "c": (("cid", "bigint"), ("region", "string"), ("name", "string")),
    "d": (("Größe in cm", "int"), ("x.y", "int"), ("Order", "string"), ("a`b", "string")),
}  # fmt: skip
HEADER = """# What is maintained

Written from `tests/functional/engine/sql_support.yml` by `make update-fixtures`; `make test` has built each
line's query, and compared Spark's plan of it with that of what was understood.

A query of these parts, in any combination, is refreshed by what changed in its sources. Anything else may be a stream
table as well: it is recomputed when a source has moved, with the reason in the third column (under
`refresh_mode: differential` it is the error TRK-203). `trickle explain MODEL` says it of a model.
"""
FUNCTIONS = """## Aggregates

Of exact numbers these are brought forward from what is kept with each group, without reading its other rows: {kept}.

While rows come to the sources and none go, so are these, of numbers, texts without a collation, dates, timestamps and
booleans, above filters, projections, inner and semi joins, `union all` and generators: {growing}. Once rows went,
and of all others, of sums of doubles, and of calls
with `distinct`, the groups in which something changed are computed anew. Without GROUP BY that is all rows: the
query is recomputed then.

Below another operator only those can stand that give the same value of the same rows in whatever order they come: those
above, and {same}.

At the top of a query these may stand as well. Spark itself may give another value of them where rows come in another
order, and so may a refresh: {by_order}.

Neither hypothetical-set aggregates (`rank(…) within group`) nor XMLAGG are in Spark. `grouping` and `grouping_id` come
with grouping sets.

## Functions

{scalars}.

Others are a reason for recomputing: those that are random, the present moment, or of the session (who, where, which
version), and those that only raise an error.

Of your own functions those may be called that are SQL and an expression (`create function lib.f(x int) returns int
return …`), by their schema and name: what they call must be in this list, in turn. A changed text is a reason to load
the stream table anew ([operations.md](operations.md#functions-of-your-own)). Where a function is marked NOT
DETERMINISTIC, or calls what is volatile, the query is volatile. Of functions in Java, Scala and Python, aggregates
among them, Spark tells nothing that could be compared, and of temporary ones and those with a query in them not what
they depend on: queries that call such ones are recomputed on every run. No aggregate can be written in SQL.
"""


@dataclass(frozen=True)
class Line:
    what: str
    sql: str
    why: str  # it is recomputed; empty where it is maintained


def load() -> dict[str, tuple[Line, ...]]:
    data = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    return {
        section["section"]: tuple(
            Line(each["what"], each["sql"].strip(), each.get("why", "")) for each in section["lines"]
        )
        for section in data
    }


def reason(line: Line) -> str:
    """Why it is recomputed, as the builder of trees has it."""
    sources = {f"__{name}": Schema(f"shop.{name}", columns) for name, columns in TABLES.items()}
    try:
        text = line.sql.format(**{name: f"__{name}" for name in TABLES}, lib="lib")
        build(text, sources, sql_functions.names("lib"))
    except Unsupported as problem:
        return re.sub(r" \(line \d+, column \d+\)$", "", problem.reason)
    return ""


def page() -> str:
    parts = [HEADER]
    for section, lines in load().items():
        rows = [f"| {each.what} | `{_plain(each.sql)}` | {each.why or 'maintained'} |" for each in lines]
        parts.append("\n".join([f"## {section}\n", "| construct | for example | |", "|---|---|---|", *rows]) + "\n")
    kept = [name for name in functions.AGGREGATES if rule(name, "bigint", "bigint") is not None]
    growing = [name for name in functions.AGGREGATES if name not in kept and rule(name, "int", "int", grows=True)]
    same = sorted(functions.SAME_AGAIN - set(kept) - set(growing))
    texts = {
        "kept": kept,
        "growing": growing,
        "same": same,
        "by_order": sorted(functions.BY_ORDER),
        "scalars": sorted(functions.SCALARS),
    }
    told = {name: ", ".join(f"`{each}`" for each in names) for name, names in texts.items()}
    wrapped = [fill(each, 120, break_on_hyphens=False) if not each.startswith("#") else each
               for each in FUNCTIONS.format(**told).split("\n\n")]  # fmt: skip
    return "\n".join([*parts, "\n\n".join(wrapped)]) + "\n"


def _plain(sql: str) -> str:
    names = {name: name for name in (*TABLES, "lib")}
    return " ".join(sql.format(**names).split()).replace("|", "\\|").replace("`", "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
