"""A tree as lines of text for people: one operator a line, what it reads below it."""

from __future__ import annotations

from functools import singledispatch
from textwrap import indent

from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import Aggregate, Filter, InnerJoin, Item, Operator, Project, Scan, UnionAll
from dbt_trickle.tree.render import call_sql


def printed(tree: Operator) -> str:
    return "\n".join([line(tree), *(indent(printed(child), "  ") for child in tree.inputs)])


@singledispatch
def line(operator: Operator) -> str:
    raise TrickleBug(f"{type(operator).__name__} cannot be printed")


@line.register
def _(operator: Scan) -> str:
    return f"Scan {operator.source} as {operator.alias}: {', '.join(field.source_name for field in operator.fields)}"


@line.register
def _(operator: Filter) -> str:
    return f"Filter {operator.condition.sql}"


@line.register
def _(operator: Project) -> str:
    return f"Project {', '.join(map(_item, operator.items))}"


@line.register
def _(operator: InnerJoin) -> str:
    return "CrossJoin" if operator.condition is None else f"InnerJoin {operator.condition.sql}"


@line.register
def _(operator: UnionAll) -> str:
    return "UnionAll"


@line.register
def _(operator: Aggregate) -> str:
    calls = [f"{call.name} := {call_sql(call)}" for call in operator.calls]
    by = [f"by {', '.join(map(_item, operator.keys))}"] if operator.keys else []
    return f"Aggregate {' | '.join([*([', '.join(calls)] if calls else []), *by])}"


def _item(item: Item) -> str:
    return item.name if item.value.sql == quote(item.name) else f"{item.name} := {item.value.sql}"
