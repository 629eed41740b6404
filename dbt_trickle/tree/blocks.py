"""A SELECT while it is written: what stands in its clauses, and its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from dbt_trickle.names import quote
from dbt_trickle.sql import verbatim
from dbt_trickle.sql.verbatim import Verbatim
from dbt_trickle.tree.algebra import Operator
from dbt_trickle.tree.values import Expr


@dataclass(frozen=True)
class Block:
    """What one SELECT has below its select list; `values` are the tree's columns in terms of its FROM clause."""

    values: Mapping[str, str]
    source: str
    where: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    having: tuple[str, ...] = ()
    grouped: bool = False
    computed: bool = False  # whether a value is that of a subquery: beside a join it would be another one
    viewed: bool = False  # whether the source ends with LATERAL VIEW, behind which no JOIN may stand
    over: bool = False  # whether a value is one over a window, which nothing but the select list may name

    def of(self, value: Expr) -> str:
        return verbatim.replaced(value.sql, {name: self.values[name] for name in value.columns})

    @property
    def tables_only(self) -> bool:
        return bool(self.source) and not (self.where or self.grouped or self.over or self.computed)


class Style(Enum):
    """Of one tree there are several texts: queries that Spark plans otherwise are understood as the same."""

    MERGED = "a filter over groups is HAVING"
    APART = "it is WHERE over a subquery"
    ALIASED = "what a SELECT computes is named by its alias further right"
    PLAIN = "a column that keeps its name has no alias"


@dataclass(frozen=True)
class Writer:
    at: Mapping[str, str]
    aliases: Iterator[str]  # for subqueries
    style: Style

    @property
    def plain(self) -> bool:
        return self.style is Style.PLAIN


def subquery(block: Block, tree: Operator, writer: Writer) -> Block:
    """What is computed over a window passes columns on under the names they have, or Spark makes others of them."""
    columns = tuple(name for name in tree.columns if name in block.values)  # UNPIVOT leaves some out
    labels = labels_of(columns) if block.over else columns
    chosen = {label: block.values[name] for label, name in zip(labels, columns, strict=True)}
    return named(select(block, chosen), columns, writer, labels)


def named(select: str, columns: tuple[str, ...], writer: Writer, labels: tuple[str, ...] = ()) -> Block:
    alias = quote(next(writer.aliases))
    named = zip(columns, labels or columns, strict=True)
    return Block({name: f"{alias}.{quote(label)}" for name, label in named}, f"(\n{select}\n) AS {alias}")


def labels_of(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Without the name of the relation, where they remain different."""
    short = tuple(name.partition(".")[2] or name for name in columns)
    return short if len({name.lower() for name in short}) == len(short) else columns


def select(block: Block, chosen: Mapping[str, str], plain: bool = False) -> str:
    text = "SELECT " + ", ".join(_called(value, name, plain or block.over) for name, value in chosen.items())
    text += f"\nFROM {block.source}" if block.source else ""
    for word, conditions in (("WHERE", block.where), ("GROUP BY", block.group), ("HAVING", block.having)):
        if conditions:
            joined = ", ".join(conditions) if word == "GROUP BY" else _all_of(conditions)
            text += f"\n{word} {joined}"
    return text


def _called(value: str, name: str, plain: bool) -> str:
    passed_on = plain and value.endswith(f".{quote(name)}") and len(Verbatim().tokenize(value)) == len("a.b")
    return value if passed_on else f"{value} AS {quote(name)}"


def _all_of(conditions: tuple[str, ...]) -> str:
    return conditions[0] if len(conditions) == 1 else " AND ".join(f"({each})" for each in conditions)
