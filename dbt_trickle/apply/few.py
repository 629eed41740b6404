"""A change of few rows: their ids as literals, so that nothing else of a storage is read, and no more is written.

What changed is computed once, into a view that Spark keeps for the session; asked which rows it touches; and put in
the place of the stored rows with these ids, in one statement. Another row may happen to have such an id as well: it is
read with them, and put back as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbt_trickle.apply.bag import exploded
from dbt_trickle.apply.base import GONE, NOT_STORED, WAS, Applied, Few, all_equal, named, quoted, told_by, with_ctes
from dbt_trickle.apply.shape import SAME_KEY, Shape, output
from dbt_trickle.apply.stored import Stored
from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta.aggregate import state
from dbt_trickle.delta.context import Delta
from dbt_trickle.formats.delta import at_version
from dbt_trickle.names import Relation, literal, quote
from dbt_trickle.tree.identity import ROW_ID, row_id

# Above that the commit's own description, which repeats the ids, becomes longer than all else that it says.
MOST = 500
VIEW = named("few")
CAME, WENT = named("came"), named("went")
IDS = "/* the ids that were asked for */"
_UNKNOWN = "CAST(NULL AS BIGINT)"
_ID = quote(ROW_ID)


@dataclass(frozen=True)
class Touched:
    """`moved`: rows that come and go, where that is known before."""

    ids: tuple[int, ...]
    moved: tuple[int, int] | None


def touched(rows: Sequence[Mapping[str, Any]]) -> Touched | None:
    """What the question for the touched rows was answered; none: they are not few."""
    if len(rows) > MOST:
        return None
    known = all(row[CAME] is not None for row in rows)
    moved = (sum(int(row[CAME]) for row in rows), sum(int(row[WENT]) for row in rows)) if known else None
    return Touched(tuple(sorted({int(row[ROW_ID]) for row in rows})), moved)


def moved(row: Mapping[str, Any]) -> tuple[int, int]:
    """What the question for the numbers was answered."""
    return int(row[CAME]), int(row[WENT])


def replaced(few: Few, ids: Sequence[int]) -> Applied:
    return Applied(few.sql.replace(IDS, ", ".join(map(_literal, ids))), few.how, "replace")


def _literal(number: int) -> str:
    """The smallest BIGINT has no literal of its own: its digits without the sign are no BIGINT."""
    return f"{number}L" if number > -(2**63) else f"{number + 1}L - 1L"


def keyed(shape: Shape, source: Delta, storage: Relation, version: int) -> Few:
    """`source`: a row per touched key, as it is now or gone, and whether it was there."""
    s, was, gone = f"s.{_ID}", f"s.{quote(WAS)}", f"s.{quote(GONE)}"
    values = ", ".join(f"IF({s} IS NULL, t.{quote(n)}, s.{quote(n)}) AS {quote(n)}" for n in shape.stored)
    same = " AND ".join([f"t.{_ID} = {s}", *all_equal(shape, shape.key, "t", "s")])
    stays = (
        f"CASE WHEN {s} IS NULL THEN true\n"
        f"WHEN {was} AND t.{_ID} IS NULL THEN CAST(raise_error({literal(NOT_STORED)}) AS BOOLEAN)\n"
        f"WHEN NOT {was} AND t.{_ID} IS NOT NULL THEN CAST(raise_error({literal(SAME_KEY)}) AS BOOLEAN)\n"
        f"ELSE NOT {gone} END"
    )
    both = f"{quote(VIEW)} AS s\nFULL OUTER JOIN {_stored(storage, version)} AS t ON {same}"
    rows = f"SELECT {values}\nFROM {both}\nWHERE {stays}"
    counts = f"CAST(NOT {quote(GONE)} AS BIGINT)", f"CAST({quote(WAS)} AS BIGINT)"
    how = "rows of few keys replaced"
    return _few(source, _ID, counts, storage, rows, how)


def bag(stored: Stored, source: Delta, storage: Relation, version: int) -> Few:
    """`source`: the output's rows, one per content, with their weights and ids."""
    counts = f"greatest({quote(WEIGHT)}, 0)", f"greatest(-{quote(WEIGHT)}, 0)"
    how = "few rows replaced by what they hold"
    if not stored.stores_ids:
        return _few(source, _ID, counts, storage, "", how)
    columns, copies = quoted(stored.outputs), quote(named("copies"))
    contents = ", ".join(f"any_value({quote(name)}) AS {quote(name)}" for name in stored.outputs)
    total = f"SUM({quote(WEIGHT)})"
    left = f"CASE WHEN {total} < 0 THEN raise_error({literal(NOT_STORED)}) ELSE {total} END"
    before = f"SELECT {columns}, {_ID}, CAST(1 AS BIGINT) AS {quote(WEIGHT)} FROM {_stored(storage, version)}"
    rows = (
        f"SELECT {quoted(stored.stored)}\nFROM (\nSELECT {contents}, {_ID}, {left} AS {copies}\nFROM (\n"
        f"{before}\nUNION ALL\nSELECT {columns}, {_ID}, {quote(WEIGHT)} FROM {quote(VIEW)}\n)\n"
        f"GROUP BY {told_by(stored, stored.outputs)}, {_ID}\n)\n{exploded(copies)}"
    )
    return _few(source, _ID, counts, storage, rows, how)


def groups(shape: Shape, kept: state.Stateful, changes: Delta, storage: Relation, version: int) -> Few:
    """`changes`: what is added to the state of each touched group."""
    now = state.brought_forward(kept, VIEW, _stored(storage, version), shape.key, with_stored=True)
    rows = output(shape, now, extra=f"{state.gone(kept)} AS {quote(GONE)}")
    chosen = f"SELECT {quoted(shape.stored)}\nFROM (\n{rows}\n)\nWHERE NOT {quote(GONE)}"
    row = row_id([quote(key.name) for key in kept.tree.keys])
    how = "few groups brought forward from their stored state"
    return _few(changes, row, (_UNKNOWN, _UNKNOWN), storage, chosen, how)


def _stored(storage: Relation, version: int) -> str:
    return f"(SELECT * FROM {at_version(storage.sql, version)} WHERE {_ID} IN ({IDS}))"


def _few(source: Delta, row: str, counts: tuple[str, str], storage: Relation, rows: str, how: str) -> Few:
    """`counts`: of a row of the source, how many come and how many go; `rows`: nothing where no ids are stored."""
    came, went = counts
    replacing = f"INSERT INTO {storage.sql} REPLACE WHERE {_ID} IN ({IDS})\n{rows}"
    return Few(
        f"CACHE LAZY TABLE {quote(VIEW)} AS\n{with_ctes(source.ctes)}\nSELECT * FROM {quote(source.name)}",
        f"SELECT {row} AS {_ID}, {came} AS {quote(CAME)}, {went} AS {quote(WENT)}\n"
        f"FROM {quote(VIEW)}\nLIMIT {MOST + 1}",
        replacing if rows else "",
        how,
        f"DROP VIEW IF EXISTS {quote(VIEW)}",
        f"SELECT coalesce(SUM({came}), 0) AS {quote(CAME)}, coalesce(SUM({went}), 0) AS {quote(WENT)}\n"
        f"FROM {quote(VIEW)}",
    )
