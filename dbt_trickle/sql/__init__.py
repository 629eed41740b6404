"""The only place that parses or prints SQL: what the rest works with are values, positions and trees."""

from __future__ import annotations

from dbt_trickle.sql.analysis import PURE_TABLE_FUNCTIONS, VOLATILE, Analysis, Unparsed, analyse
from dbt_trickle.sql.refs import TableRef
from dbt_trickle.sql.text import Edit, splice, without_terminator, words

__all__ = [
    "PURE_TABLE_FUNCTIONS",
    "VOLATILE",
    "Analysis",
    "Edit",
    "TableRef",
    "Unparsed",
    "analyse",
    "splice",
    "without_terminator",
    "words",
]
