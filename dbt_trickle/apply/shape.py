"""What a storage holds beside the output's columns, so that the next refresh can start from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from dbt_trickle.catalog.state import Column
from dbt_trickle.delta.aggregate.state import Stateful, loaded
from dbt_trickle.names import literal, quote
from dbt_trickle.tree.algebra import Project, scans
from dbt_trickle.tree.identity import ROW_ID, Identity, row_id
from dbt_trickle.tree.printed import printed

QUERY = "__pgt_query"
# What a storage holds, how it is computed (row ids, kept state), and by which checks the query was found to be
# understood: another release may do it otherwise.
FORMAT = 2
SAME_KEY = "[TRK-311] two rows have the same key"


@dataclass(frozen=True)
class Shape:
    """`groups`: the aggregate whose state is kept, where all its calls can be brought forward."""

    tree: Project
    columns: tuple[Column, ...]
    identity: Identity
    groups: Stateful | None
    why: str  # why no state is kept; empty where it is, or where there are no groups

    @property
    def hidden(self) -> tuple[tuple[str, str], ...]:
        return ((ROW_ID, "BIGINT"), *(self.groups.hidden if self.groups is not None else ()))

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(column.stored for column in self.columns)

    @property
    def stored(self) -> tuple[str, ...]:
        """All columns of the storage, in order."""
        return (*self.outputs, *(name for name, _ in self.hidden))

    @property
    def key(self) -> tuple[str, ...]:
        """The identifying columns, as stored; of a bag, all of the output's."""
        if self.identity.key is None:
            return self.outputs
        return tuple(self.columns[position].stored for position in self.identity.key)

    @property
    def mark(self) -> str:
        """One text that is the same as long as what is stored can be gone on from.

        With the tree, and the types that it reads: a view below may have become another one, or a column have got
        another type that gives an output of the same one, and what was found out about the query is not true of it.
        """
        fields = [(s.source, s.alias, f.source_name, f.type) for s in scans(self.tree) for f in s.fields]
        meant = hashlib.sha256(repr((printed(self.tree), fields)).encode()).hexdigest()[:16]
        return json.dumps([FORMAT, self.identity.key, self.hidden, meant], separators=(",", ":"))


def output(shape: Shape, rows: str, *, extra: str = "") -> str:
    """The output's columns under their stored names, and the hidden ones, from rows of the tree below its root."""
    items = [
        f"{item.value.sql} AS {quote(column.stored)}"
        for item, column in zip(shape.tree.items, shape.columns, strict=True)
    ]
    hidden = [quote(name) for name, _ in shape.hidden if name != ROW_ID]
    inner = f"SELECT {', '.join([*items, *hidden, *([extra] if extra else [])])}\nFROM (\n{rows}\n)"
    return with_row_id(shape, inner)


def with_row_id(shape: Shape, rows: str) -> str:
    identified = row_id([quote(name) for name in shape.key])
    return f"SELECT *, {identified} AS {quote(ROW_ID)}\nFROM (\n{rows}\n)"


def _of_one_key_each(shape: Shape, rows: str) -> str:
    """A declared key is nobody's promise. If one stood for two rows, a change of one would change both."""
    keys = [quote(name) for name in shape.key]
    alone = f"count(*) OVER (PARTITION BY {', '.join(keys)}) = 1"
    identified = f"IF({alone}, {row_id(keys)}, CAST(raise_error({literal(SAME_KEY)}) AS BIGINT))"
    return f"SELECT *, {identified} AS {quote(ROW_ID)}\nFROM (\n{rows}\n)"


def load(shape: Shape, query: str, at: Mapping[str, str]) -> str:
    """All stored columns, in order: from the user's own text, but where a group's state is to be kept with it.

    Then the rows come from the tree, of which Spark's plan was found to be the same as the text's.
    """
    if shape.groups is None:
        names = ", ".join(map(quote, shape.outputs))
        rows = f"SELECT * FROM (\n{query}\n) AS {quote(QUERY)} ({names})"
        found = _of_one_key_each(shape, rows) if shape.identity.is_declared else with_row_id(shape, rows)
    else:
        found = output(shape, loaded(shape.groups, at))
    return f"SELECT {', '.join(map(quote, shape.stored))}\nFROM (\n{found}\n)"
