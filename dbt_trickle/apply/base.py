"""What the ways to apply a delta share: names that no column has, and the netted rows of the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbt_trickle.apply.shape import Shape
from dbt_trickle.apply.stored import Stored, entries_of
from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.capture.types import Incomparable, comparison
from dbt_trickle.catalog.state import Column
from dbt_trickle.delta.context import Cte, Delta
from dbt_trickle.names import RESERVED_PREFIX, Relation, quote

GONE = f"{RESERVED_PREFIX}gone"  # whether the key has no row any more
WAS = f"{RESERVED_PREFIX}was"  # whether it had one
NOT_STORED = "[TRK-310] a row that is to be deleted is not stored: somebody else has written to the storage"
_TOTAL = f"{RESERVED_PREFIX}total"


@dataclass(frozen=True)
class Few:
    """The same for a change of few rows, whose ids are asked for first: see apply/few.py.

    `keep` comes first, then it is asked what is `touched`; `let_go` comes last, whatever happened.
    """

    keep: str
    touched: str
    sql: str  # with IDS where the ids are to be; nothing where rows cannot be found by them
    how: str
    let_go: str
    numbers: str = ""  # asks how many rows come and go of all that is kept, where that is known before


@dataclass(frozen=True)
class Applied:
    """The statement, in a few words how it goes about it, and how its commit's metrics are to be read."""

    sql: str
    how: str
    work: str = "merge"  # append, merge, bag or replace: `Marker.work`
    few: Few | None = None  # where few rows may be changed in another way
    kept: bool = False  # it reads what the way for few rows keeps, and knows nothing else of what changed
    stage: str = ""  # a statement that comes before, and writes down what changes: see apply/staged.py


def named(role: str) -> str:
    return f"{RESERVED_PREFIX}{role}"


def incomparable(columns: Sequence[Column]) -> str | None:
    """Why rows of these columns cannot be told apart."""
    for column in columns:
        found = comparison(column.name, column.type)
        if isinstance(found, Incomparable):
            return found.reason
        if "COLLATE" in found.keys[0]:
            return f"column {column.name} has a collation, under which different values are equal"
    return None


def net(shape: Shape, delta: Delta, role: str = "net") -> Delta:
    """The output's rows under their stored names, one per content, with the sum of its weights.

    Contents are what `<=>` takes for equal, 0.0 and -0.0 as well: that is how their stored copies are found, and two
    rows of a delta must not find the same ones.
    """
    pairs = list(zip(shape.tree.items, shape.columns, strict=True))
    items = [f"any_value({quote(item.name)}) AS {quote(column.stored)}" for item, column in pairs]
    keys = [entries_of(column.type, quote(item.name)) for item, column in pairs]
    total = f"SUM({quote(WEIGHT)})"
    rows = (
        f"SELECT {', '.join(items)}, {total} AS {quote(_TOTAL)}\nFROM {quote(delta.name)}\n"
        f"GROUP BY {', '.join(keys)}\nHAVING {total} <> 0"
    )
    columns = quoted(shape.outputs)
    return delta.then(named(role), f"SELECT {columns}, {quote(_TOTAL)} AS {quote(WEIGHT)}\nFROM (\n{rows}\n)")


def quoted(names: Sequence[str], of: str = "") -> str:
    return ", ".join(f"{of}{quote(name)}" for name in names)


def as_stored(shape: Shape) -> str:
    """The output's columns, called as the tree's root calls them, under the names that they are stored by."""
    pairs = zip(shape.tree.items, shape.columns, strict=True)
    return ", ".join(f"{quote(item.name)} AS {quote(column.stored)}" for item, column in pairs)


def as_named(shape: Shape, of: str = "") -> str:
    """The other way round."""
    pairs = zip(shape.tree.items, shape.columns, strict=True)
    return ", ".join(f"{of}{quote(column.stored)} AS {quote(item.name)}" for item, column in pairs)


def with_ctes(ctes: Sequence[Cte]) -> str:
    """All side by side: Spark 4.1 finds no recursion within another CTE of a MERGE's source. What is read, that is."""
    kept: list[Cte] = []
    for cte in reversed(ctes):
        if not (kept and cte.recursive) or any(quote(cte.name) in later.sql for later in kept):
            kept.insert(0, cte)
    word = "WITH RECURSIVE" if any(cte.recursive for cte in kept) else "WITH"
    return f"{word} " + ",\n".join(f"{quote(cte.name)} AS (\n{cte.sql}\n)" for cte in kept)


def merge_into(storage: Relation, source: Delta, on: Sequence[str], clauses: Sequence[str]) -> str:
    """The rows of a delta's last CTE, `s`, merged into the storage, `t`."""
    using = f"USING (\n{with_ctes(source.ctes)}\nSELECT * FROM {quote(source.name)}\n) AS s"
    return "\n".join([f"MERGE INTO {storage.sql} AS t", using, f"ON {' AND '.join(on)}", *clauses])


def all_equal(stored: Stored, names: Sequence[str], left: str, right: str) -> list[str]:
    return [f"{stored.told_by(name, f'{left}.')} <=> {stored.told_by(name, f'{right}.')}" for name in names]


def told_by(stored: Stored, names: Sequence[str], of: str = "") -> str:
    return ", ".join(stored.told_by(name, of) for name in names)
