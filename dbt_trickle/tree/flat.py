"""A tree as a query that a person would write: one SELECT for each block, its aggregates where they are used.

state() in render.py says the same operator by operator. Spark plans that one otherwise than the user's query (an
aggregate used twice is computed once, below); this one is for comparing with it, and for reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import singledispatch

from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import quote
from dbt_trickle.sql import verbatim
from dbt_trickle.tree.algebra import (
    Aggregate,
    Constant,
    Filter,
    Generate,
    InnerJoin,
    Lookup,
    Mark,
    Operator,
    OuterJoin,
    Project,
    Recursive,
    Reference,
    Scan,
    SemiJoin,
    SetOperation,
    TopK,
    UnionAll,
    Window,
    walk,
)
from dbt_trickle.tree.blocks import Block, Style, Writer, labels_of, named, select, subquery
from dbt_trickle.tree.lateral_aliases import by_aliases
from dbt_trickle.tree.pivot_text import pivot, unpivot
from dbt_trickle.tree.render import join_word, looked_up, spelled_out
from dbt_trickle.tree.values import Expr, Lateral, Pivoted, Predicate


def flat(tree: Project, at: Mapping[str, str], style: Style = Style.MERGED) -> str:
    """The tree's rows as one query; `at` has the FROM text of each source."""
    taken = {each.alias.lower() for each in walk(tree) if isinstance(each, (Scan, Reference))}
    aliases = (name for name in (f"q{number}" for number in range(1, 10_000)) if name not in taken)
    writer = Writer(at, aliases, style)
    if not isinstance(tree.child, TopK):
        return _projected(tree, writer)
    top = tree.child
    called = {item.value.sql: item.name for item in tree.items}
    by = ", ".join(f"{quote(called[quote(key.column)])}{key.direction}" for key in top.keys)
    return f"{_projected(top.child, writer, tree.columns)}\nORDER BY {by}\nLIMIT {top.limit}"


@singledispatch
def _block(tree: Operator, writer: Writer) -> Block:
    raise TrickleBug(f"{type(tree).__name__} cannot be written as SQL")


@_block.register
def _(tree: Scan, writer: Writer) -> Block:
    alias = quote(tree.alias)
    values = {field.name: f"{alias}.{quote(field.source_name)}" for field in tree.fields}
    return Block(values, f"{writer.at[tree.source]} AS {alias}")


@_block.register
def _(tree: Reference, writer: Writer) -> Block:
    alias = quote(tree.alias)
    values = {field.name: f"{alias}.{quote(field.source_name)}" for field in tree.fields}
    return Block(values, f"{quote(tree.of)} AS {alias}")


@_block.register
def _(tree: Recursive, writer: Writer) -> Block:
    base, step = (_projected(each, writer, tree.columns) for each in (tree.base, tree.step))
    levels = f"WITH RECURSIVE {quote(tree.name)} AS (\n{base}\nUNION ALL\n{step}\n)"
    chosen = ", ".join(map(quote, tree.columns))
    return named(f"{levels}\nSELECT {chosen} FROM {quote(tree.name)}", tree.columns, writer)


@_block.register
def _(tree: Constant, writer: Writer) -> Block:
    if tree.alone:
        return Block({tree.names[0]: tree.rows[0][0].sql}, "")
    alias, labels = quote(next(writer.aliases)), labels_of(tree.names)
    values = {name: f"{alias}.{quote(label)}" for name, label in zip(tree.names, labels, strict=True)}
    return Block(values, f"{spelled_out(tree)} AS {alias}({', '.join(map(quote, labels))})")


@_block.register
def _(tree: Filter, writer: Writer) -> Block:
    below = _block(tree.child, writer)
    if below.over:
        below = subquery(below, tree.child, writer)
    condition = below.of(tree.condition)
    if below.grouped:
        return replace(below, having=(*below.having, condition))
    return replace(below, where=(*below.where, condition))


@_block.register
def _(tree: SemiJoin, writer: Writer) -> Block:
    if tree.predicate is None:
        return _join(tree, writer)
    left = _block(tree.left, writer)
    if left.grouped or left.over:
        left = subquery(left, tree.left, writer)
    return replace(left, where=(*left.where, _predicate(left, tree.right, tree.predicate, tree.anti, writer)))


@_block.register
def _(tree: Mark, writer: Writer) -> Block:
    below = _block(tree.child, writer)
    text = _predicate(below, tree.query, tree.predicate, False, writer)
    return replace(below, values={**below.values, tree.name: verbatim.atomic(text)}, computed=True)


def _predicate(left: Block, query: Operator, predicate: Predicate, denied: bool, writer: Writer) -> str:
    right = _block(query, writer)
    outside, mine, others = predicate.correlated, predicate.mine, predicate.others
    if right.over or (right.grouped and outside is not None):
        right = subquery(right, query, writer)
    both = Block({**left.values, **right.values}, "")
    if outside is not None:
        right = replace(right, where=(*right.where, both.of(outside)))
    shown = {f"v{i}": right.of(each) for i, each in enumerate(others)} or {"one": "1"}
    text, word = f"(\n{select(right, shown)}\n)", "NOT " if denied else ""
    if not mine:
        return f"{word}EXISTS {text}"
    values = ", ".join(left.of(each) for each in mine)
    return f"{values if len(mine) == 1 else f'({values})'} {word}IN {text}"


@_block.register(InnerJoin)
@_block.register(OuterJoin)
def _join(tree: InnerJoin | OuterJoin | SemiJoin, writer: Writer) -> Block:
    left, right = (
        subquery(block, side, writer) if block.viewed else block
        for side, block in (
            (tree.left, _as_table(tree.left, writer)),
            (tree.right, _as_table(tree.right, writer, alone=True)),
        )
    )
    both = Block({**left.values, **right.values}, "")
    on = f" ON {both.of(tree.condition)}" if tree.condition is not None else ""
    shown = left.values if isinstance(tree, SemiJoin) else both.values
    return Block(shown, f"{left.source}\n{join_word(tree)} {right.source}{on}")


@_block.register
def _(tree: UnionAll, writer: Writer) -> Block:
    return _union("UNION ALL", tree, writer)


@_block.register
def _(tree: SetOperation, writer: Writer) -> Block:
    return _union(tree.word, tree, writer)


@_block.register
def _(tree: Generate, writer: Writer) -> Block:
    if tree.unpivoted is not None:
        return unpivot(tree, tree.unpivoted, _block(tree.child, writer), writer)
    below = _as_table(tree.child, writer)
    alias, labels = quote(next(writer.aliases)), labels_of(tree.names)
    view = f"LATERAL VIEW {'OUTER ' if tree.outer else ''}{below.of(tree.call)} {alias}"
    values = {name: f"{alias}.{quote(label)}" for name, label in zip(tree.names, labels, strict=True)}
    return Block({**below.values, **values}, f"{below.source}\n{view} AS {', '.join(map(quote, labels))}", viewed=True)


@_block.register
def _(tree: Lookup, writer: Writer) -> Block:
    below = _block(tree.child, writer) if tree.lateral is None else _as_table(tree.child, writer)
    found = _block(tree.query, writer)
    if (found.grouped or found.over) and (tree.calls or tree.condition is not None):
        found = subquery(found, tree.query, writer)
    if tree.condition is not None:
        both = Block({**below.values, **found.values}, "")
        found = replace(found, where=(*found.where, both.of(tree.condition)))
    if tree.lateral is not None:
        return _lateral(tree, tree.lateral, below, found, writer)
    value = found.of(Expr(looked_up(tree), frozenset(tree.query.columns)))
    text = f"(\n{select(found, {tree.item.name: value})}\n)"
    return replace(below, values={**below.values, tree.item.name: text}, computed=True)


def _lateral(tree: Lookup, how: Lateral, below: Block, found: Block, writer: Writer) -> Block:
    """The relation stands for the value, and its columns for the fields."""
    below = subquery(below, tree.child, writer) if below.viewed else below
    read = frozenset(tree.query.columns)
    shown = {item.name: found.of(Expr(looked_up(replace(tree, item=item)), read)) for item in how.items}
    alias = quote(next(writer.aliases))
    word = "LEFT" if how.left else "CROSS"
    source = f"{below.source}\n{word} JOIN LATERAL (\n{select(found, shown)}\n) AS {alias}"
    return Block({**below.values, tree.name: alias}, source)


def _union(word: str, tree: UnionAll | SetOperation, writer: Writer) -> Block:
    """Its columns are called as the query calls them: Spark does not remove an alias of a column of a union."""
    labels = labels_of(tree.columns)
    branches = (_projected(each, writer, labels) for each in (tree.left, tree.right))
    return named(f"\n{word}\n".join(branches), tree.columns, writer, labels)


@_block.register
def _(tree: Aggregate, writer: Writer) -> Block:
    if tree.pivoted is not None:
        return pivot(tree, tree.pivoted, _block(_pivoted_rows(tree, tree.pivoted), writer), writer)
    if not tree.calls and isinstance(tree.child, UnionAll) and tree.columns == tree.child.columns:
        # Of UNIONs in one another Spark makes one, of groups of groups it does not.
        return _union("UNION", tree.child, writer)
    rows = tree.child.child if tree.grouping is not None and isinstance(tree.child, Generate) else tree.child
    below = _block(rows, writer)
    if below.grouped or below.over:
        below = subquery(below, rows, writer)
    if tree.grouping is None:
        keys = {key.name: below.of(key.value) for key in tree.keys}
        group = tuple(keys.values())
    else:
        texts = [below.of(key) for key in tree.grouping.keys]
        keys = dict(zip((key.name for key in tree.keys), [*texts, "grouping_id()"], strict=True))
        sets = (f"({', '.join(texts[at] for at in each)})" for each in tree.grouping.sets)
        group = (f"GROUPING SETS ({', '.join(sets)})",)
    calls = {call.name: below.of(call.value) for call in tree.calls}
    values = {**{name: verbatim.atomic(value) for name, value in keys.items()}, **calls}
    block = replace(below, values=values, group=group, grouped=True)
    return subquery(block, tree, writer) if writer.style is Style.APART else block


def _pivoted_rows(tree: Aggregate, how: Pivoted) -> Operator:
    if not how.apart:
        return tree.child
    groups = tree.child.child if isinstance(tree.child, Project) else tree.child
    if not isinstance(groups, Aggregate):
        raise TrickleBug("the values of a PIVOT are not computed below it")
    return groups.child


@_block.register
def _(tree: Window, writer: Writer) -> Block:
    below = _block(tree.child, writer)
    read = frozenset().union(*(each.columns for each in (*tree.partition, *(call.value for call in tree.calls))))
    if below.over and not read <= _plain(tree.child):
        below = subquery(below, tree.child, writer)
    calls = {call.name: below.of(call.value) for call in tree.calls}
    return replace(below, values={**below.values, **calls}, over=True)


def _plain(tree: Operator) -> frozenset[str]:
    """The columns that no window has made."""
    return _plain(tree.child) if isinstance(tree, Window) else frozenset(tree.columns)


@_block.register
def _(tree: Project, writer: Writer) -> Block:
    """Within a tree it is a subquery: what it computes may be used above more than once."""
    block, chosen = _selected(tree, writer)
    short = dict(zip(tree.columns, labels_of(tree.columns), strict=True))
    chosen = {short.get(label, label): text for label, text in chosen.items()}
    return named(select(block, chosen), tree.columns, writer, tuple(chosen))


def _projected(tree: Project, writer: Writer, labels: tuple[str, ...] = ()) -> str:
    return select(*_selected(tree, writer, labels), plain=writer.plain)


def _selected(tree: Project, writer: Writer, labels: tuple[str, ...] = ()) -> tuple[Block, dict[str, str]]:
    below = _block(tree.child, writer)
    used = frozenset().union(*(item.value.columns for item in tree.items))
    if below.grouped and not (below.group or below.having or used):
        # Without a call in it nothing would say that this SELECT has one row.
        below = subquery(below, tree.child, writer)
    values = (below.of(item.value) for item in tree.items)
    chosen = dict(zip(labels or tree.columns, values, strict=True))
    return below, by_aliases(chosen) if writer.style is Style.ALIASED and not labels else chosen


def _as_table(tree: Operator, writer: Writer, alone: bool = False) -> Block:
    """Something that can stand beside JOIN."""
    block = _block(tree, writer)
    if not block.tables_only or (alone and isinstance(tree, (InnerJoin, OuterJoin, SemiJoin))):
        return subquery(block, tree, writer)
    return block
