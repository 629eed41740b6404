"""What a refresh changes, written into a table before: a row for each row that comes or goes (`change_buffer: table`).

From there it is brought into the storage, and whoever reads the stream table reads it there as well. So rows are told
apart and replaced by what was written down once, however often a statement would work them out.

A staged batch counts only when the storage has its commit, which names the token of what it has brought in. Everything
else in the table is nobody's: see `Staged`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dbt_trickle.apply.bag import exploded
from dbt_trickle.apply.base import Applied, named, quoted, told_by, with_ctes
from dbt_trickle.apply.keyed import per_key
from dbt_trickle.apply.shape import Shape
from dbt_trickle.apply.stored import Stored, with_row_id
from dbt_trickle.apply.whole import HOW, brought_in, differing
from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.capture.staged import ACTION, BATCH, CAME, TOKEN, WENT, sign
from dbt_trickle.delta.context import Cte, Delta
from dbt_trickle.formats.delta import at_version
from dbt_trickle.names import Relation, literal, quote
from dbt_trickle.tree.identity import ROW_ID

# What only the moment tells: the token of the attempt, and where the rows are once they are written.
ATTEMPT = "/* the token of this attempt */"
ROWS = "/* the rows that were staged */"
_W = quote(WEIGHT)


@dataclass(frozen=True)
class Place:
    """Where a refresh stages, and as which batch."""

    table: Relation
    batch: int


def create(table: Relation, storage: Relation) -> str:
    """With the columns of the storage. If it is there already it stays: somebody may just be staging in it."""
    marks = f"'' AS {quote(TOKEN)}, CAST(0 AS BIGINT) AS {quote(BATCH)}, '' AS {quote(ACTION)}"
    return f"CREATE TABLE IF NOT EXISTS {table.sql} USING delta AS\nSELECT {marks}, *\nFROM {storage.sql} WHERE false"


def delete(table: Relation, consumed: int, committed: int) -> str:
    """What everybody has read, up to a batch; and what was staged behind the last one that counts."""
    return f"DELETE FROM {table.sql} WHERE {quote(BATCH)} <= {consumed} OR {quote(BATCH)} > {committed}"


def staged(stored: Stored, rows: Delta, how: str, into: Place, storage: Relation, version: int) -> Applied:
    """`rows`: net, of all stored columns but the id; `version`: the storage's, that they are worked out for."""
    source = rows
    if stored.stores_ids:
        source = rows.then(named("to_stage"), with_row_id(stored, f"SELECT *\nFROM {quote(rows.name)}"))
    action = f"IF({_W} > 0, {literal(CAME)}, {literal(WENT)})"
    stage = (
        f"INSERT INTO {into.table.sql} ({quoted((TOKEN, BATCH, ACTION, *stored.stored))})\n{with_ctes(source.ctes)}\n"
        f"SELECT {literal(ATTEMPT)}, CAST({into.batch} AS BIGINT), {action}, {quoted(stored.stored)}\n"
        f"FROM {quote(source.name)}\n{exploded(f'abs({_W})')}"
    )
    found = _from_there(stored, storage, version)
    return replace(found, how=how, few=found.few and replace(found.few, how=how), stage=stage)


def difference(stored: Stored, query: str, into: Place, storage: Relation, version: int) -> Applied:
    """All rows as they are now, less those that are stored: see apply/whole.py."""
    rows = differing(stored, _names(stored), query, at_version(storage.sql, version))
    return staged(stored, rows, HOW, into, storage, version)


def appended(stored: Stored, rows: Delta, into: Place, storage: Relation, version: int) -> Applied:
    """Rows that only come, of a bag."""
    found = staged(stored, rows, "rows appended", into, storage, version)
    insert = f"INSERT INTO {storage.sql} ({quoted(stored.stored)})\nSELECT {quoted(stored.stored)}\nFROM {ROWS}"
    return Applied(insert, found.how, "append", stage=found.stage)


def those_of(table: Relation, version: int, token: str) -> str:
    """FROM text."""
    return f"{at_version(table.sql, version)} WHERE {quote(TOKEN)} = {literal(token)}"


def read_there(applied: Applied, table: Relation, version: int, token: str) -> Applied:
    """What follows the staging, with its rows: at the version that has them, so that nobody can take them away."""
    rows = those_of(table, version, token)
    few = applied.few and replace(applied.few, keep=applied.few.keep.replace(ROWS, rows))
    return replace(applied, sql=applied.sql.replace(ROWS, rows), few=few)


def _names(stored: Stored) -> list[str]:
    return [name for name in stored.stored if name != ROW_ID]  # an id is told by the others


def _from_there(stored: Stored, storage: Relation, version: int) -> Applied:
    names = _names(stored)
    rows = f"SELECT {quoted(names)}, {sign()} AS {_W}\nFROM {ROWS}"
    if isinstance(stored, Shape) and not stored.identity.is_bag:
        return brought_in(stored, per_key(stored, Delta((Cte(named("net"), rows),)), names), storage, version)
    values = ", ".join(f"{stored.any_of(name)} AS {quote(name)}" for name in names)
    counted = f"SELECT {values}, SUM({_W}) AS {_W}\nFROM (\n{rows}\n)\nGROUP BY {told_by(stored, names)}"
    net = Delta((Cte(named("net"), counted),))
    counted_with_ids = net.then(named("rows"), with_row_id(stored, f"SELECT *\nFROM {quote(net.name)}"))
    return brought_in(stored, counted_with_ids, storage, version)
