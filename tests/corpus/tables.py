"""The corpus's tables, filled a little, and random changes to all of them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

INFO = "named_struct('size', {}, 'tag', {})".format
REGIONS = ("'a'", "'A'", "'b'", "'x'", "null")
NUMBERS = ("1", "2", "3", "4", "5", "9", "null")
# Of each column the values that it is given; `id` is where a change takes hold.
TABLES: Mapping[str, Mapping[str, tuple[str, Sequence[str]]]] = {
    "o": {
        "k": ("bigint", NUMBERS),
        "cid": ("bigint", ("1", "2", "3", "null")),
        "region": ("string", REGIONS),
        "amount": ("decimal(10,2)", ("10.50", "20.00", "null", "30.00", "-5.00", "0.00")),
        "at": (
            "timestamp",
            ("timestamp '2024-01-31 10:00:00'", "timestamp '2024-02-29 23:59:59'", "null"),
        ),
        "x": ("double", ("1.5D", "-0.0D", "0.0D", "double('nan')", "1e16D", "null")),
        "info": ("struct<size:int,tag:string>", (INFO(1, "'t'"), INFO(2, "null"), INFO("null", "'u'"), "null")),
        "tags": ("map<string,int>", ("map('a', 1)", "map('b', 2, 'c', 3)", "null")),
    },
    "c": {
        "cid": ("bigint", ("1", "1", "2", "3", "null")),
        "region": ("string", REGIONS),
        "name": ("string", ("'Ann'", "'Bob'", "'Cy'", "null")),
    },
    "d": {
        "`Größe in cm`": ("int", ("1", "2", "null")),
        "`x.y`": ("int", ("1", "2", "3", "null")),
        "`Order`": ("string", ("'p'", "'q'")),
        "`a``b`": ("string", ("'q'", "''")),
    },
    "r": {
        "a": ("int", ("1", "2", "0", "null")),
        "b": ("bigint", ("1", "2", "0", "null")),
        "c": ("string", ("'x'", "'y'", "null")),
        "d": ("decimal(10,2)", ("1.50", "-2.25", "null")),
    },
    "s": {
        "a": ("int", ("1", "2", "0", "null")),
        "b": ("bigint", ("1", "2", "0", "null")),
        "c": ("string", ("'x'", "'y'", "null")),
    },
    "t": {
        "c": ("string", ("'x'", "'y'", "null")),
        "a": ("bigint", ("1", "2", "0", "null")),
        "d": ("decimal(10,2)", ("1.50", "-2.25", "null")),
    },
}
# Delta stores a name with a space under another one.
PROPERTIES = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableChangeDataFeed' = 'true')"


def created(rng: random.Random, names: Mapping[str, str]) -> list[str]:
    """`names`: what each table is called in the warehouse."""
    statements = []
    for table, columns in TABLES.items():
        listed = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
        statements.append(f"CREATE TABLE {names[table]} ({listed}) USING delta {PROPERTIES}")
        statements.append(_insert(rng, table, names[table], 8))
    return statements


def changed(rng: random.Random, names: Mapping[str, str]) -> list[str]:
    """Something in every table: rows that come, go, and become others, in one commit or several."""
    return [text for table in TABLES for text in _change(rng, table, names[table])]


def _change(rng: random.Random, table: str, name: str) -> list[str]:
    kinds = rng.sample(["insert", "delete", "update", "nothing"], rng.randint(1, 2))
    found = []
    for kind in kinds:
        column, value = _one(rng, table)
        other, new = _one(rng, table)
        match kind:
            case "insert":
                found.append(_insert(rng, table, name, rng.randint(1, 3)))
            case "delete":
                found.append(f"DELETE FROM {name} WHERE {column} <=> {value}")
            case "update" if any("``" in each for each in TABLES[table]):
                # Delta 4.4 cannot UPDATE a table with such a column and a change feed.
                found += [f"DELETE FROM {name} WHERE {column} <=> {value}", _insert(rng, table, name, 1)]
            case "update":
                found.append(f"UPDATE {name} SET {other} = {new} WHERE {column} <=> {value}")
            case _:
                pass
    return found


def _one(rng: random.Random, table: str) -> tuple[str, str]:
    """A column that compares, and one of its values."""
    comparing = {name: values for name, (kind, values) in TABLES[table].items() if not kind.startswith("map")}
    name = rng.choice(sorted(comparing))
    return name, rng.choice(comparing[name])


def _insert(rng: random.Random, table: str, name: str, rows: int) -> str:
    values = (f"({', '.join(rng.choice(v) for _, v in TABLES[table].values())})" for _ in range(rows))
    return f"INSERT INTO {name} VALUES {', '.join(values)}"
