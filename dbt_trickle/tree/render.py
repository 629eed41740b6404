"""The state of a tree as one SELECT of Spark's: what the query's rows are at given versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import singledispatch

from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import RESERVED_PREFIX, quote
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
)
from dbt_trickle.tree.values import Call, Item


def state(tree: Operator, at: Mapping[str, str]) -> str:
    """The tree's rows, with its names as columns. `at` has the FROM text of each source, and may have that of a
    recursion.
    """
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
def _(tree: Reference, at: Mapping[str, str]) -> list[str]:
    fields = (f"{quote(field.source_name)} AS {quote(field.name)}" for field in tree.fields)
    return [_select(fields), f"FROM {at[tree.of]} AS {quote(tree.alias)}"]


@_lines.register
def _(tree: Recursive, at: Mapping[str, str]) -> list[str]:
    chosen = _select(map(quote, tree.columns))
    if tree.name in at:
        return [chosen, f"FROM {at[tree.name]}"]
    head = [chosen, "FROM (", f"  WITH RECURSIVE {quote(tree.name)} AS ("]
    levels = (f"    {line}" for line in _levels(tree, quote(tree.name), at))
    return [*head, *levels, "  )", f"  {chosen} FROM {quote(tree.name)}", ")"]


def levels(tree: Recursive, itself: str, at: Mapping[str, str]) -> str:
    """What WITH RECURSIVE has to say of it; `itself`: the FROM text by which it names itself."""
    return "\n".join(_levels(tree, itself, at))


def _levels(tree: Recursive, itself: str, at: Mapping[str, str]) -> list[str]:
    return [*_lines(tree.base, at), "UNION ALL", *_lines(tree.step, {**at, tree.name: itself})]


@_lines.register
def _(tree: Constant, at: Mapping[str, str]) -> list[str]:
    places = [quote(f"{RESERVED_PREFIX}value_{i}") for i in range(len(tree.names))]
    chosen = (f"{place} AS {quote(name)}" for place, name in zip(places, tree.names, strict=True))
    return [_select(chosen), f"FROM {spelled_out(tree)} AS {quote(f'{RESERVED_PREFIX}values')}({', '.join(places)})"]


def spelled_out(tree: Constant) -> str:
    return "VALUES " + ", ".join(f"({', '.join(each.sql for each in row)})" for row in tree.rows)


@_lines.register
def _(tree: Filter, at: Mapping[str, str]) -> list[str]:
    return [_select(map(quote, tree.columns)), "FROM (", *_below(tree.child, at), f") WHERE {tree.condition.sql}"]


@_lines.register
def _(tree: Project, at: Mapping[str, str]) -> list[str]:
    return [_select(map(_item, tree.items)), "FROM (", *_below(tree.child, at), ")"]


@_lines.register(InnerJoin)
@_lines.register(OuterJoin)
@_lines.register(SemiJoin)
def _(tree: InnerJoin | OuterJoin | SemiJoin, at: Mapping[str, str]) -> list[str]:
    head = [_select(map(quote, tree.columns)), "FROM ("]
    end = ")" if tree.condition is None else f") ON {tree.condition.sql}"
    return [*head, *_below(tree.left, at), f") {join_word(tree)} (", *_below(tree.right, at), end]


def join_word(tree: InnerJoin | OuterJoin | SemiJoin) -> str:
    match tree:
        case InnerJoin():
            return "CROSS JOIN" if tree.condition is None else "INNER JOIN"
        case OuterJoin():
            return f"{tree.kind} JOIN"
        case SemiJoin():
            return "LEFT ANTI JOIN" if tree.anti else "LEFT SEMI JOIN"


@_lines.register(UnionAll)
@_lines.register(SetOperation)
def _(tree: UnionAll | SetOperation, at: Mapping[str, str]) -> list[str]:
    word = tree.word if isinstance(tree, SetOperation) else "UNION ALL"
    head = f"{_select(map(quote, tree.columns))} FROM ("
    return [head, *_below(tree.left, at), f"  {word}", *_below(tree.right, at), ")"]


@_lines.register
def _(tree: Generate, at: Mapping[str, str]) -> list[str]:
    chosen, view = generated(tree)
    return [f"SELECT {chosen}", "FROM (", *_below(tree.child, at), f") {view}"]


def generated(tree: Generate) -> tuple[str, str]:
    """The select list over a LATERAL VIEW, and that: a name with a dot in it is another one there."""
    made = [quote(f"{RESERVED_PREFIX}made_{i}") for i in range(len(tree.names))]
    chosen = [*map(quote, tree.child.columns), *(f"{m} AS {quote(n)}" for m, n in zip(made, tree.names, strict=True))]
    outer, alias = "OUTER " if tree.outer else "", quote(f"{RESERVED_PREFIX}generated")
    return ", ".join(chosen), f"LATERAL VIEW {outer}{tree.call.sql} {alias} AS {', '.join(made)}"


@_lines.register
def _(tree: Mark, at: Mapping[str, str]) -> list[str]:
    """Joins, not subqueries in expressions: of several in one SELECT Spark 4.1 loses columns that they read."""
    found: list[str] = []
    for word, value in (("LEFT SEMI JOIN", "true"), ("LEFT ANTI JOIN", "false")):
        chosen = [*map(quote, tree.child.columns), f"{value} AS {quote(tree.name)}"]
        found += ["  UNION ALL"] if found else []
        found += [f"  {_select(chosen)}", "  FROM (", *(f"  {line}" for line in _below(tree.child, at))]
        found += [f"  ) {word} ("]
        found += [*(f"  {line}" for line in _below(tree.query, at)), f"  ) ON {tree.condition.sql}"]
    return [f"{_select(map(quote, tree.columns))} FROM (", *found, ")"]


@_lines.register
def _(tree: Lookup, at: Mapping[str, str]) -> list[str]:
    value, beside = value_of(tree, at, tree.name)
    head = f"{_select(map(quote, tree.child.columns))},"
    return [head, *value.split("\n"), "FROM (", *_below(tree.child, at), ")", *filter(None, beside.split("\n"))]


def value_of(tree: Lookup, at: Mapping[str, str], name: str) -> tuple[str, str]:
    """Of a row of its child: what stands in SELECT, under that name, and behind the FROM.

    What is asked for each row is joined, not selected: a SELECT over a union is moved into its branches, where
    Spark 4.1 looks for the subquery's own columns in vain ("key not found"). A delta is such a union.
    """
    where = f" WHERE {tree.condition.sql}" if tree.condition is not None else ""
    rows = [f"  {line}" for line in _below(tree.query, at)]
    value, shown = looked_up(tree), quote(name)
    if tree.condition is None or not tree.calls:
        return "\n".join(["(", f"  SELECT {value} FROM (", *rows, f"  ){where}", f") AS {shown}"]), ""
    alias = quote(f"{RESERVED_PREFIX}for_{name.removeprefix(RESERVED_PREFIX)}")
    asked = [
        "LEFT JOIN LATERAL (",
        f"  SELECT {value} AS {shown} FROM (",
        *rows,
        f"  ){where}",
        f") AS {alias} ON true",
    ]
    return shown, "\n".join(asked)


def looked_up(tree: Lookup) -> str:
    """The value over the subquery's rows."""
    calls = {call.name: verbatim.atomic(call.value.sql) for call in tree.calls}
    return verbatim.replaced(tree.item.value.sql, calls)


@_lines.register
def _(tree: Aggregate, at: Mapping[str, str]) -> list[str]:
    # By expression: a number in GROUP BY would be a position, but no key is a constant.
    keys = f" GROUP BY {', '.join(key.value.sql for key in tree.keys)}" if tree.keys else ""
    head = _select([*map(_item, tree.keys), *map(_call, tree.calls)])
    return [head, "FROM (", *_below(tree.child, at), f"){keys}"]


@_lines.register
def _(tree: TopK, at: Mapping[str, str]) -> list[str]:
    by = ", ".join(f"{quote(key.column)}{key.direction}" for key in tree.keys)
    end = f") ORDER BY {by} LIMIT {tree.limit}"
    return [_select(map(quote, tree.columns)), "FROM (", *_below(tree.child, at), end]


@_lines.register
def _(tree: Window, at: Mapping[str, str]) -> list[str]:
    calls = (f"{call.value.sql} AS {quote(call.name)}" for call in tree.calls)
    return [_select([*map(quote, tree.child.columns), *calls]), "FROM (", *_below(tree.child, at), ")"]


def _below(tree: Operator, at: Mapping[str, str]) -> list[str]:
    return [f"  {line}" for line in _lines(tree, at)]


def _select(chosen: Iterable[str]) -> str:
    return "SELECT " + ", ".join(chosen)


def _item(item: Item) -> str:
    plain = quote(item.name)
    return plain if item.value.sql == plain else f"{item.value.sql} AS {plain}"


def _call(call: Call) -> str:
    return f"{call.value.sql} AS {quote(call.name)}"
