"""Expressions: taken apart, put together and written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from dbt_trickle.sql import verbatim
from dbt_trickle.tree.values import Expr

_ATOMS = (exp.Column, exp.Literal, exp.Paren, exp.Anonymous, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.Boolean)
# What Not may stand in without parentheses: elsewhere it would take in what follows it.
_TAKES_NOT = (exp.And, exp.Or, exp.Not, exp.Paren, exp.Case, exp.If)


def rebuilt(node: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The same node over changed children."""

    def changed(child: object) -> object:
        if isinstance(child, list):
            return [changed(each) for each in child]
        if not isinstance(child, exp.Expr) or isinstance(child, exp.Identifier):
            return child.copy() if isinstance(child, exp.Expr) else child
        result = change(child)
        return exp.Paren(this=result) if isinstance(result, exp.Not) and not isinstance(node, _TAKES_NOT) else result

    result = type(node)(**{key: changed(value) for key, value in node.args.items()})
    result.meta.update({key: value for key, value in node.meta.items() if key == "start"})
    return result


def name_parts(node: exp.Expr) -> tuple[str, ...]:
    """a.b.c as the parts of its name; nothing where it is something else (f(x).c, t.*)."""
    if isinstance(node, exp.Column):
        return tuple(part.name for part in node.parts) if isinstance(node.this, exp.Identifier) else ()
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        before = name_parts(node.this)
        return (*before, node.expression.name) if before else ()
    return ()


def column(name: str, fields: tuple[str, ...] = (), where: exp.Expr | None = None) -> exp.Expr:
    result: exp.Expr = exp.Column(this=exp.Identifier(this=name, quoted=True))
    for each in fields:
        result = exp.Dot(this=result, expression=exp.Identifier(this=each, quoted=True))
    begin = verbatim.begin(where) if where is not None else None
    if begin is not None:
        result.meta["start"] = begin
    return result


def within(node: exp.Expr) -> exp.Expr:
    """The expression so that it may be put into another one."""
    return node.copy() if isinstance(node, _ATOMS) else exp.Paren(this=node.copy())


def expr(node: exp.Expr) -> Expr:
    return Expr(verbatim.printed(node), frozenset(columns(node)))


def columns(node: exp.Expr) -> Iterator[str]:
    return (each.name for each in node.find_all(exp.Column))
