"""The first rows of a query: those that are stored, with what came and without what went, as long as that tells them.

Of the rows behind them nothing is stored. As many as are shown must be left that do not come after the last of those
stored before; or all rows there are were stored. Otherwise the first rows have to be looked for in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbt_trickle.apply.bag import exploded
from dbt_trickle.apply.base import as_named, named, net, quoted, told_by
from dbt_trickle.apply.shape import Shape
from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta import rules
from dbt_trickle.delta.context import Context, Delta
from dbt_trickle.formats.delta import at_version
from dbt_trickle.names import Relation, literal, quote
from dbt_trickle.tree.algebra import Project, TopK

INCOMPLETE = "TRK-315"
TOO_MANY_WENT = f"[{INCOMPLETE}] too many of the first rows went: those behind them are not stored"
_W = quote(WEIGHT)
_NEW, _CAME, _RANK, _LAST, _STORED, _AT, _NEAR, _COPIES = (
    quote(named(role)) for role in ("new", "came", "rank", "last", "stored", "at", "near", "copies")
)


def top_of(tree: Project) -> TopK | None:
    return tree.child if isinstance(tree.child, TopK) else None


def first_rows(shape: Shape | None) -> Mapping[str, int | str | None]:
    """What the catalog says of it."""
    top = top_of(shape.tree) if shape is not None else None
    if shape is None or top is None:
        return {"topk_limit": None, "topk_order_by": None}
    called = {i.value.sql: c.name for i, c in zip(shape.tree.items, shape.columns, strict=True)}
    order = ", ".join(f"{called[quote(key.column)]}{key.direction}" for key in top.keys)
    return {"topk_limit": top.limit, "topk_order_by": order}


def restated(shape: Shape, top: TopK, context: Context, storage: Relation, version: int) -> Delta:
    """The first rows as they are now, less those that are stored. Of rows that are equal those stay that are stored."""
    below = Project(top.child, shape.tree.items)
    netted = net(shape, rules.delta(below, context), "of_all")
    columns, content = quoted(shape.outputs), told_by(shape, shape.outputs)
    stored = netted.then(named("stored"), f"SELECT {columns}\nFROM {at_version(storage.sql, version)}")
    both = (
        f"SELECT {columns}, CAST(1 AS BIGINT) AS {_W}, 1 AS {_STORED}\nFROM {quote(stored.name)}\nUNION ALL\n"
        f"SELECT {columns}, {_W}, 0\nFROM {quote(netted.name)}"
    )
    any_of_each = ", ".join(f"any_value({quote(name)}) AS {quote(name)}" for name in shape.outputs)
    # By their contents; of one content not more copies are of interest than rows are shown.
    contents = stored.then(
        named("contents"),
        f"SELECT {any_of_each}, least(SUM({_W}), {top.limit}) AS {_COPIES}, max({_STORED}) = 0 AS {_CAME}\n"
        f"FROM (\n{both}\n)\nGROUP BY {content}\nHAVING SUM({_W}) > 0",
    )
    rows = (
        f"SELECT {columns}, true AS {_NEW}, {_CAME}\nFROM {quote(contents.name)}\n"
        f"{exploded(_COPIES)}\nUNION ALL\nSELECT {columns}, false, false\nFROM {quote(stored.name)}"
    )
    order = ", ".join(_ordered(shape, top))
    ranked = (
        f"SELECT *, rank() OVER (ORDER BY {order}) AS {_RANK},\n"
        # By all columns in the end: a statement may work this out twice, and has to find the same rows.
        f"row_number() OVER (PARTITION BY {_NEW} ORDER BY {order}, {_CAME}, {content}) AS {_AT}\nFROM (\n{rows}\n)"
    )
    lasting = (
        f"SELECT *, max(CASE WHEN NOT {_NEW} THEN {_RANK} END) OVER () AS {_LAST},\n"
        f"count(CASE WHEN NOT {_NEW} THEN 1 END) OVER () AS {_STORED}\nFROM (\n{ranked}\n)"
    )
    near = f"count(CASE WHEN {_NEW} AND {_RANK} <= {_LAST} THEN 1 END) OVER () AS {_NEAR}"
    known = f"{_STORED} < {top.limit} OR {_NEAR} >= {top.limit}"
    # Asked of every row, the stored ones, too: of first rows that all went, none would be left to ask.
    weight = f"CASE WHEN NOT ({known}) THEN CAST(raise_error({literal(TOO_MANY_WENT)}) AS BIGINT)"
    weight += f" WHEN {_NEW} THEN 1L ELSE -1L END"
    return contents.then(
        named("restated"),
        f"SELECT {as_named(shape)}, {weight} AS {_W}\nFROM (\nSELECT *, {near}\nFROM (\n{lasting}\n)\n)\n"
        f"WHERE NOT {_NEW} OR {_AT} <= {top.limit}",
    )


def _ordered(shape: Shape, top: TopK) -> list[str]:
    """By the output's columns: the keys are among them."""
    stored = {i.value.sql: c.stored for i, c in zip(shape.tree.items, shape.columns, strict=True)}
    return [f"{quote(stored[quote(key.column)])}{key.direction}" for key in top.keys]
