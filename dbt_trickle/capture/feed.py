"""Delta's change data feed: what the source's writers recorded of each row. Its cost is that of the changes."""

from __future__ import annotations

from dataclasses import dataclass

from dbt_trickle.capture.base import Window, netted, weighted
from dbt_trickle.names import Relation, literal

# By name, and anything else is an error: a kind that is not known must not be taken for an insert.
_WEIGHT = (
    "CASE `_change_type` WHEN 'insert' THEN 1L WHEN 'update_postimage' THEN 1L "
    "WHEN 'delete' THEN -1L WHEN 'update_preimage' THEN -1L "
    "ELSE raise_error(concat('[TRK-900] a change of the unknown kind ', `_change_type`)) END"
)


@dataclass(frozen=True)
class Feed:
    def changes(self, window: Window) -> str:
        return netted(window, weighted(window, table_changes(window), _WEIGHT))


def table_changes(window: Window) -> str:
    """Both ends are inclusive there. The name is a string that Spark parses as a name once more.

    A second window of that table, or the table without a version, in the same statement would make one of the two
    come out as the other (docs/decisions.md).
    """
    function, name = "table_changes", window.relation.sql
    if path := by_path(window.relation):
        function, name = "table_changes_by_path", path
    return f"{function}({literal(name)}, {window.old + 1}, {window.new})"


def by_path(relation: Relation) -> str | None:
    """The path of a table that has no other name."""
    if len(relation.parts) == 2 and relation.parts[0].lower() == "delta" and "/" in relation.parts[1]:
        return relation.parts[1]
    return None
