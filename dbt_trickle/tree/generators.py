"""LATERAL VIEW, and generators in the select list: rows that are made of one row."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from dbt_trickle.names import RESERVED_PREFIX
from dbt_trickle.tree.algebra import Generate, Operator
from dbt_trickle.tree.binding import bound
from dbt_trickle.tree.expressions import expr
from dbt_trickle.tree.functions import GENERATORS
from dbt_trickle.tree.joining import Part, by_name, only
from dbt_trickle.tree.scope import Names, Scope, Visible
from dbt_trickle.tree.unsupported import not_yet

_MADE = f"{RESERVED_PREFIX}generated"


def viewed(tree: Operator, scope: Scope, lateral: exp.Lateral, names: Names) -> Part:
    """What LATERAL VIEW adds to a FROM clause."""
    only(lateral, "this", "view", "outer", "alias")
    alias = lateral.args.get("alias")
    called = [each.name for each in alias.columns] if alias is not None else []
    if alias is None or not lateral.args.get("view") or not called:
        raise not_yet("LATERAL VIEW without names for its columns", lateral)
    return generated(tree, scope, lateral.this, bool(lateral.args.get("outer")), called, alias.name, names)


def of_select(select: exp.Select, tree: Operator, scope: Scope, names: Names) -> tuple[exp.Select, Operator, Scope]:
    """The select list with columns where it had a generator; Spark allows one. A star does not give them."""
    found = [each for each in select.expressions if is_generator(each)]
    if not found:
        return select, tree, scope
    node = found[0]
    if len(found) > 1 or (node.output_name == "" and not isinstance(node, exp.Aliases)):
        raise not_yet("a generator without names for its columns", node)
    called = [each.name for each in node.expressions] if isinstance(node, exp.Aliases) else [node.alias]
    tree, wider = generated(tree, scope, node.this, False, called, "", names)
    new = tuple(replace(each, qualifier=(_MADE,)) for each in wider.columns[len(scope.columns) :])
    columns = [exp.alias_(exp.column(each.name, _MADE, quoted=True), each.name, quoted=True) for each in new]
    copied = select.copy()
    at = select.expressions.index(node)
    listed = copied.expressions
    copied.set("expressions", [*listed[:at], *columns, *listed[at + 1 :]])
    return copied, tree, Scope(scope.columns, scope.hidden + new)


def is_generator(node: exp.Expr) -> bool:
    call = node.this if isinstance(node, (exp.Alias, exp.Aliases)) else node
    return isinstance(call, exp.Anonymous) and call.name.lower() in GENERATORS


def is_star(query: exp.Select) -> bool:
    """Whether it shows all columns as they are."""
    if not query.is_star:
        return False
    first = query.expressions[0]
    if len(query.expressions) != 1 or not isinstance(first, exp.Star) or any(first.args.values()):
        raise not_yet("a star beside other columns, or with a name before it, in a subquery", query)
    return True


def is_apart(query: exp.Select) -> bool:
    """Whether its rows are not those of its FROM and WHERE, or what they are all together."""
    clauses = any(query.args.get(each) for each in ("group", "having", "distinct", "laterals"))
    return clauses or any(isinstance(each.unalias(), exp.Window) or is_generator(each) for each in query.expressions)


def generated(
    tree: Operator, scope: Scope, call: exp.Expr, outer: bool, called: list[str], alias: str, names: Names
) -> Part:
    if not isinstance(call, exp.Anonymous) or call.name.lower() not in GENERATORS:
        raise not_yet("LATERAL VIEW of another function", call)
    made = exp.Anonymous(this=call.name.lower(), expressions=[bound(each, by_name(scope)) for each in call.expressions])
    fresh = tuple(names.fresh(f"{alias}.{name}" if alias else name) for name in called)
    new = tuple(Visible(name, (alias,) if alias else (), column) for name, column in zip(called, fresh, strict=True))
    return Generate(tree, expr(made), outer, fresh), Scope(scope.columns + new, scope.hidden)
