"""What a storage holds beside the output's columns, so that the next refresh can start from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dbt_trickle.apply.stored import Stored, with_row_id
from dbt_trickle.delta.aggregate.state import Stateful, loaded
from dbt_trickle.formats.delta import at_version
from dbt_trickle.names import Relation, literal, quote
from dbt_trickle.tree.algebra import Project, Scan, scans
from dbt_trickle.tree.identity import ROW_ID, Identity, row_id
from dbt_trickle.tree.printed import line, printed
from dbt_trickle.tree.render import state

QUERY = "__pgt_query"
# What a storage holds, how it is computed (row ids, kept state), and by which checks the query was found to be
# understood: another release may do it otherwise.
FORMAT = 4
SAME_KEY = "[TRK-311] two rows have the same key"


@dataclass(frozen=True)
class Shape(Stored):
    """`groups`: the aggregate whose state is kept, where all its calls can be brought forward.

    `unseen`: so many of the columns, at the end, the query does not show.
    """

    tree: Project
    identity: Identity
    groups: Stateful | None
    why: str  # why no state is kept; empty where it is, or where there are no groups
    unseen: int = 0

    @property
    def hidden(self) -> tuple[tuple[str, str], ...]:
        """All that the public view does not show."""
        keys = self.columns[len(self.columns) - self.unseen :]
        return (*((column.stored, column.type) for column in keys), *self._beside)

    @property
    def _beside(self) -> tuple[tuple[str, str], ...]:
        return ((ROW_ID, "BIGINT"), *(self.groups.hidden if self.groups is not None else ()))

    @property
    def shown(self) -> tuple[str, ...]:
        return self.outputs[: len(self.columns) - self.unseen]

    @property
    def stored(self) -> tuple[str, ...]:
        return (*self.outputs, *(name for name, _ in self._beside))

    @cached_property
    def _types(self) -> Mapping[str, str]:
        """Of the kept state as well, which is compared with what it is now."""
        return {**{column.stored: column.type for column in self.columns}, **dict(self._beside)}

    @property
    def stores_ids(self) -> bool:
        return True

    def id_of(self, of: str = "") -> str:
        return f"{of}{quote(ROW_ID)}"

    def rows_at(self, storage: Relation, version: int) -> str:
        return at_version(storage.sql, version)

    @property
    def key(self) -> tuple[str, ...]:
        if self.identity.key is None:
            return self.outputs
        return tuple(self.columns[position].stored for position in self.identity.key)

    @property
    def mark(self) -> str:
        """One text that is the same as long as what is stored can be gone on from.

        With the tree, and the types that it reads: a view below may have become another one, or a column have got
        another type that gives an output of the same one, and what was found out about the query is not true of it.
        """
        fields = [(s.source, s.alias, f.source_name, f.type) for s in scans(self.tree) for f in _in_order(s).fields]
        query = replace(self.tree, items=self.tree.items[: len(self.tree.items) - self.unseen])
        text = printed(query)
        for scan in scans(query):
            text = text.replace(line(scan), line(_in_order(scan)))
        meant = hashlib.sha256(repr((text, fields)).encode()).hexdigest()[:16]
        return json.dumps([FORMAT, self.identity.key, self.hidden, meant], separators=(",", ":"))


def _in_order(scan: Scan) -> Scan:
    """Which columns are read tells a query from another one, and not in which order the source has them."""
    return replace(scan, fields=tuple(sorted(scan.fields, key=lambda field: field.source_name)))


def same_query(mark: str, other: str) -> bool:
    """Whether what differs is only how it is stored: by another release, or another variable of the project."""
    return bool(mark and other) and json.loads(mark)[-1] == json.loads(other)[-1]


def output(shape: Shape, rows: str, *, extra: str = "") -> str:
    """All columns under their stored names, from rows of the tree below its root."""
    items = [
        f"{item.value.sql} AS {quote(column.stored)}"
        for item, column in zip(shape.tree.items, shape.columns, strict=True)
    ]
    kept = [quote(name) for name, _ in shape.groups.hidden] if shape.groups is not None else []
    inner = f"SELECT {', '.join([*items, *kept, *([extra] if extra else [])])}\nFROM (\n{rows}\n)"
    return with_row_id(shape, inner)


def _of_one_key_each(shape: Shape, rows: str) -> str:
    """A declared key is nobody's promise. If one stood for two rows, a change of one would change both."""
    keys = [shape.told_by(name) for name in shape.key]
    alone = f"count(*) OVER (PARTITION BY {', '.join(keys)}) = 1"
    identified = f"IF({alone}, {row_id(keys)}, CAST(raise_error({literal(SAME_KEY)}) AS BIGINT))"
    return f"SELECT *, {identified} AS {quote(ROW_ID)}\nFROM (\n{rows}\n)"


def load(shape: Shape, query: str, at: Mapping[str, str]) -> str:
    """All stored columns, in order: from the user's own text, unless more is stored than it shows.

    Then the rows come from the tree, of which Spark's plan was found to be the same as the text's.
    """
    if shape.groups is not None:
        found = output(shape, loaded(shape.groups, at))
    elif shape.unseen:
        found = output(shape, state(shape.tree.child, at))
    else:
        names = ", ".join(map(quote, shape.outputs))
        rows = f"SELECT * FROM (\n{query}\n) AS {quote(QUERY)} ({names})"
        found = _of_one_key_each(shape, rows) if shape.identity.is_declared else with_row_id(shape, rows)
    return f"SELECT {', '.join(map(quote, shape.stored))}\nFROM (\n{found}\n)"
