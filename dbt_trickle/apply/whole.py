"""All rows as they are now, less those that are stored: so a full refresh writes what is another one than before.

Who reads the stream table then goes on from that, and does not get all rows for new ones. The query may give other rows
each time (ties of a row_number()); rows told apart by one outcome must not be replaced by those of another. So the
difference is worked out once, and kept while it is used, however many rows it has.
"""

from __future__ import annotations

from dataclasses import replace

from dbt_trickle.apply import few
from dbt_trickle.apply.bag import bag
from dbt_trickle.apply.base import Applied, named, quoted, told_by
from dbt_trickle.apply.few import VIEW
from dbt_trickle.apply.keyed import per_key
from dbt_trickle.apply.merge import merge
from dbt_trickle.apply.shape import Shape
from dbt_trickle.apply.stored import Stored, with_row_id
from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta.context import Cte, Delta
from dbt_trickle.formats.delta import at_version
from dbt_trickle.names import Relation, quote
from dbt_trickle.tree.identity import ROW_ID

# Of the stored rows or of those that are to be. Then to write all of them is cheaper, and so it is for readers to read
# all of them.
MOST = 0.5
HOW = "rows that differ from the stored ones written"


_TOTAL = named("total")


def difference(stored: Stored, query: str, storage: Relation, version: int) -> Applied:
    """A statement over what its way for few rows keeps. `query`: gives all columns of the storage, under their names;

    `version`: the storage's, that it is compared with.
    """
    names = [name for name in stored.stored if name != ROW_ID]  # an id is told by the others
    rows = differing(stored, names, query, at_version(storage.sql, version))
    if isinstance(stored, Shape) and not stored.identity.is_bag:
        rows = per_key(stored, rows, names)
    else:
        rows = rows.then(named("rows"), with_row_id(stored, f"SELECT *\nFROM {quote(rows.name)}"))
    found = brought_in(stored, rows, storage, version)
    return replace(found, how=HOW, few=found.few and replace(found.few, how=HOW))


def brought_in(stored: Stored, rows: Delta, storage: Relation, version: int) -> Applied:
    """`rows`: one per key, as it is now or gone; of a bag one per content, with their weights and ids."""
    if isinstance(stored, Shape) and not stored.identity.is_bag:
        kept = few.keyed(stored, rows, storage, version)
        many = Applied(merge(stored, _kept(rows), storage, expected=True), "rows merged by their key")
    else:
        kept = few.bag(stored, rows, storage, version)
        many = bag(stored, _kept(rows), storage, version)
    return replace(many, few=kept, kept=True)


def is_most(before: int, moved: tuple[int, int]) -> bool:
    """`before`: how many rows are stored."""
    came, went = moved
    return max(came, went) > MOST * max(before, before + came - went)


def differing(stored: Stored, names: list[str], query: str, before: str) -> Delta:
    columns, weight = quoted(names), quote(WEIGHT)
    both = (
        f"SELECT {columns}, CAST(1 AS BIGINT) AS {weight}\nFROM (\n{query}\n)\nUNION ALL\n"
        f"SELECT {columns}, CAST(-1 AS BIGINT)\nFROM {before}"
    )
    values = ", ".join(f"{stored.any_of(name)} AS {quote(name)}" for name in names)
    total = f"SUM({weight})"
    rows = f"SELECT {values}, {total} AS {quote(_TOTAL)}\nFROM (\n{both}\n)\nGROUP BY {told_by(stored, names)}"
    netted = f"SELECT {columns}, {quote(_TOTAL)} AS {weight}\nFROM (\n{rows}\n)\nWHERE {quote(_TOTAL)} <> 0"
    return Delta((Cte(named("net"), netted),))


def _kept(rows: Delta) -> Delta:
    """The same rows, from where they are kept."""
    return Delta((Cte(rows.name, f"SELECT * FROM {quote(VIEW)}"),))
