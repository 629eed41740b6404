"""LATERAL in FROM: a subquery or a generator that reads the relations before it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dbt_trickle.names import RESERVED_PREFIX
from dbt_trickle.sql import verbatim
from dbt_trickle.sql.analysis import WITHOUT_PARENTHESES
from dbt_trickle.tree.algebra import Filter, InnerJoin, Lookup, Operator, OuterJoin, Project
from dbt_trickle.tree.binding import bound
from dbt_trickle.tree.clauses import OF_SELECTS, require_known
from dbt_trickle.tree.expressions import column, expr
from dbt_trickle.tree.functions import AGGREGATES, GENERATORS
from dbt_trickle.tree.generators import generated, is_apart, is_star
from dbt_trickle.tree.grouping import Grouped
from dbt_trickle.tree.joining import Part, by_name, condition_of, only
from dbt_trickle.tree.lookups import is_equality
from dbt_trickle.tree.relations import Place, scope_of, unwrapped
from dbt_trickle.tree.scope import Scope
from dbt_trickle.tree.subqueries import inside
from dbt_trickle.tree.unsupported import not_yet
from dbt_trickle.tree.values import Expr, Item, Lateral


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
    if not query.args.get("from_"):
        return _computed(join, query, lateral, left, place)
    if _takes_all(query):
        return _value(join, query, lateral, left, place, side)
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


def _computed(join: exp.Join, query: exp.Select, lateral: exp.Lateral, left: Part, place: Place) -> Part:
    """One row for each, of values of its own: they are columns beside its others."""
    more = any(value for key, value in query.args.items() if key != "expressions")
    if more or condition_of(join) is not None or _takes_all(query) or any(map(_makes_rows, query.expressions)):
        raise not_yet("LATERAL without FROM of more than values", lateral)
    _require_plain(query, lateral)
    values = [expr(bound(each.unalias(), by_name(left[1]))) for each in query.expressions]
    return _with_columns(left[0], values, query, lateral, left, place)


def _with_columns(
    rows: Operator, values: Sequence[Expr], query: exp.Select, lateral: exp.Lateral, left: Part, place: Place
) -> tuple[Project, Scope]:
    """The left side's columns, and beside them these values under the names that the query gives them."""
    fresh = [_named(each, place) for each in query.expressions]
    kept = (Item(each, expr(column(each))) for each in left[0].columns)
    made = (Item(name, value) for name, value in zip(fresh, values, strict=True))
    shown = tuple(zip(map(_called, query.expressions), fresh, strict=True))
    beside = left[1].beside(scope_of(shown, (lateral.alias,) if lateral.alias else (), lateral))
    return Project(rows, (*kept, *made)), beside


def _require_plain(query: exp.Select, lateral: exp.Lateral) -> None:
    """Spark takes a name for an alias further left, or for a function without parentheses, before it looks outside."""
    earlier = {name.lower() for name in (*WITHOUT_PARENTHESES, "user")}
    for each in query.expressions:
        names = {column.parts[0].name.lower() for column in each.find_all(exp.Column)}
        if found := sorted(names & earlier):
            raise not_yet(f"the name {found[0]}, which may be an alias or a function, in LATERAL without FROM", lateral)
        earlier.add(each.output_name.lower())


def _makes_rows(node: exp.Expr) -> bool:
    return any(isinstance(each, exp.Anonymous) and each.name.lower() in GENERATORS for each in node.walk())


def _takes_all(query: exp.Select) -> bool:
    """Whether it gives one row of all that it finds: a call stands in its select list, and nothing makes groups."""
    return not is_apart(query) and any(_aggregates(each) for each in query.expressions)


def _aggregates(node: exp.Expr) -> bool:
    own = node.walk(prune=lambda each: isinstance(each, exp.Query))
    return any(isinstance(each, exp.Anonymous) and each.name.lower() in AGGREGATES for each in own)


def _value(join: exp.Join, query: exp.Select, lateral: exp.Lateral, left: Part, place: Place, side: str) -> Part:
    """One value of several fields for each row, as a scalar subquery gives it: of no rows there is one, too."""
    require_known(query, OF_SELECTS, root=False)
    tree, scope, correlated = inside(query, left[1], place.with_ctes(query))
    if not all(is_equality(each, set(tree.columns)) for each in correlated):
        raise not_yet("LATERAL with an aggregate, correlated by another condition than equalities,", lateral)
    on = condition_of(join)
    if side and on is not None:
        raise not_yet("LEFT JOIN LATERAL of an aggregate with ON", lateral)
    grouped = Grouped(place.names, "")
    values = [grouped.above(bound(each.unalias(), by_name(scope), aggregates=True)) for each in query.expressions]
    items = tuple(Item(f"v{at}", expr(value)) for at, value in enumerate(values))
    fields = ", ".join(f"'{item.name}', {item.value.sql}" for item in items)
    read = frozenset().union(*(item.value.columns for item in items))
    name = place.names.numbered(f"{RESERVED_PREFIX}lookup")
    value = Item(name, Expr(f"named_struct({fields})", read))
    condition = expr(exp.and_(*correlated)) if correlated else None
    calls = tuple(grouped.calls.values())
    looked_up = Lookup(left[0], tree, condition, calls, value, Lateral(side == "LEFT", items))
    fields_of = [expr(column(name, (item.name,))) for item in items]
    result, beside = _with_columns(looked_up, fields_of, query, lateral, left, place)
    return (result if on is None else Filter(result, expr(bound(on, by_name(beside))))), beside


def _called(node: exp.Expr) -> str:
    """What is not named Spark names by its text, which nobody should rely on."""
    return node.output_name or verbatim.printed(node)


def _named(node: exp.Expr, place: Place) -> str:
    return place.names.fresh(node.output_name) if node.output_name else place.names.numbered("column")


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
        value = bound(each.unalias(), by_name(scope))
        name = value.name if isinstance(value, exp.Column) else _named(each, place)
        items[name] = Item(name, expr(value))
        shown.append((_called(each), name))
    if not items.keys() <= set(tree.columns):
        rest = (Item(name, expr(column(name))) for name in tree.columns if name not in items)
        tree = Project(tree, (*items.values(), *rest))
    return tree, tuple(shown), correlated
