"""The product's statements, which are Spark's and Delta's, as DuckDB runs them.

sqlglot translates the dialect. What it leaves is put right here, and nothing else is; so this page is also the list
of what DuckDB's answers do not prove of Spark's (tests/functional/engine asks Spark itself):

    xxhash64(…)         two values only. Row ids collide all the time, and a match must not rest on one alone
    raise_error(…)      an error; not of a constant alone, which DuckDB works out before it knows whether it is needed
    array_repeat(…)     a macro
    hints               left out
    t VERSION AS OF 3   the relation that stands for this version (lake.py)
    table_changes(…)    the change feed that the lake has written down
    UPDATE SET t.a      the column without its table, as DuckDB has it in a MERGE
    WHEN … THEN         what may raise an error is put under its condition once more: DuckDB asks for that too late
    CACHE LAZY TABLE    a temporary table, computed at once
    REPLACE WHERE       what comes is worked out, then what fits goes, then it comes; what comes and does not fit is
                        the error that Delta has for it. That it is one commit is not tried
    WITH RECURSIVE      to DuckDB each UNION in it is a recursion, whose types are those of its first branch: one that
                        does not name itself becomes a subquery
    CAST                TRY_CAST, as without ANSI; DuckDB's integers do not wrap around
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel

ROW_IDS = 2
STORAGE = "kept"
_THERE = "there"
_CHOSEN = "chosen"
NO_FIT = "[DELTA_REPLACE_WHERE_MISMATCH] a row that is written does not fit"
_MACROS = """
CREATE MACRO raise_error(what) AS CASE WHEN random() >= 0 THEN error(what) END;
CREATE MACRO array_repeat(what, often) AS [what for _ in range(often)];
"""
_TYPES = {"INTEGER": "int", "HUGEINT": "bigint", "VARCHAR": "string"}

Row = tuple[Any, ...]
Bag = Counter[Row]


class Duck:
    def __init__(self) -> None:
        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute(_MACROS)
        # Tables have a few rows: it would take longer than it saves.
        self._connection.execute("PRAGMA disable_optimizer")

    def close(self) -> None:
        self._connection.close()

    def interrupt(self) -> None:
        """What is running ends with an error."""
        self._connection.interrupt()

    def run(self, statement: str, values: list[Any] | None = None) -> list[Row]:
        """A statement of DuckDB's."""
        return self._connection.execute(statement, values).fetchall()

    def spark(self, statement: str) -> list[Row]:
        return self.run(translated(statement))

    def execute(self, sql: str) -> None:
        """With `query` what the engine asks of a session."""
        self.spark(sql)

    def query(self, sql: str) -> list[dict[str, Any]]:
        found = self._connection.execute(translated(sql))
        names = [name for name, *_ in found.description or []]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def types(self, query: str) -> tuple[tuple[str, str], ...]:
        """Names and types of a query's columns, as Spark calls them."""
        found = self._connection.execute(translated(query)).description or []
        return tuple((name, _TYPES.get(str(kind), str(kind).lower())) for name, kind, *_ in found)


def version(table: str, number: int) -> str:
    """What stands for a version of a table. A storage is only read as it is when a statement starts."""
    return table if table == STORAGE else f"{table}_{number}"


@lru_cache(maxsize=512)
def translated(statement: str) -> str:
    tree = sqlglot.parse_one(statement, dialect="spark")
    for node in list(tree.walk()):
        match node:
            case exp.Hint():
                node.pop()
            case exp.Table() if isinstance(node.this, exp.Anonymous):
                node.replace(_feed(node.this, node.args.get("alias")))
            case exp.Table():
                node.replace(_table(node, node.args.get("version")))
            case exp.Anonymous() if node.name.lower() == "xxhash64":
                node.replace(_row_id(node.expressions))
            case exp.CTE() if isinstance(node.this, exp.Union) and not _names_itself(node):
                node.set("this", exp.select("*").from_(node.this.subquery(copy=False), copy=False))
            case _:
                pass
    match tree:
        case exp.Merge():
            _as_duckdb_merges(tree)
        case exp.Cache():
            return f"CREATE TEMP TABLE {_text(tree.this)} AS {_text(tree.expression)}"
        case exp.Drop():
            tree.set("kind", "TABLE")
        case exp.Insert() if tree.args.get("where"):
            return _replaced(_text(tree.this), _text(tree.args["where"]), _text(tree.expression))
        case _:
            pass
    return _text(tree)


def _names_itself(cte: exp.CTE) -> bool:
    return any(table.name == cte.alias for table in cte.this.find_all(exp.Table))


def _text(tree: exp.Expr) -> str:
    # Nobody reads the tree again: a copy would take a fifth of the time.
    return tree.sql(dialect="duckdb", unsupported_level=ErrorLevel.RAISE, copy=False)


def _replaced(table: str, where: str, rows: str) -> str:
    fits = f"CASE WHEN {where} THEN true ELSE raise_error('{NO_FIT}') END"
    return (
        f"CREATE OR REPLACE TEMP TABLE {_CHOSEN} AS {rows};\nDELETE FROM {table} WHERE {where};\n"
        f"INSERT INTO {table} SELECT * FROM {_CHOSEN} WHERE {fits}"
    )


def _table(node: exp.Table, of: exp.Expr | None) -> exp.Table:
    """Without its schema: there is but one."""
    name = node.name if of is None else version(node.name, int(of.expression.name))
    return exp.Table(this=exp.to_identifier(name, quoted=True), alias=node.args.get("alias"))


def _feed(call: exp.Anonymous, alias: exp.Expr | None) -> exp.Expr:
    name, first, last = (each.name for each in call.expressions)
    source = name.replace("`", "").split(".")[-1]
    rows = f"SELECT * FROM {source}_feed WHERE _commit_version BETWEEN {first} AND {last}"
    return exp.Subquery(this=sqlglot.parse_one(rows, dialect="duckdb"), alias=alias)


def _row_id(arguments: list[exp.Expr]) -> exp.Expr:
    number = exp.Mod(this=exp.Anonymous(this="hash", expressions=arguments), expression=exp.Literal.number(ROW_IDS))
    return exp.cast(number, "BIGINT")


def _as_duckdb_merges(merge: exp.Merge) -> None:
    """DuckDB works out what a branch writes for all rows, and only then takes those that the branch is for.

    So what may raise an error is put under the branch's condition once more; and as what is inserted cannot see
    whether there is a row in `t`, `s` has to know.
    """
    for when in merge.args["whens"].expressions:
        then = when.args["then"]
        if isinstance(then, exp.Update):
            for each in then.expressions:
                each.this.set("table", None)
            written = [each.expression for each in then.expressions]
            mine = exp.column("rowid", "t").is_(exp.null()).not_()
        else:
            written = then.expression.expressions if isinstance(then, exp.Insert) else []
            mine = exp.column(_THERE, "s").not_()
        for value in written:
            if value.find(exp.Anonymous):
                condition = exp.and_(mine, when.args.get("condition"))
                value.replace(exp.Case(ifs=[exp.If(this=condition, true=value.copy())]))
    if any(column.name == _THERE for column in merge.find_all(exp.Column)):
        found = exp.select("1").from_(merge.this.copy()).where(merge.args["on"].copy())
        source = exp.select("s.*", exp.alias_(exp.Exists(this=found), _THERE)).from_(merge.args["using"].copy())
        merge.set("using", source.subquery("s"))
