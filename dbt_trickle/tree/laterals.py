"""LATERAL in FROM: a subquery or a generator that reads the relations before it."""

from __future__ import annotations

from sqlglot import exp

from dbt_trickle.tree.algebra import InnerJoin, Operator, OuterJoin, Project
from dbt_trickle.tree.binding import bound
from dbt_trickle.tree.calls import has_aggregate
from dbt_trickle.tree.clauses import OF_SELECTS, require_known
from dbt_trickle.tree.expressions import column, expr
from dbt_trickle.tree.generators import generated, is_apart, is_star
from dbt_trickle.tree.joining import Part, by_name, condition_of, only
from dbt_trickle.tree.relations import Place, scope_of, unwrapped
from dbt_trickle.tree.scope import Scope
from dbt_trickle.tree.subqueries import inside
from dbt_trickle.tree.unsupported import not_yet
from dbt_trickle.tree.values import Expr, Item


def joined_lateral(join: exp.Join, left: Part, place: Place) -> Part:
    side, lateral = str(join.args.get("side") or "").upper(), join.this
    if side not in ("", "LEFT"):
        raise not_yet(f"{side} JOIN LATERAL", join)
    only(join, "this", "side", "kind", "on")
    only(lateral, "this", "alias")
    if isinstance(lateral.this, exp.Anonymous):
        return _generator(join, lateral, left, place, side)
    query = unwrapped(lateral.this)
    if not isinstance(query, exp.Select):
        raise not_yet("LATERAL with a set operation", lateral)
    tree, scope, correlated = _rows(query, lateral, left[1], place)
    new = scope_of(scope, (lateral.alias,) if lateral.alias else (), lateral)
    beside = left[1].beside(new)
    on = condition_of(join)
    if on is not None:
        correlated = [*correlated, bound(on, by_name(beside))]
    condition = expr(exp.and_(*correlated)) if correlated else None
    if side == "LEFT":
        return OuterJoin("LEFT", left[0], tree, condition or Expr("TRUE")), beside
    return InnerJoin(left[0], tree, condition), beside


def _generator(join: exp.Join, lateral: exp.Lateral, left: Part, place: Place, side: str) -> Part:
    """Spark 4.1 makes no row of LEFT JOIN LATERAL explode(…) where there is nothing: a later one may."""
    alias = lateral.args.get("alias")
    called = [each.name for each in alias.columns] if alias is not None else []
    if side or not called or condition_of(join) is not None:
        raise not_yet("LATERAL of a generator with LEFT, with ON, or without names for its columns", lateral)
    return generated(*left, lateral.this, False, called, lateral.alias, place.names)


def _rows(
    query: exp.Select, lateral: exp.Lateral, outer: Scope, place: Place
) -> tuple[Operator, tuple[tuple[str, str], ...], list[exp.Expr]]:
    """The subquery's rows whatever is outside, what it calls their columns, and for which of them they are."""
    require_known(query, OF_SELECTS, root=False)
    if is_apart(query):
        raise not_yet("LATERAL with a subquery that takes its rows together", lateral)
    tree, scope, correlated = inside(query, outer, place.with_ctes(query))
    if is_star(query):
        return tree, tuple((each.name, each.column) for each in scope.star((), query)), correlated
    shown, items = [], {}
    for each in query.expressions:
        value = bound(each.unalias(), by_name(scope), aggregates=True)
        if has_aggregate(value) or not each.output_name:
            raise not_yet("LATERAL with an aggregate, or a value without a name,", lateral)
        name = value.name if isinstance(value, exp.Column) else place.names.fresh(each.output_name)
        items[name] = Item(name, expr(value))
        shown.append((each.output_name, name))
    if not items.keys() <= set(tree.columns):
        rest = (Item(name, expr(column(name))) for name in tree.columns if name not in items)
        tree = Project(tree, (*items.values(), *rest))
    return tree, tuple(shown), correlated
