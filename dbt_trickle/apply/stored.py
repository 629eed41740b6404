"""What a storage holds where its query is only recomputed; more of it, where it is maintained, has apply/shape.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dbt_trickle.capture.types import Comparison, comparison
from dbt_trickle.catalog.state import Column
from dbt_trickle.formats.delta import at_version
from dbt_trickle.names import Relation, quote
from dbt_trickle.tree.identity import ROW_ID, row_id


@dataclass(frozen=True)
class Stored:
    """The output's columns, and nothing else. Its rows are a bag, whose ids are worked out where they are asked for."""

    columns: tuple[Column, ...]

    @property
    def stores_ids(self) -> bool:
        return False

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(column.stored for column in self.columns)

    @property
    def stored(self) -> tuple[str, ...]:
        """All columns of the storage, in order."""
        return self.outputs

    @property
    def key(self) -> tuple[str, ...]:
        """The identifying columns, as stored; of a bag, all of the output's."""
        return self.outputs

    def id_of(self, of: str = "") -> str:
        """The id of a stored row."""
        return computed_id(self, of)

    def rows_at(self, storage: Relation, version: int) -> str:
        """The FROM text of the stored rows with their ids."""
        before = at_version(storage.sql, version)
        return f"(SELECT *, {self.id_of()} AS {quote(ROW_ID)} FROM {before})"

    def told_by(self, name: str, of: str = "") -> str:
        """What two values of a stored column are compared by: of maps Spark only compares the entries."""
        return entries_of(self._types.get(name, ""), f"{of}{quote(name)}")

    def any_of(self, name: str) -> str:
        """The value of a stored column in a group of rows that are compared by it. What is equal need not be the same:
        0.0 and -0.0 are not. Where it is, the key is the value; any_value() of a text has Spark sort all rows.
        """
        found = comparison(name, self._types.get(name, ""))
        same = isinstance(found, Comparison) and found.value == quote(name)
        return quote(name) if same else f"any_value({quote(name)})"

    @cached_property
    def _types(self) -> Mapping[str, str]:
        """Asked for each column, of which there may be hundreds."""
        return {column.stored: column.type for column in self.columns}


def entries_of(kind: str, value: str) -> str:
    return f"map_entries({value})" if kind.lower().startswith("map<") else value


def computed_id(stored: Stored, of: str = "") -> str:
    return row_id([stored.told_by(name, of) for name in stored.key])


def with_row_id(stored: Stored, rows: str) -> str:
    return f"SELECT *, {computed_id(stored)} AS {quote(ROW_ID)}\nFROM (\n{rows}\n)"
