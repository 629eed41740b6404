"""Tables with versions and change feeds, in DuckDB: a lake of a few rows, filled anew for each example."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from spark_in_duckdb import Duck, Row, version

from dbt_trickle.names import Relation
from dbt_trickle.tree.build import Schema

INT, DEC, TEXT, REAL = "int", "dec", "text", "real"
# Without keys, with NULLs and copies; names and types that two tables share, and one that differs.
TABLES: Mapping[str, Mapping[str, str]] = {
    "r": {"a": "int", "b": "bigint", "c": "string", "d": "decimal(10,2)"},
    "s": {"a": "int", "b": "bigint", "c": "string"},
    "t": {"c": "string", "a": "bigint", "d": "decimal(10,2)"},
}
KINDS = {"int": INT, "bigint": INT, "string": TEXT, "decimal(10,2)": DEC}
VALUES: Mapping[str, tuple[object, ...]] = {
    INT: (1, None, 2, 0),
    TEXT: ("x", None, "y"),
    DEC: (Decimal("1.50"), None, Decimal("-2.25")),
}
SCHEMAS = {name: Schema(f"lake.{name}", tuple(columns.items())) for name, columns in TABLES.items()}
STORAGE = Relation.of("lake", "kept")
MOST_WINDOWS = 5
# Every source has an alias: so it is told from whatever else is called r.
_SOURCE = re.compile(rf"\b({'|'.join(TABLES)}) AS ")
_COLUMNS = {"a": "BIGINT", "b": "BIGINT", "c": "VARCHAR", "d": "DECIMAL(10,2)"}  # of all tables together


@dataclass(frozen=True)
class Change:
    """One commit of one table: its rows as the change feed has them."""

    table: str
    gone: tuple[Row, ...]
    came: tuple[Row, ...]

    @property
    def kinds(self) -> tuple[str, str]:
        both = self.gone and self.came
        return ("update_preimage", "update_postimage") if both else ("delete", "insert")


@dataclass(frozen=True)
class History:
    """What there is at first, and what becomes of it from one refresh to the next: a version for each."""

    start: Mapping[str, tuple[Row, ...]]
    windows: tuple[tuple[Change, ...], ...]

    def in_windows(self, most: int) -> History:
        """The same changes, refreshed after each so many of them."""
        changes = [change for window in self.windows for change in window]
        windows = tuple(tuple(changes[i : i + most]) for i in range(0, len(changes), most))
        return History(self.start, windows)

    def versions(self, table: str) -> list[list[Row]]:
        found = [list(self.start.get(table, ()))]
        for window in self.windows:
            now = list(found[-1])
            for change in window:
                if change.table == table:
                    for row in change.gone:
                        now.remove(row)
                    now += change.came
            found.append(now)
        return found

    def __str__(self) -> str:
        lines = [f"  {name}: {list(rows)}" for name, rows in self.start.items()]
        for number, window in enumerate(self.windows):
            lines += [f"  {number}→{number + 1}: {c.table} −{list(c.gone)} +{list(c.came)}" for c in window]
        return "\n".join(lines)


def at(text: str, number: int) -> str:
    """A user's query over the sources as they were: by his text, and nothing that the product made of it."""
    return _SOURCE.sub(lambda found: f"{found[1]} VERSION AS OF {number} AS ", text)


def sources_of(text: str) -> tuple[str, ...]:
    """The tables in the order in which they are read."""
    return tuple(dict.fromkeys(_SOURCE.findall(text)))


class Lake:
    def __init__(self) -> None:
        self.duck = Duck()
        columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
        marks = "_table VARCHAR, _version INT, _kind VARCHAR"
        self._rows = f"STRUCT({marks}, {columns})[]"
        self.duck.run(f"CREATE TABLE written ({marks}, {columns})")
        for name in TABLES:
            shown = ", ".join(f"CAST({c} AS {k.replace('string', 'varchar')}) AS {c}" for c, k in TABLES[name].items())
            feed = f"SELECT {shown}, _kind AS _change_type, _version AS _commit_version FROM written"
            self.duck.run(f"CREATE VIEW {name}_feed AS {feed} WHERE _table = '{name}' AND _kind <> ''")
            for number in range(MOST_WINDOWS + 1):
                this = f"_table = '{name}' AND _version = {number} AND _kind = ''"
                self.duck.run(f"CREATE VIEW {version(name, number)} AS SELECT {shown} FROM written WHERE {this}")

    def fill(self, history: History) -> None:
        """Rows of versions, and rows of changes, which have a kind: in one table, as each statement takes its time."""
        found = [
            self._row(table, number, "", row)
            for table in TABLES
            for number, rows in enumerate(history.versions(table))
            for row in rows
        ]
        found += [
            self._row(change.table, number, kind, row)
            for number, window in enumerate(history.windows, start=1)
            for change in window
            for kind, rows in zip(change.kinds, (change.gone, change.came), strict=True)
            for row in rows
        ]
        self.duck.run("TRUNCATE written")
        if found:
            self.duck.run(f"INSERT INTO written SELECT unnest(?::{self._rows}, recursive := true)", [found])

    def _row(self, table: str, number: int, kind: str, row: Row) -> dict[str, object]:
        marks = {"_table": table, "_version": number, "_kind": kind, **dict.fromkeys(_COLUMNS)}
        return {**marks, **dict(zip(TABLES[table], row, strict=True))}
