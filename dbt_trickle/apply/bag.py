"""Rows without a key: like rows cannot be told apart, so they are counted."""

from __future__ import annotations

from collections.abc import Mapping

from dbt_trickle.apply.base import (
    NOT_STORED,
    Applied,
    all_equal,
    as_stored,
    merge_into,
    named,
    net,
    quoted,
    told_by,
    with_ctes,
)
from dbt_trickle.apply.shape import Shape
from dbt_trickle.apply.stored import Stored, with_row_id
from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta.context import WENT, Delta
from dbt_trickle.names import Relation, literal, quote
from dbt_trickle.tree.identity import ROW_ID

_KIND, _COPIES, _STORED, _MATCH = (quote(named(role)) for role in ("kind", "copies", "stored", "match"))
_W = quote(WEIGHT)
# An array's length is an INT, and a larger number would silently become another one.
_MOST_COPIES = 2_000_000_000
TOO_MANY = "[TRK-312] a row is there more often than copies of it can be counted"


def appended(shape: Shape, delta: Delta, storage: Relation) -> Applied:
    """Nothing but filters, projections and joins over sources that only grew: rows only come."""
    come = f"CASE WHEN {_W} < 0 THEN raise_error({literal(WENT)}) ELSE {_W} END"
    rows = f"SELECT {as_stored(shape)}\nFROM {quote(delta.name)}\n{exploded(come)}"
    chosen = f"SELECT {quoted(shape.stored)}\nFROM (\n{with_row_id(shape, rows)}\n)"
    into = f"INSERT INTO {storage.sql} ({quoted(shape.stored)})"
    return Applied(f"{into}\n{with_ctes(delta.ctes)}\n{chosen}", "rows appended", "append")


def contents(shape: Shape, delta: Delta) -> Delta:
    """The output's rows, one per content, with their weights and ids."""
    netted = net(shape, delta)
    chosen = f"SELECT {quoted(shape.outputs)}, {_W}\nFROM {quote(netted.name)}"
    return netted.then(named("rows"), with_row_id(shape, chosen))


def bag(stored: Stored, rows: Delta, storage: Relation, version: int) -> Applied:
    """The stored copies of a row that lost some all go; as many as are left come back with the new ones.

    Which of several like rows goes cannot be said, nor seen.
    """
    names = (*stored.outputs, WEIGHT, ROW_ID)
    same = all_equal(stored, stored.outputs, "t", "d")
    chosen = ", ".join(f"any_value(d.{quote(name)}) AS {quote(name)}" for name in names)
    lost = rows.then(
        named("lost"),
        f"SELECT {chosen}, count(t.{quote(ROW_ID)}) AS {_STORED}\n"
        f"FROM (SELECT * FROM {quote(rows.name)} WHERE {_W} < 0) AS d\n"
        f"LEFT JOIN {stored.rows_at(storage, version)} AS t\n"
        f"ON {' AND '.join([f't.{quote(ROW_ID)} = d.{quote(ROW_ID)}', *same])}\n"
        f"GROUP BY {told_by(stored, (ROW_ID, *stored.outputs), 'd.')}",
    )
    source = lost.then(named("copies_now"), _copies(stored, rows.name, lost.name))
    on = [f"{stored.id_of('t.')} = s.{_MATCH}", *all_equal(stored, stored.outputs, "t", "s")]
    come = f"WHEN NOT MATCHED AND s.{_KIND} = 'come'"
    insert = f"INSERT ({quoted(stored.stored)}) VALUES ({quoted(stored.stored, 's.')})"
    sql = merge_into(storage, source, on, ["WHEN MATCHED THEN DELETE", f"{come} THEN {insert}"])
    return Applied(sql, "rows merged by what they hold", "bag")


def _copies(stored: Stored, rows: str, lost: str) -> str:
    """A row per copy that comes, one that finds all stored copies of what lost some, and some that do nothing:

    of each row that lost copies, as many as bring the statement's count of source rows to
    `deleted + inserted + come back`. So its own metrics tell how many only came back (`came_back`).
    """
    columns = quoted((*stored.outputs, ROW_ID))
    left = f"CASE WHEN {_STORED} + {_W} < 0 THEN raise_error({literal(NOT_STORED)}) ELSE {_STORED} + {_W} END"

    def kind(name: str, copies: str, source: str) -> str:
        return f"SELECT {columns}, '{name}' AS {_KIND}, {copies} AS {_COPIES} FROM {quote(source)}"

    kinds = "\nUNION ALL\n".join(
        [
            kind("gone", "CAST(1 AS BIGINT)", lost),
            kind("come", left, lost),
            kind("fill", f"{_STORED} - 1 + {left}", lost),
            f"{kind('come', _W, rows)} WHERE {_W} > 0",
        ]
    )
    match = f"CASE WHEN {_KIND} = 'gone' THEN {quote(ROW_ID)} END AS {_MATCH}"
    return f"SELECT {columns}, {_KIND}, {match}\nFROM (\n{kinds}\n)\n{exploded(_COPIES)}"


def came_back(metrics: Mapping[str, str]) -> int:
    """Of the rows that a bag's merge deleted and inserted, those that it only put back."""
    source, inserted, deleted = (
        int(metrics.get(key, 0)) for key in ("numSourceRows", "numTargetRowsInserted", "numTargetRowsDeleted")
    )
    return source - inserted - deleted


def exploded(copies: str) -> str:
    few = f"CASE WHEN {copies} > {_MOST_COPIES} THEN raise_error({literal(TOO_MANY)}) ELSE CAST({copies} AS INT) END"
    return f"LATERAL VIEW explode(array_repeat(0, {few})) {quote(named('e'))} AS {quote(named('copy'))}"
