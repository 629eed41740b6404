"""A tree as lines of text for people: one operator a line, what it reads below it."""

from __future__ import annotations

from functools import singledispatch
from textwrap import indent

from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import quote
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
from dbt_trickle.tree.render import looked_up, spelled_out
from dbt_trickle.tree.values import Item


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
def _(operator: OuterJoin) -> str:
    return f"{operator.kind.capitalize()}Join {operator.condition.sql}"


@line.register
def _(operator: SemiJoin) -> str:
    return f"{'AntiJoin' if operator.anti else 'SemiJoin'} {operator.condition.sql}"


@line.register
def _(operator: UnionAll) -> str:
    return "UnionAll"


@line.register
def _(operator: Aggregate) -> str:
    calls = [f"{call.name} := {call.value.sql}" for call in operator.calls]
    by = [f"by {', '.join(map(_item, operator.keys))}"] if operator.keys else []
    return f"Aggregate {' | '.join([*([', '.join(calls)] if calls else []), *by])}"


@line.register
def _(operator: SetOperation) -> str:
    return operator.word.title().replace(" ", "")


@line.register
def _(operator: Generate) -> str:
    return f"Generate {', '.join(operator.names)} := {'outer ' if operator.outer else ''}{operator.call.sql}"


@line.register
def _(operator: Lookup) -> str:
    on = f" where {operator.condition.sql}" if operator.condition is not None else ""
    return f"Lookup {operator.item.name} := {looked_up(operator)}{on}"


@line.register
def _(operator: Mark) -> str:
    return f"Mark {operator.name} := any {operator.condition.sql}"


@line.register
def _(operator: Constant) -> str:
    return f"Constant {', '.join(operator.names)} := {spelled_out(operator)}"


@line.register
def _(operator: TopK) -> str:
    return f"TopK {operator.limit} by {', '.join(key.column + key.direction for key in operator.keys)}"


@line.register
def _(operator: Recursive) -> str:
    return f"Recursive {operator.name}: {', '.join(operator.columns)}"


@line.register
def _(operator: Reference) -> str:
    return f"Reference {operator.of} as {operator.alias}"


@line.register
def _(operator: Window) -> str:
    calls = ", ".join(f"{call.name} := {call.value.sql}" for call in operator.calls)
    return f"Window {calls} | by {', '.join(each.sql for each in operator.partition)}"


def _item(item: Item) -> str:
    return item.name if item.value.sql == quote(item.name) else f"{item.name} := {item.value.sql}"
