"""Names become columns of the tree; only what is known passes.

A node of the parser's that is not listed here is refused, and so is an argument of a listed node: a new
version of the parser may add either, and a printed query without it would be another query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from dbt_trickle.sql import verbatim
from dbt_trickle.sql.verbatim import AROUND
from dbt_trickle.tree.calls import is_aggregate
from dbt_trickle.tree.expressions import name_parts, rebuilt
from dbt_trickle.tree.functions import (
    AGGREGATES,
    NEED_AN_ARGUMENT,
    OF_GROUPING_SETS,
    OF_LAMBDAS,
    OVER_WINDOWS,
    SCALARS,
    UNIT_FIRST,
)
from dbt_trickle.tree.lambdas import with_own_variables
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
    exp.Distinct: "DISTINCT in this place",
    exp.Lambda: "a lambda in this place",
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


def bound(
    node: exp.Expr, resolve: Resolve, aggregates: bool = False, inside: bool = False, windows: bool = False
) -> exp.Expr:
    """The expression with its names resolved. `aggregates`: whether they may stand here; `inside` one of them."""
    if isinstance(node, (exp.Column, exp.Dot)) and (parts := name_parts(node)):
        return resolve(parts, node, inside)
    if isinstance(node, exp.Transform):  # the parser knows this one as another function
        node = exp.Anonymous(this="transform", expressions=[node.this, node.expression])
    if isinstance(node, exp.Anonymous):
        return _call(node, resolve, aggregates, inside, windows)
    if isinstance(node, exp.Window) and windows:
        return _window(node, resolve, aggregates)
    if isinstance(node, AROUND):
        return _around(node, resolve, aggregates, inside)
    _require_known(node)
    return rebuilt(node, lambda child: bound(child, resolve, aggregates, inside, windows))


def _call(node: exp.Anonymous, resolve: Resolve, aggregates: bool, inside: bool, windows: bool) -> exp.Expr:
    if isinstance(node.this, exp.Identifier):
        raise not_yet(f"the function {node.name}()", node)
    name, arguments = str(node.this).lower(), list(node.expressions)
    if name in AGGREGATES:
        if not aggregates or inside:
            raise unsupported(f"{name}() cannot be maintained in this place", node)
        return _aggregate(AGGREGATES[name], arguments, resolve)
    if name in OF_GROUPING_SETS and aggregates and not inside:
        return exp.Anonymous(this=name, expressions=[bound(each, resolve) for each in arguments])
    if name == "arrays_zip":
        arguments = [_of_no_column(each, node) for each in arguments]
    if name == "struct":
        return _struct(arguments, resolve, aggregates, inside, windows)
    known = name in SCALARS or name in OF_LAMBDAS or is_of_the_user(node)
    if not known or (name in NEED_AN_ARGUMENT and not arguments):
        raise not_yet(f"the function {name}()", node)
    units = []
    if name in UNIT_FIRST and len(arguments) == 3:
        unit = arguments.pop(0)
        if not isinstance(unit, exp.Column) or len(unit.parts) != 1:
            raise not_yet(f"{name}() with this unit", node)
        units = [exp.Var(this=unit.name)]

    def argument(each: exp.Expr) -> exp.Expr:
        if isinstance(each, exp.Lambda) and name in OF_LAMBDAS:
            own = with_own_variables(each)
            return exp.Lambda(this=bound(own.this, resolve, False, inside), expressions=own.expressions)
        if isinstance(each, exp.Kwarg):
            return exp.Kwarg(this=each.this.copy(), expression=argument(each.expression))
        return bound(each, resolve, aggregates, inside, windows)

    result = exp.Anonymous(this=name, expressions=[*units, *map(argument, arguments)])
    result.meta.update({key: value for key, value in node.meta.items() if key == "start"})
    return result


def is_of_the_user(call: exp.Anonymous) -> bool:
    """By a schema before its name. Those that a query may not call were refused before (build.py)."""
    return "." in call.name and "`" not in call.name


def _of_no_column(argument: exp.Expr, zipped: exp.Expr) -> exp.Expr:
    """Fields of arrays_zip() are named after columns, and by their places where it is given something else.

    What is an expression here may become a column of the tree. coalesce() of it is none, and to Spark's optimizer the
    same as what is in it.
    """
    if isinstance(argument.unnest(), (exp.Column, exp.Dot, exp.Identifier, exp.Var)):
        raise not_yet("arrays_zip() of columns, after which it names its fields,", zipped)
    if isinstance(argument, exp.Anonymous) and argument.name.lower() == "coalesce":
        return argument
    return exp.Anonymous(this="coalesce", expressions=[argument])


def _struct(arguments: Sequence[exp.Expr], resolve: Resolve, aggregates: bool, inside: bool, windows: bool) -> exp.Expr:
    """Its fields are named after the columns that it is given, which have other names in the tree."""
    made: list[exp.Expr] = []
    for at, each in enumerate(arguments, start=1):
        if each.is_star:
            raise not_yet("struct() of a star", each)
        named = isinstance(each, (exp.Alias, exp.Column, exp.Dot)) and each.output_name
        value = bound(each.unalias(), resolve, aggregates, inside, windows)
        made.append(exp.Alias(this=value, alias=exp.Identifier(this=named or f"col{at}", quoted=True)))
    return exp.Anonymous(this="struct", expressions=made)


def _aggregate(name: str, arguments: list[exp.Expr], resolve: Resolve) -> exp.Expr:
    distinct = isinstance(arguments[0], exp.Distinct) if arguments else False
    if distinct:
        _require_only(arguments[0], "expressions")
        arguments = arguments[0].expressions
    # A constant that is never NULL counts rows, as Spark has it, too.
    everything = len(arguments) == 1 and isinstance(arguments[0], exp.Star) and not any(arguments[0].args.values())
    constant = len(arguments) == 1 and isinstance(arguments[0], exp.Literal)
    if name == "count" and not distinct and (everything or constant):
        return exp.Anonymous(this=name, expressions=[exp.Star()])
    values = [bound(each, resolve, True, True) for each in arguments]
    return exp.Anonymous(this=name, expressions=[exp.Distinct(expressions=values)] if distinct else values)


def _window(node: exp.Window, resolve: Resolve, aggregates: bool) -> exp.Expr:
    """Its arguments and keys may be aggregates: it is computed of groups then."""
    _require_only(node, "this", "partition_by", "order", "spec", "over")

    def inner(each: exp.Expr) -> exp.Expr:
        return bound(each, resolve, aggregates)

    def called(call: exp.Expr) -> exp.Expr:
        match call:
            case exp.IgnoreNulls() | exp.RespectNulls():
                _require_only(call, "this")
                return type(call)(this=called(call.this))
            case exp.Filter(expression=exp.Where() as where):
                return exp.Filter(this=called(call.this), expression=exp.Where(this=inner(where.this)))
            case exp.Anonymous() if call.name.lower() in OVER_WINDOWS:
                star = call.name.lower() == "count" and len(call.expressions) == 1 and call.expressions[0].is_star
                values: list[exp.Expr] = [exp.Star()] if star else [inner(each) for each in call.expressions]
                return exp.Anonymous(this=call.name.lower(), expressions=values)
            case _:
                raise _refused(node)

    spec = node.args.get("spec")
    if spec is not None and any(spec.find_all(exp.Column, exp.Subquery)):
        raise _refused(node)
    order = node.args.get("order")
    return exp.Window(
        this=called(node.this),
        partition_by=[inner(each) for each in node.args.get("partition_by") or ()],
        order=ordered(order, inner) if order is not None else None,
        spec=spec.copy() if spec is not None else None,
        over=node.args.get("over"),
    )


def _around(node: exp.Expr, resolve: Resolve, aggregates: bool, inside: bool) -> exp.Expr:
    call = bound(node.this, resolve, aggregates, inside)
    if not is_aggregate(call):
        raise _refused(node)
    match node:
        case exp.Filter(expression=exp.Where() as where):
            _require_only(node, "this", "expression")
            return exp.Filter(this=call, expression=exp.Where(this=bound(where.this, resolve, True, True)))
        case exp.WithinGroup(expression=exp.Order() as order):
            _require_only(node, "this", "expression")
            return exp.WithinGroup(this=call, expression=ordered(order, lambda each: bound(each, resolve, True, True)))
        case exp.IgnoreNulls() | exp.RespectNulls():
            _require_only(node, "this")
            return type(node)(this=call)
        case _:
            raise _refused(node)


def ordered(order: exp.Order, change: Callable[[exp.Expr], exp.Expr]) -> exp.Order:
    """ORDER BY over changed expressions."""
    found = []
    for each in order.expressions:
        if not isinstance(each, exp.Ordered):
            raise _refused(each)
        _require_only(each, "this", "desc", "nulls_first")
        found.append(exp.Ordered(**{**each.args, "this": change(each.this)}))
    return exp.Order(expressions=found)


def _require_only(node: exp.Expr, *known: str) -> None:
    if any(value and key not in known for key, value in node.args.items()):
        raise _refused(node)


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
