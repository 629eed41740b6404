"""Partitions of a window whose rows may come out otherwise each time: what is stored of them goes, and all come anew.

Nothing is compared with what is stored: a statement may work a subquery out more than once, and rows that were told
apart by one outcome must not be those of another. What goes is found by the partitions alone, and what comes is
written in one piece.
"""

from __future__ import annotations

from dbt_trickle.apply.base import Applied, as_stored, merge_into, named, quoted
from dbt_trickle.apply.restated import shown_keys, touched
from dbt_trickle.apply.shape import Shape
from dbt_trickle.apply.stored import with_row_id
from dbt_trickle.delta.context import Context
from dbt_trickle.delta.touched import key_name
from dbt_trickle.names import Relation, quote
from dbt_trickle.tree.algebra import Window
from dbt_trickle.tree.functions import RANKS, SAME_AGAIN
from dbt_trickle.tree.identity import ROW_ID

_COMES = quote(named("comes"))


def same_again(window: Window) -> bool:
    """Whether it gives the same values of the same rows; of sums only their types would tell."""
    return all(call.function in SAME_AGAIN | RANKS and not call.by_position for call in window.calls)


def replaced(shape: Shape, window: Window, context: Context, storage: Relation) -> Applied:
    keys, now = touched(shape.tree, window, context)
    come = with_row_id(shape, f"SELECT {as_stored(shape)}\nFROM (\n{now}\n)")
    columns = (*shape.outputs, ROW_ID)
    found = [quote(key_name(i)) for i in range(len(window.partition))]
    nothing = ", ".join(f"NULL AS {quote(name)}" for name in columns)
    source = keys.then(
        named("rows"),
        f"SELECT {quoted(columns)}, true AS {_COMES}, {', '.join(f'NULL AS {key}' for key in found)}\n"
        f"FROM (\n{come}\n)\nUNION ALL\n"
        f"SELECT {nothing}, false, {', '.join(found)}\nFROM {quote(keys.name)}",
    )
    on = [f"NOT s.{_COMES}"]
    on += [
        f"t.{quote(shape.columns[position].stored)} <=> s.{key}"
        for position, key in zip(shown_keys(shape, window), found, strict=True)
    ]
    insert = f"INSERT ({quoted(shape.stored)}) VALUES ({quoted(shape.stored, 's.')})"
    clauses = ["WHEN MATCHED THEN DELETE", f"WHEN NOT MATCHED AND s.{_COMES} THEN {insert}"]
    return Applied(merge_into(storage, source, on, clauses), "touched partitions replaced")
