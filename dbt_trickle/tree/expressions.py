"""Expressions: only what is known, with each column under its name in the tree.

A node of the parser's that is not listed here is refused, and so is an argument of a listed node: a new
version of the parser may add either, and a printed query without it would be another query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sqlglot import exp

from dbt_trickle.sql import verbatim
from dbt_trickle.tree.algebra import Expr
from dbt_trickle.tree.functions import AGGREGATES, NEED_AN_ARGUMENT, SCALARS, UNIT_FIRST
from dbt_trickle.tree.unsupported import Unsupported, not_yet, unsupported

# What a name means: (its parts, its place, whether within an aggregate's argument) → the column, or a refusal.
Resolve = Callable[[tuple[str, ...], exp.Expr, bool], exp.Expr]

_TWO = frozenset({"this", "expression"})
_ONE = frozenset({"this"})
_KNOWN: dict[type[exp.Expr], frozenset[str]] = {
    **dict.fromkeys([exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Mod, exp.And, exp.Or], _TWO),
    **dict.fromkeys([exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ], _TWO),
    **dict.fromkeys([exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.Escape, exp.Extract, exp.Is], _TWO),
    **dict.fromkeys([exp.Paren, exp.Neg, exp.Not, exp.BitwiseNot, exp.Boolean, exp.Var, exp.DataTypeParam], _ONE),
    exp.Null: frozenset(),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Div: _TWO | {"typed", "safe"},
    exp.DPipe: _TWO | {"safe"},
    **dict.fromkeys([exp.Like, exp.ILike, exp.RegexpLike], _TWO | {"negate"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Between: frozenset({"this", "low", "high"}),
    **dict.fromkeys([exp.Cast, exp.TryCast], frozenset({"this", "to", "safe"})),
    exp.DataType: frozenset({"this", "expressions", "nested"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.Bracket: frozenset({"this", "expressions", "offset", "safe"}),
    exp.Dot: _TWO,
    exp.Identifier: frozenset({"this", "quoted"}),
}
_CALLED: dict[type[exp.Expr], str] = {
    exp.Window: "a window function",
    exp.Filter: "a FILTER clause",
    exp.Distinct: "an aggregate of DISTINCT values",
    exp.WithinGroup: "WITHIN GROUP",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS",
    exp.Lambda: "a function with a lambda",
    exp.Transform: "a function with a lambda",
}
_TYPES = frozenset(
    exp.DType[name]
    for name in """BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL TEXT BINARY DATE TIMESTAMPTZ TIMESTAMPNTZ
    TIMESTAMPLTZ""".split()
)
# DATE 'today' is another day tomorrow, and so is TIMESTAMP '08:00'.
_YEAR_FIRST = re.compile(r"""['"]\s*[-+]?\d{4}""")
# Compared with a moment, such a text is that time of today.
_A_TIME_ONLY = re.compile(r"""['"]\s*T?\d{1,2}:""")
_TEMPORAL = re.compile(r"DATE|TIMESTAMP")
_ATOMS = (exp.Column, exp.Literal, exp.Paren, exp.Anonymous, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.Boolean)
# What Not may stand in without parentheses: elsewhere it would take in what follows it.
_TAKES_NOT = (exp.And, exp.Or, exp.Not, exp.Paren, exp.Case, exp.If)


def bound(node: exp.Expr, resolve: Resolve, aggregates: bool = False, inside: bool = False) -> exp.Expr:
    """The expression with its names resolved. `aggregates`: whether they may stand here; `inside` one of them."""
    if isinstance(node, (exp.Column, exp.Dot)) and (parts := name_parts(node)):
        return resolve(parts, node, inside)
    if isinstance(node, exp.Anonymous):
        return _call(node, resolve, aggregates, inside)
    _require_known(node)
    return rebuilt(node, lambda child: bound(child, resolve, aggregates, inside))


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
    result.meta.update({key: value for key, value in node.meta.items() if key == "line"})
    return result


def name_parts(node: exp.Expr) -> tuple[str, ...]:
    """a.b.c as the parts of its name; nothing where it is something else (f(x).c, t.*)."""
    if isinstance(node, exp.Column):
        return () if isinstance(node.this, exp.Star) else tuple(part.name for part in node.parts)
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        before = name_parts(node.this)
        return (*before, node.expression.name) if before else ()
    return ()


def column(name: str, fields: tuple[str, ...] = (), where: exp.Expr | None = None) -> exp.Expr:
    result: exp.Expr = exp.Column(this=exp.Identifier(this=name, quoted=True))
    for each in fields:
        result = exp.Dot(this=result, expression=exp.Identifier(this=each, quoted=True))
    lines = [part.meta["line"] for part in where.walk() if "line" in part.meta] if where is not None else []
    if lines:
        result.meta["line"] = min(lines)
    return result


def within(node: exp.Expr) -> exp.Expr:
    """The expression so that it may be put into another one."""
    return node.copy() if isinstance(node, _ATOMS) else exp.Paren(this=node.copy())


def is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name in AGGREGATES


def has_aggregate(node: exp.Expr) -> bool:
    return any(is_aggregate(each) for each in node.walk())


def expr(node: exp.Expr) -> Expr:
    return Expr(verbatim.printed(node), frozenset(columns(node)))


def columns(node: exp.Expr) -> Iterator[str]:
    return (each.name for each in node.find_all(exp.Column))


def _call(node: exp.Anonymous, resolve: Resolve, aggregates: bool, inside: bool) -> exp.Expr:
    if isinstance(node.this, exp.Identifier):
        raise not_yet(f"the function {node.name}()", node)
    name, arguments = str(node.this).lower(), list(node.expressions)
    if name in AGGREGATES:
        if not aggregates or inside:
            raise unsupported(f"{name}() cannot be maintained in this place", node)
        return _aggregate(AGGREGATES[name], arguments, node, resolve)
    if name not in SCALARS or (name in NEED_AN_ARGUMENT and not arguments):
        raise not_yet(f"the function {name}()", node)
    units = []
    if name in UNIT_FIRST and len(arguments) == 3:
        unit = arguments.pop(0)
        if not isinstance(unit, exp.Column) or len(unit.parts) != 1:
            raise not_yet(f"{name}() with this unit", node)
        units = [exp.Var(this=unit.name)]
    result = exp.Anonymous(
        this=name, expressions=[*units, *(bound(each, resolve, aggregates, inside) for each in arguments)]
    )
    result.meta.update({key: value for key, value in node.meta.items() if key == "line"})
    return result


def _aggregate(name: str, arguments: list[exp.Expr], node: exp.Expr, resolve: Resolve) -> exp.Expr:
    if len(arguments) != 1:
        raise not_yet(f"{name}() with {len(arguments)} arguments", node)
    argument = arguments[0]
    # A constant that is never NULL counts rows, as Spark has it, too.
    everything = isinstance(argument, exp.Star) and not any(argument.args.values())
    if name == "count" and (everything or isinstance(argument, exp.Literal)):
        return exp.Anonymous(this=name, expressions=[exp.Star()])
    return exp.Anonymous(this=name, expressions=[bound(argument, resolve, True, True)])


def _require_known(node: exp.Expr) -> None:
    known = _KNOWN.get(type(node))
    if known is None:
        raise _refused(node)
    if any(value and key not in known for key, value in node.args.items()):
        raise _refused(node)
    match node:
        case exp.DataType() if node.this not in _TYPES:
            raise not_yet(f"a cast to {verbatim.printed(node)}", node.parent)
        case exp.Cast() | exp.TryCast():
            literal = isinstance(node.this, exp.Literal) and node.this.is_string
            if literal and _TEMPORAL.match(verbatim.printed(node.to)) and not _YEAR_FIRST.match(node.this.this):
                raise unsupported(f"{verbatim.printed(node.to)} {node.this.this} may be another moment later", node)
        case exp.Literal() if node.is_string and _A_TIME_ONLY.match(node.this):
            raise unsupported(f"{node.this} may be taken for a time of today", node)
        case exp.Is() if not isinstance(node.expression, (exp.Null, exp.Boolean)):
            raise _refused(node)
        case exp.Dot() if not isinstance(node.expression, exp.Identifier):
            raise _refused(node)
        case _:
            pass


def _refused(node: exp.Expr) -> Unsupported:
    if isinstance(node, exp.Query) or any(isinstance(value, exp.Query) for value in node.args.values()):
        return not_yet("a subquery in an expression", node)
    if type(node) in _CALLED:
        return not_yet(_CALLED[type(node)], node)
    return not_yet(f"the expression {verbatim.printed(node)[:60]}", node)
