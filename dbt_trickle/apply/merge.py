"""One row per touched key, as it is now or gone, merged into the storage."""

from __future__ import annotations

from dbt_trickle.apply.base import GONE, NOT_STORED, WAS, all_equal, merge_into, quoted
from dbt_trickle.apply.shape import SAME_KEY, Shape
from dbt_trickle.delta.context import Delta
from dbt_trickle.names import Relation, literal, quote
from dbt_trickle.tree.identity import ROW_ID


def merge(shape: Shape, source: Delta, storage: Relation, *, expected: bool) -> str:
    """`expected`: the source knows whether a key is stored, and then it is checked.

    Rows that are as they were are not written: who reads the changes of this one would see them change.
    """
    row_id, gone, was = quote(ROW_ID), f"s.{quote(GONE)}", f"s.{quote(WAS)}"
    on = [f"t.{row_id} = s.{row_id}", *all_equal(shape, shape.key, "t", "s")]
    clauses = [f"WHEN MATCHED AND {gone} THEN DELETE"]
    others = [name for name in shape.stored if name not in shape.key and name != ROW_ID]
    sets = [f"t.{quote(name)} = s.{quote(name)}" for name in others]
    differs = [f"NOT ({same})" for same in all_equal(shape, others, "t", "s")]
    if expected:
        there = f"CASE WHEN {was} THEN s.{row_id} ELSE raise_error({literal(SAME_KEY)}) END"
        sets.append(f"t.{row_id} = {there}")
        differs.append(f"NOT {was}")
    if sets:
        clauses.append(f"WHEN MATCHED AND ({' OR '.join(differs)}) THEN UPDATE SET {', '.join(sets)}")
    if expected:
        # Before what inserts: a row that changed and is not stored is as wrong as one that went.
        raised = f"CAST(raise_error({literal(NOT_STORED)}) AS BIGINT)"
        clauses.append(f"WHEN NOT MATCHED AND {was} THEN INSERT ({row_id}) VALUES ({raised})")
    inserted = f"({quoted(shape.stored)}) VALUES ({quoted(shape.stored, 's.')})"
    clauses.append(f"WHEN NOT MATCHED AND NOT {gone} THEN INSERT {inserted}")
    return merge_into(storage, source, on, clauses)
