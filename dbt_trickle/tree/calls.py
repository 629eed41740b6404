"""Calls of aggregates: FILTER, DISTINCT, WITHIN GROUP, IGNORE NULLS around the function and its arguments."""

from __future__ import annotations

from sqlglot import exp

from dbt_trickle.sql.verbatim import AROUND
from dbt_trickle.tree.expressions import expr
from dbt_trickle.tree.functions import AGGREGATES
from dbt_trickle.tree.values import Call


def is_aggregate(node: exp.Expr) -> bool:
    """Over a window the same function is none: it makes no groups."""
    whole = node
    while isinstance(whole.parent, AROUND) and whole.arg_key == "this":
        whole = whole.parent
    if isinstance(whole.parent, exp.Window) and whole.arg_key == "this":
        return False
    while isinstance(node, AROUND):
        node = node.this
    return isinstance(node, exp.Anonymous) and node.name in AGGREGATES


def has_aggregate(node: exp.Expr) -> bool:
    return any(is_aggregate(each) for each in node.walk())


def aggregate_of(node: exp.Expr) -> exp.Anonymous:
    while isinstance(node, AROUND):
        node = node.this
    if not isinstance(node, exp.Anonymous):
        raise TypeError(f"{type(node).__name__} is no aggregate")
    return node


def call_of(name: str, node: exp.Expr) -> Call:
    call = aggregate_of(node)
    around = _around(node)
    counted = _all_there(call)
    first = counted or (call.expressions[0] if call.expressions else exp.Star())
    distinct = isinstance(first, exp.Distinct)
    function = f"{call.name} distinct" if distinct else call.name
    of_rows = (counted is not None or len(call.expressions) < 2) and not distinct and around <= {exp.Filter}
    argument = None
    if isinstance(first, exp.Distinct) and len(first.expressions) == 1:
        argument = first.expressions[0]  # its type is asked for
    if of_rows and not isinstance(first, exp.Star):
        argument = first
    if of_rows and isinstance(node, exp.Filter):
        argument = _where(argument if argument is not None else exp.Literal.number(1), node.expression.this)
    return Call(name, function, expr(node), None if argument is None else expr(argument), of_rows)


def _all_there(call: exp.Anonymous) -> exp.Expr | None:
    """count(a, b) counts the rows in which none of them is NULL."""
    values = call.expressions
    if call.name != "count" or len(values) < 2 or any(isinstance(each, (exp.Star, exp.Distinct)) for each in values):
        return None
    there = [exp.Not(this=exp.Is(this=exp.Paren(this=each.copy()), expression=exp.Null())) for each in values]
    return exp.Case(ifs=[exp.If(this=exp.and_(*there, copy=False), true=exp.Literal.number(1))])


def _around(node: exp.Expr) -> set[type[exp.Expr]]:
    found: set[type[exp.Expr]] = set()
    while isinstance(node, AROUND):
        found.add(type(node))
        node = node.this
    return found


def _where(value: exp.Expr, condition: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])
