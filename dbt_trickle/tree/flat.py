"""A tree as a query that a person would write: one SELECT for each block, its aggregates where they are used.

state() in render.py says the same operator by operator. Spark plans that one otherwise than the user's query (an
aggregate used twice is computed once, below); this one is for comparing with it, and for reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import singledispatch

from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import quote
from dbt_trickle.sql import verbatim
from dbt_trickle.tree.algebra import Aggregate, Expr, Filter, InnerJoin, Operator, Project, Scan, UnionAll, walk


@dataclass(frozen=True)
class Block:
    """What one SELECT has below its select list; `values` are the tree's columns in terms of its FROM clause."""

    values: Mapping[str, str]
    source: str
    where: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    having: tuple[str, ...] = ()
    grouped: bool = False

    def of(self, value: Expr) -> str:
        return verbatim.replaced(value.sql, {name: self.values[name] for name in value.columns})

    @property
    def tables_only(self) -> bool:
        return not self.where and not self.grouped


@dataclass(frozen=True)
class Writer:
    at: Mapping[str, str]
    aliases: Iterator[str]  # for subqueries
    merged: bool


def flat(tree: Project, at: Mapping[str, str], merged: bool = True) -> str:
    """The tree's rows as one query; `at` has the FROM text of each source.

    A filter over groups is HAVING, or (not merged) WHERE over a subquery: the tree is the same for both.
    """
    taken = {each.alias.lower() for each in walk(tree) if isinstance(each, Scan)}
    aliases = (name for name in (f"q{number}" for number in range(1, 10_000)) if name not in taken)
    return _projected(tree, Writer(at, aliases, merged))


@singledispatch
def _block(tree: Operator, writer: Writer) -> Block:
    raise TrickleBug(f"{type(tree).__name__} cannot be written as SQL")


@_block.register
def _(tree: Scan, writer: Writer) -> Block:
    alias = quote(tree.alias)
    values = {field.name: f"{alias}.{quote(field.source_name)}" for field in tree.fields}
    return Block(values, f"{writer.at[tree.source]} AS {alias}")


@_block.register
def _(tree: Filter, writer: Writer) -> Block:
    below = _block(tree.child, writer)
    condition = below.of(tree.condition)
    if below.grouped:
        return replace(below, having=(*below.having, condition))
    return replace(below, where=(*below.where, condition))


@_block.register
def _(tree: InnerJoin, writer: Writer) -> Block:
    left, right = _as_table(tree.left, writer), _as_table(tree.right, writer, alone=True)
    both = Block({**left.values, **right.values}, "")
    if tree.condition is None:
        return replace(both, source=f"{left.source}\nCROSS JOIN {right.source}")
    return replace(both, source=f"{left.source}\nJOIN {right.source} ON {both.of(tree.condition)}")


@_block.register
def _(tree: UnionAll, writer: Writer) -> Block:
    return _union("UNION ALL", tree, writer)


def _union(word: str, tree: UnionAll, writer: Writer) -> Block:
    """Its columns are called as the query calls them: Spark does not remove an alias of a column of a union."""
    labels = _labels(tree.columns)
    branches = (_projected(each, writer, labels) for each in (tree.left, tree.right))
    return _named(f"\n{word}\n".join(branches), tree.columns, writer, labels)


def _labels(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Without the name of the relation, where they remain different."""
    short = tuple(name.partition(".")[2] or name for name in columns)
    return short if len({name.lower() for name in short}) == len(short) else columns


@_block.register
def _(tree: Aggregate, writer: Writer) -> Block:
    if not tree.calls and isinstance(tree.child, UnionAll) and tree.columns == tree.child.columns:
        # Of UNIONs in one another Spark makes one, of groups of groups it does not.
        return _union("UNION", tree.child, writer)
    below = _block(tree.child, writer)
    if below.grouped:
        below = _subquery(below, tree.child, writer)
    keys = {key.name: below.of(key.value) for key in tree.keys}
    calls = {
        call.name: f"{call.function}({'*' if call.argument is None else below.of(call.argument)})"
        for call in tree.calls
    }
    values = {**{name: verbatim.atomic(value) for name, value in keys.items()}, **calls}
    block = replace(below, values=values, group=tuple(keys.values()), grouped=True)
    return block if writer.merged else _subquery(block, tree, writer)


@_block.register
def _(tree: Project, writer: Writer) -> Block:
    """Within a tree it is a subquery: what it computes may be used above more than once."""
    return _named(_projected(tree, writer), tree.columns, writer)


def _projected(tree: Project, writer: Writer, labels: tuple[str, ...] = ()) -> str:
    below = _block(tree.child, writer)
    used = frozenset().union(*(item.value.columns for item in tree.items))
    if below.grouped and not (below.group or below.having or used):
        # Without a call in it nothing would say that this SELECT has one row.
        below = _subquery(below, tree.child, writer)
    values = (below.of(item.value) for item in tree.items)
    return _select(below, dict(zip(labels or tree.columns, values, strict=True)))


def _as_table(tree: Operator, writer: Writer, alone: bool = False) -> Block:
    """Something that can stand beside JOIN."""
    block = _block(tree, writer)
    if not block.tables_only or (alone and isinstance(tree, InnerJoin)):
        return _subquery(block, tree, writer)
    return block


def _subquery(block: Block, tree: Operator, writer: Writer) -> Block:
    return _named(_select(block, {name: block.values[name] for name in tree.columns}), tree.columns, writer)


def _named(select: str, columns: tuple[str, ...], writer: Writer, labels: tuple[str, ...] = ()) -> Block:
    alias = quote(next(writer.aliases))
    named = zip(columns, labels or columns, strict=True)
    return Block({name: f"{alias}.{quote(label)}" for name, label in named}, f"(\n{select}\n) AS {alias}")


def _select(block: Block, chosen: Mapping[str, str]) -> str:
    text = "SELECT " + ", ".join(f"{value} AS {quote(name)}" for name, value in chosen.items())
    text += f"\nFROM {block.source}"
    for word, conditions in (("WHERE", block.where), ("GROUP BY", block.group), ("HAVING", block.having)):
        if conditions:
            joined = ", ".join(conditions) if word == "GROUP BY" else _all_of(conditions)
            text += f"\n{word} {joined}"
    return text


def _all_of(conditions: tuple[str, ...]) -> str:
    return conditions[0] if len(conditions) == 1 else " AND ".join(f"({each})" for each in conditions)
