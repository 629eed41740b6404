"""The state of a tree as one SELECT of Spark's: what the query's rows are at given versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import singledispatch

from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import Aggregate, Call, Filter, InnerJoin, Item, Operator, Project, Scan, UnionAll


def state(tree: Operator, at: Mapping[str, str]) -> str:
    """The tree's rows, with its names as columns. `at` has the FROM text of each source."""
    return "\n".join(_lines(tree, at))


# Lines, and not one text that is indented: a literal may go over several lines, and spaces in it count.
@singledispatch
def _lines(tree: Operator, at: Mapping[str, str]) -> list[str]:
    raise TrickleBug(f"{type(tree).__name__} cannot be written as SQL")


@_lines.register
def _(tree: Scan, at: Mapping[str, str]) -> list[str]:
    fields = (f"{quote(field.source_name)} AS {quote(field.name)}" for field in tree.fields)
    return [_select(fields), f"FROM {at[tree.source]} AS {quote(tree.alias)}"]


@_lines.register
def _(tree: Filter, at: Mapping[str, str]) -> list[str]:
    return [_select(map(quote, tree.columns)), "FROM (", *_below(tree.child, at), f") WHERE {tree.condition.sql}"]


@_lines.register
def _(tree: Project, at: Mapping[str, str]) -> list[str]:
    return [_select(map(_item, tree.items)), "FROM (", *_below(tree.child, at), ")"]


@_lines.register
def _(tree: InnerJoin, at: Mapping[str, str]) -> list[str]:
    join = ") CROSS JOIN (" if tree.condition is None else ") INNER JOIN ("
    end = ")" if tree.condition is None else f") ON {tree.condition.sql}"
    head = [_select(map(quote, tree.columns)), "FROM ("]
    return [*head, *_below(tree.left, at), join, *_below(tree.right, at), end]


@_lines.register
def _(tree: UnionAll, at: Mapping[str, str]) -> list[str]:
    return [
        f"{_select(map(quote, tree.columns))} FROM (",
        *_below(tree.left, at),
        "  UNION ALL",
        *_below(tree.right, at),
        ")",
    ]


@_lines.register
def _(tree: Aggregate, at: Mapping[str, str]) -> list[str]:
    # By expression: a number in GROUP BY would be a position, but no key is a constant.
    keys = f" GROUP BY {', '.join(key.value.sql for key in tree.keys)}" if tree.keys else ""
    head = _select([*map(_item, tree.keys), *map(_call, tree.calls)])
    return [head, "FROM (", *_below(tree.child, at), f"){keys}"]


def call_sql(call: Call) -> str:
    return f"{call.function}({'*' if call.argument is None else call.argument.sql})"


def _below(tree: Operator, at: Mapping[str, str]) -> list[str]:
    return [f"  {line}" for line in _lines(tree, at)]


def _select(chosen: Iterable[str]) -> str:
    return "SELECT " + ", ".join(chosen)


def _item(item: Item) -> str:
    plain = quote(item.name)
    return plain if item.value.sql == plain else f"{item.value.sql} AS {plain}"


def _call(call: Call) -> str:
    return f"{call_sql(call)} AS {quote(call.name)}"
