"""DESCRIBE EXTENDED's answer as rows of dbt's catalog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from dbt.adapters.spark import SparkColumn


def catalog_rows(relation: Any, rows: Sequence[tuple[Any, ...]]) -> Iterable[dict[str, Any]]:
    """The columns come first; an empty row or a title (#) ends them, and facts of the relation follow."""
    columns = list(takewhile(lambda row: row[0] and not row[0].startswith("#"), rows))
    facts = {name: value for name, value, *_ in rows[len(columns) :]}
    stats = SparkColumn.convert_table_stats(facts.get("Statistics"))
    for index, (name, data_type, comment) in enumerate(columns):
        yield {
            "table_database": None,
            "table_schema": relation.schema,
            "table_name": relation.name,
            "table_type": relation.type,
            "table_comment": facts.get("Comment") or None,
            "table_owner": facts.get("Owner") or None,
            "column_name": name,
            "column_index": index,
            "column_type": data_type,
            "column_comment": comment or None,
            **stats,
        }
