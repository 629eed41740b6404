"""A Delta table with a random history, and its rows at every version, as Python sees them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
# What every history begins with: of two rows in one file one goes, so that the file gets a deletion vector.
FIRST = ("do_insert_two", "do_delete_one", "do_insert")
# What the histories of a run do between them, however short they are.
ALWAYS = (
    *("do_merge", "do_update", "do_delete", "do_overwrite", "do_replace_where", "do_restore", "do_truncate"),
    *("do_turn_zeros", "do_add_column", "do_set_a_property"),
)
# And what it ends with: a window in which rows only came, whatever there was before.
LAST = ("do_insert", "do_optimize", "do_merge_new", "do_insert_again")
APPENDS = frozenset(["do_insert_two", "do_insert", "do_insert_again", "do_insert_nothing", "do_merge_new"])
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
    versions: list[Rows] = field(default_factory=list)  # of those that were read
    columns: list[dict[str, str]] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    partitions: Sequence[str] = PARTITIONS[:2]

    @property
    def name(self) -> str:
        return self.relation.sql

    @property
    def newest(self) -> int:
        return len(self.statements) - 1

    @property
    def _definition(self) -> str:
        properties = ["delta.enableChangeDataFeed = true"]
        properties += ["delta.enableDeletionVectors = true"] if self.vectors else []
        if self.mapped:
            properties += ["delta.columnMapping.mode = 'name'", "delta.enableTypeWidening = true"]
        by = " PARTITIONED BY (p)" if self.partitioned else ""
        return f"USING delta{by} TBLPROPERTIES ({', '.join(properties)})"

    def create(self) -> None:
        columns = ", ".join(f"{name} {type_text}" for name, type_text in COLUMNS.items())
        self._commit("create", f"CREATE TABLE {self.name} ({columns}) {self._definition}", COLUMNS)

    def live(self, commits: int, always: Sequence[str]) -> None:
        """Up to so many commits, or up to those that there are in any case."""
        for kind in FIRST:
            self.surely(kind)
        self.partitions = PARTITIONS
        for kind in self.random.sample(list(always), len(always)):
            self.surely(kind)
        kinds = [name for name in dir(self) if name.startswith("do_")]
        while len(self.statements) < commits - len(LAST):
            # Whatever else is done to an empty table, little can be seen of it.
            inserts = self.kinds[-1] == "do_truncate" or self.random.random() < 0.4
            self._try("do_insert" if inserts else self.random.choice(kinds))
        self.partitions = PARTITIONS[:2]  # with others, a file's path is not plain, and the log is not read
        for kind in LAST:
            self.surely(kind)

    def surely(self, kind: str) -> None:
        """A condition may meet no row, and then nothing is committed."""
        while not self._try(kind):
            self._try("do_insert")

    def _try(self, kind: str) -> bool:
        done = getattr(self, kind)()
        statement, columns = done if isinstance(done, tuple) else (done, self.columns[-1])
        return self._commit(kind, statement, columns)

    def _commit(self, kind: str, statement: str, columns: dict[str, str]) -> bool:
        self.session.execute(statement)
        newest = self.session.query(f"DESCRIBE HISTORY {self.name} LIMIT 1")[0]["version"]
        if newest == self.newest:
            return False
        assert newest == self.newest + 1, statement
        self.kinds.append(kind)
        self.statements.append(statement)
        self.columns.append(dict(columns))
        return True

    def rows(self, version: int, columns: tuple[str, ...]) -> Rows:
        places = [list(self.columns[version]).index(name) for name in columns]
        projected: Rows = Counter()
        for row, count in self.versions[version].items():
            projected[tuple(row[place] for place in places)] += count
        return projected

    def expected(self, window: Window) -> dict[tuple[Any, ...], int]:
        return net(self.rows(window.old, window.names), self.rows(window.new, window.names))

    def window(self, old: int, new: int, *names: str) -> Window:
        columns = self.columns[new]
        return Window(self.relation, old, new, tuple((n, columns[n]) for n in names or tuple(columns)))

    def only_appended(self, old: int, new: int) -> bool:
        """By the statements: rows came, and nothing else happened to them."""
        kinds = set(self.kinds[old + 1 : new + 1])
        return bool(kinds & APPENDS) and kinds <= {*APPENDS, "do_optimize"}

    def appended(self) -> Iterator[tuple[int, int]]:
        """The longest spans of several commits in which rows only came."""
        old = 0
        for new in range(1, self.newest + 1):
            if not self.only_appended(old, new):
                old = new
            elif new > old + 1 and not (new < self.newest and self.only_appended(old, new + 1)):
                yield old, new

    def _row(self, identity: str | None = None, partition: str | None = None) -> str:
        pick = self.random.choice
        doubles = ", ".join(pick(DOUBLES) for _ in range(pick((0, 1, 2))))
        array = pick((f"CAST(array({doubles}) AS array<double>)", "CAST(NULL AS array<double>)"))
        struct = pick((f"named_struct('a', {pick(('1', 'CAST(NULL AS int)'))}, 'b', {array})", "NULL"))
        values = {
            "id": identity or pick(("1", "2", "3", "4", "5", "NULL")),
            "p": partition or pick(self.partitions),
            "n": pick(DECIMALS),
            "t": pick(TIMES),
            "x": pick(DOUBLES),
            "s": pick(STRINGS),
            "e": struct,
            "unread": f"'{pick('abcdefgh')}'",
        }
        return "SELECT " + ", ".join(f"CAST({values[n]} AS {text}) AS {n}" for n, text in COLUMNS.items())

    def _some(self) -> str:
        """A query of one to four rows; one of them may be there twice. In a file each, or in as few as there can be."""
        rows = [self._row() for _ in range(self.random.randint(1, 3))]
        query = " UNION ALL ".join([*rows, rows[0]] if self.random.random() < 0.5 else rows)
        return f"SELECT /*+ COALESCE(1) */ * FROM ({query})" if self.random.random() < 0.5 else query

    def _all_columns(self, query: str) -> str:
        return f"SELECT {padded(COLUMNS, self.columns[-1])} FROM ({query})"

    def _condition(self) -> str:
        return self.random.choice(
            [f"id = {self.random.randint(1, 5)}", f"p <=> {self.random.choice(PARTITIONS)}", "x = 0", "s IS NULL"]
        )

    def do_insert(self) -> str:
        return f"INSERT INTO {self.name} ({', '.join(COLUMNS)}) {self._some()}"

    def do_insert_two(self) -> str:
        rows = " UNION ALL ".join(self._row(identity, "'a'") for identity in ("1", "2"))
        return f"INSERT INTO {self.name} ({', '.join(COLUMNS)}) SELECT /*+ COALESCE(1) */ * FROM ({rows})"

    def do_delete_one(self) -> str:
        return f"DELETE FROM {self.name} WHERE id = 1"

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

    def do_merge_new(self) -> str:
        columns, values = ", ".join(COLUMNS), ", ".join(f"s.{name}" for name in COLUMNS)
        return (
            f"MERGE INTO {self.name} t USING ({self._row(str(100 + self.newest))}) s ON t.id = s.id "
            f"WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})"
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

    def do_add_column(self) -> tuple[str, dict[str, str]]:
        name = f"added_{len(self.statements)}"
        return f"ALTER TABLE {self.name} ADD COLUMN {quote(name)} int", {**self.columns[-1], name: "int"}

    def do_restore(self) -> tuple[str, dict[str, str]]:
        version = self.random.randrange(1, len(self.statements))
        return f"RESTORE TABLE {self.name} TO VERSION AS OF {version}", self.columns[version]

    def redefined(self, kind: str) -> tuple[int, int]:
        """A change of the columns or of the table itself, and rows after it: the window of both."""
        old = self.newest
        alter, columns = f"ALTER TABLE {self.name}", self.columns[-1]
        statement, columns = {
            "widen": (f"{alter} ALTER COLUMN id TYPE bigint", columns | {"id": "bigint"}),
            "rename": (
                f"{alter} RENAME COLUMN s TO renamed",
                {"renamed" if name == "s" else name: text for name, text in columns.items()},
            ),
            "drop": (f"{alter} DROP COLUMN e", {name: text for name, text in columns.items() if name != "e"}),
            "replace": (
                f"CREATE OR REPLACE TABLE {self.name} {self._definition} AS SELECT {', '.join(COLUMNS)} "
                f"FROM ({self._some()})",
                COLUMNS,
            ),
        }[kind]
        assert self._commit(kind, statement, columns)
        there = ", ".join(name for name in COLUMNS if name in columns)
        assert self._commit(
            "insert", f"INSERT INTO {self.name} ({there}) SELECT {there} FROM ({self._some()})", columns
        )
        return old, self.newest


def padded(columns: Iterable[str], every: Mapping[str, str]) -> str:
    """All columns, those that are not there as NULL."""
    there = set(columns)
    return ", ".join(
        quote(name) if name in there else f"CAST(NULL AS {text}) AS {quote(name)}" for name, text in every.items()
    )


def told(session: Session, window: Window, captures: Mapping[str, Capture]) -> Iterator[tuple[str, dict[Any, int]]]:
    """What each capture says, asked in one statement."""
    parts = [(window.names, capture.changes(window)) for capture in captures.values()]
    for name, rows in zip(captures, at_once(session, parts, dict(window.columns)), strict=True):
        yield name, weights_of(rows, window.names)


def at_once(
    session: Session, parts: Sequence[tuple[Sequence[str], str]], every: Mapping[str, str]
) -> list[list[Mapping[str, Any]]]:
    """The answers of several queries of weighted rows, each with its columns, asked in one statement."""
    found = session.query(
        "\nUNION ALL\n".join(
            f"SELECT {number} AS `of_part`, {padded(names, every)}, {quote(WEIGHT)} FROM (\n{query}\n)"
            for number, (names, query) in enumerate(parts)
        )
    )
    return [[row for row in found if row["of_part"] == number] for number in range(len(parts))]
