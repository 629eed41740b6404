"""A Delta table with a random history, and its rows at every version, as Python sees them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbt_trickle.capture.base import WEIGHT, Capture, Window
from dbt_trickle.names import Relation, literal, quote
from dbt_trickle.run.session import Session

Rows = Counter[tuple[Any, ...]]

COLUMNS = {
    "id": "int",
    "p": "string",
    "n": "decimal(12,3)",
    "t": "timestamp",
    "x": "double",
    "s": "string",
    "e": "struct<a:int,b:array<double>>",
    "unread": "string",
}
# Zeros of both signs, NaN, values that doubles cannot add; a partition's value that a path must escape.
DOUBLES = ("0D", "double('-0.0')", "double('NaN')", "double('Infinity')", "1e16D", "1.5D", "NULL")
PARTITIONS = ("'a'", "'b'", "'c d/é%'", "''", "NULL")
STRINGS = ("'x'", "''", r"'it\'s'", "' x'", "NULL")
DECIMALS = ("0", "1.5", "-999999999.999", "NULL")
# What the histories of a run do between them, however short they are.
ALWAYS = (
    *("do_merge", "do_update", "do_delete", "do_overwrite", "do_replace_where", "do_restore", "do_truncate"),
    *("do_insert_again", "do_turn_zeros"),
)
TIMES = ("timestamp'2020-02-29 12:00:00.123456'", "timestamp'1899-12-31 23:59:59'", "NULL")


def canonical(value: Any) -> Any:
    """As it is to be compared: NaN is itself, −0.0 is not 0.0, and all of it can be hashed."""
    match value:
        case float():
            return repr(value)
        case Mapping():
            return tuple((key, canonical(member)) for key, member in value.items())
        case list():
            return tuple(map(canonical, value))
        case _:
            return value


def rows_of(found: Any, columns: tuple[str, ...]) -> Rows:
    return Counter(tuple(canonical(row[name]) for name in columns) for row in found)


def weights_of(found: Any, columns: tuple[str, ...]) -> dict[tuple[Any, ...], int]:
    """The answer of a capture; one that tells a content twice, or of no change, is not net."""
    weights: dict[tuple[Any, ...], int] = {}
    for row in found:
        content = tuple(canonical(row[name]) for name in columns)
        assert content not in weights, content
        assert row[WEIGHT] != 0
        weights[content] = row[WEIGHT]
    return weights


def net(old: Rows, new: Rows) -> dict[tuple[Any, ...], int]:
    changes = Counter(new)
    changes.subtract(old)
    return {content: weight for content, weight in changes.items() if weight}


@dataclass
class History:
    session: Session
    relation: Relation
    random: random.Random
    partitioned: bool
    vectors: bool
    mapped: bool
    versions: list[Rows] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    added: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.relation.sql

    def create(self) -> None:
        columns = ", ".join(f"{name} {type_text}" for name, type_text in COLUMNS.items())
        by = " PARTITIONED BY (p)" if self.partitioned else ""
        mapping = ", delta.columnMapping.mode = 'name'" if self.mapped else ""
        self._commit(
            f"CREATE TABLE {self.name} ({columns}) USING delta{by} TBLPROPERTIES (delta.enableChangeDataFeed = true, "
            f"delta.enableDeletionVectors = {str(self.vectors).lower()}{mapping})",
            (),
        )

    def live(self, commits: int, first: Sequence[str]) -> None:
        """Until there are so many: a statement may turn out to commit nothing."""
        kinds = [name for name in dir(self) if name.startswith("do_")]
        waiting = self.random.sample(list(first), len(first))
        while len(self.versions) < commits:
            if not self.versions[-1]:
                kind = "do_insert"  # whatever else is done to an empty table, little can be seen of it
            elif waiting:
                kind = waiting.pop()
            else:
                kind = "do_insert" if self.random.random() < 0.4 else self.random.choice(kinds)
            statement, added = getattr(self, kind)(), self.added[-1]
            if isinstance(statement, tuple):
                statement, added = statement
            self._commit(statement, added)

    def _commit(self, statement: str, added: tuple[str, ...]) -> None:
        self.session.execute(statement)
        newest = self.session.query(f"DESCRIBE HISTORY {self.name} LIMIT 1")[0]["version"]
        if newest == len(self.versions) - 1:
            return
        assert newest == len(self.versions), statement
        found = self.session.query(f"SELECT * FROM {self.name} VERSION AS OF {newest}")
        self.versions.append(rows_of(found, tuple(COLUMNS)))
        self.statements.append(statement)
        self.added.append(added)

    def rows(self, version: int, columns: tuple[str, ...]) -> Rows:
        places = [list(COLUMNS).index(name) for name in columns]
        projected: Rows = Counter()
        for row, count in self.versions[version].items():
            projected[tuple(row[place] for place in places)] += count
        return projected

    def expected(self, window: Window) -> dict[tuple[Any, ...], int]:
        return net(self.rows(window.old, window.names), self.rows(window.new, window.names))

    def window(self, old: int, new: int, *names: str) -> Window:
        return Window(self.relation, old, new, tuple((n, COLUMNS[n]) for n in names or tuple(COLUMNS)))

    def _row(self, identity: str | None = None) -> str:
        pick = self.random.choice
        doubles = ", ".join(pick(DOUBLES) for _ in range(pick((0, 1, 2))))
        array = pick((f"CAST(array({doubles}) AS array<double>)", "CAST(NULL AS array<double>)"))
        struct = pick((f"named_struct('a', {pick(('1', 'CAST(NULL AS int)'))}, 'b', {array})", "NULL"))
        values = {
            "id": identity or pick(("1", "2", "3", "4", "5", "NULL")),
            "p": pick(PARTITIONS),
            "n": pick(DECIMALS),
            "t": pick(TIMES),
            "x": pick(DOUBLES),
            "s": pick(STRINGS),
            "e": struct,
            "unread": f"'{pick('abcdefgh')}'",
        }
        return "SELECT " + ", ".join(f"CAST({values[n]} AS {text}) AS {n}" for n, text in COLUMNS.items())

    def _some(self) -> str:
        """A query of one to four rows; one of them may be there twice."""
        rows = [self._row() for _ in range(self.random.randint(1, 3))]
        return " UNION ALL ".join([*rows, rows[0]] if self.random.random() < 0.5 else rows)

    def _all_columns(self, query: str) -> str:
        return f"SELECT *{''.join(f', CAST(NULL AS int) AS {name}' for name in self.added[-1])} FROM ({query})"

    def _condition(self) -> str:
        return self.random.choice(
            [f"id = {self.random.randint(1, 5)}", f"p <=> {self.random.choice(PARTITIONS)}", "x = 0", "s IS NULL"]
        )

    def do_insert(self) -> str:
        return f"INSERT INTO {self.name} ({', '.join(COLUMNS)}) {self._some()}"

    def do_insert_nothing(self) -> str:
        return f"INSERT INTO {self.name} ({', '.join(COLUMNS)}) SELECT * FROM ({self._row()}) WHERE id = 99"

    def do_insert_again(self) -> str:
        columns = ", ".join(COLUMNS)
        return f"INSERT INTO {self.name} ({columns}) SELECT {columns} FROM {self.name} WHERE {self._condition()}"

    def do_update(self) -> str:
        name, values = self.random.choice([("x", DOUBLES), ("s", STRINGS), ("p", PARTITIONS), ("n", DECIMALS)])
        return f"UPDATE {self.name} SET {name} = {self.random.choice(values)} WHERE {self._condition()}"

    def do_turn_zeros(self) -> str:
        return f"UPDATE {self.name} SET x = -x WHERE x = 0"

    def do_update_what_nobody_reads(self) -> str:
        return f"UPDATE {self.name} SET unread = 'z' WHERE {self._condition()}"

    def do_delete(self) -> str:
        return f"DELETE FROM {self.name} WHERE {self._condition()}"

    def do_merge(self) -> str:
        keys = self.random.sample("123456", 2)
        source = " UNION ALL ".join(self._row(key) for key in keys)
        assignments = ", ".join(f"{name} = s.{name}" for name in COLUMNS)
        columns, values = ", ".join(COLUMNS), ", ".join(f"s.{name}" for name in COLUMNS)
        return (
            f"MERGE INTO {self.name} t USING ({source}) s ON t.id = s.id "
            f"WHEN MATCHED AND t.x = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET {assignments} "
            f"WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})"
        )

    def do_truncate(self) -> str:
        return f"TRUNCATE TABLE {self.name}" if self.random.random() < 0.5 else f"DELETE FROM {self.name}"

    def do_overwrite(self) -> str:
        return f"INSERT OVERWRITE {self.name} {self._all_columns(self._some())}"

    def do_replace_where(self) -> str:
        value = self.random.choice(PARTITIONS[:3])
        query = self._all_columns(f"SELECT * FROM ({self._some()}) WHERE p = {value}")
        return f"INSERT INTO {self.name} REPLACE WHERE p = {value} {query}"

    def do_optimize(self) -> str:
        return f"OPTIMIZE {self.name}"

    def do_set_a_property(self) -> str:
        return f"ALTER TABLE {self.name} SET TBLPROPERTIES (x = {literal(str(self.random.random()))})"

    def do_add_column(self) -> tuple[str, tuple[str, ...]]:
        name = f"added_{len(self.versions)}"
        return f"ALTER TABLE {self.name} ADD COLUMN {quote(name)} int", (*self.added[-1], name)

    def do_restore(self) -> tuple[str, tuple[str, ...]]:
        version = self.random.randrange(len(self.versions))
        return f"RESTORE TABLE {self.name} TO VERSION AS OF {version}", self.added[version]


def told(session: Session, window: Window, captures: Mapping[str, Capture]) -> Iterator[tuple[str, dict[Any, int]]]:
    """What each capture says, asked in one statement."""
    columns = ", ".join(map(quote, (*window.names, WEIGHT)))
    parts = [
        f"SELECT {literal(name)} AS `capture`, {columns} FROM (\n{capture.changes(window)}\n)"
        for name, capture in captures.items()
    ]
    found = session.query("\nUNION ALL\n".join(parts))
    for name in captures:
        yield name, weights_of((row for row in found if row["capture"] == name), window.names)
