"""WHERE with subqueries: EXISTS and IN are semi joins, NOT EXISTS and NOT IN anti joins, as Spark plans them.

Where they stand by themselves or between ANDs: elsewhere their truth is a value like others (lookups.py). A
subquery may read the outer query's columns in its own WHERE clause: those conditions join the two.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from dbt_trickle.tree.algebra import Filter, Operator, SemiJoin
from dbt_trickle.tree.binding import Resolve, bound, is_of_the_user
from dbt_trickle.tree.clauses import OF_SELECTS, require_known
from dbt_trickle.tree.expressions import column, expr, name_parts
from dbt_trickle.tree.functions import OVER_WINDOWS
from dbt_trickle.tree.generators import is_apart, is_star
from dbt_trickle.tree.joining import by_name
from dbt_trickle.tree.lookups import Lookups, Reader
from dbt_trickle.tree.members import Member
from dbt_trickle.tree.relations import Place, relations, unwrapped
from dbt_trickle.tree.scope import Scope
from dbt_trickle.tree.unsupported import not_yet, unsupported


def filtered(tree: Operator, scope: Scope, where: exp.Where | None, place: Place) -> Operator:
    if where is None:
        return tree
    parts = list(conjuncts(where.this))
    subqueries = [found for each in parts if (found := _subquery(each)) is not None]
    plain = [each for each in parts if _subquery(each) is None] if subqueries else [where.this]
    if plain:
        lookups = Lookups(scope, place, READER)
        taken = [lookups.taken_out(each, filtering=True) for each in plain]
        resolve = lookups.resolve(by_name(scope))
        conditions = [bound(each, resolve) for each in taken]
        tree = Filter(lookups.below(tree), expr(exp.and_(*conditions) if subqueries else conditions[0]))
    for node, denied in subqueries:
        tree = _joined(tree, scope, node, denied, place)
    return tree


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    plain = condition.unnest()
    if isinstance(plain, exp.And):
        yield from conjuncts(plain.this)
        yield from conjuncts(plain.expression)
    else:
        yield condition


def _subquery(condition: exp.Expr) -> tuple[exp.Exists | exp.In, bool] | None:
    """EXISTS or IN, and whether it is denied."""
    plain = condition.unnest()
    denied = False
    while isinstance(plain, exp.Not):
        plain, denied = plain.this.unnest(), not denied
    if isinstance(plain, exp.Exists) or (isinstance(plain, exp.In) and plain.args.get("query") is not None):
        return plain, denied
    return None


def _joined(tree: Operator, scope: Scope, node: exp.Exists | exp.In, denied: bool, place: Place) -> Operator:
    member = _member(node, scope, place)
    return SemiJoin(tree, member.query, member.condition(denied), denied, member.predicate)


def _member(node: exp.Expr, scope: Scope, place: Place) -> Member:
    query = unwrapped(node.this if isinstance(node, exp.Exists) else node.args["query"])
    right, values, correlated = _right(query, scope, place, shown=isinstance(node, exp.In))
    mine = [bound(each, by_name(scope)) for each in _left(node)] if isinstance(node, exp.In) else []
    if len(mine) != len(values):
        raise unsupported(f"IN compares {len(mine)} values with {len(values)} columns", node)
    return Member(right, correlated, mine, values)


def _left(node: exp.Expr) -> list[exp.Expr]:
    plain = node.this.unnest()
    return list(plain.expressions) if isinstance(plain, exp.Tuple) else [node.this]


def _right(query: exp.Expr, outer: Scope, place: Place, shown: bool) -> tuple[Operator, list[exp.Expr], list[exp.Expr]]:
    """The subquery's rows, its columns' values where they are `shown`, and the conditions that read the outer query."""
    if not isinstance(query, exp.Select) or not _is_plain(query):
        tree, columns = place.query(query, place, "")
        return tree, [column(name) for _, name in columns] if shown else [], []
    require_known(query, OF_SELECTS, root=False)
    tree, scope, correlated = inside(query, outer, place)
    return tree, _values(query, scope) if shown else [], correlated


def inside(query: exp.Select, outer: Scope, place: Place) -> tuple[Operator, Scope, list[exp.Expr]]:
    """What a subquery's select list is over, and the conditions of its WHERE that read the outer query."""
    tree, scope = relations(query, place)
    mine, correlated = [], []
    where = query.args.get("where")
    for each in conjuncts(where.this) if where else ():
        if each.find(exp.Query) is None and _reads_outside(each, scope):
            if any(is_of_the_user(call) and _reads_outside(call, scope) for call in each.find_all(exp.Anonymous)):
                # Spark 4.1 joins the outer rows once more for its parameters.
                raise not_yet("a function of your own over columns of the outer query, in a subquery,", each)
            correlated.append(bound(each, _in_either(scope, outer)))
        else:
            mine.append(each)
    if mine:
        tree = filtered(tree, scope, exp.Where(this=exp.and_(*mine)), place)
    return tree, scope, correlated


def _is_plain(query: exp.Select) -> bool:
    """Whether each of its rows is one of FROM's, so that who joins it may as well join that."""
    return not (is_apart(query) or query.args.get("with_") or any(map(_takes_rows_together, query.expressions)))


def _takes_rows_together(node: exp.Expr) -> bool:
    own = node.walk(prune=lambda each: isinstance(each, exp.Query))
    return any(isinstance(each, exp.Anonymous) and each.name.lower() in OVER_WINDOWS for each in own)


def _values(query: exp.Select, scope: Scope) -> list[exp.Expr]:
    if is_star(query):
        return [column(each.column) for each in scope.star((), query)]
    return [bound(each.unalias(), by_name(scope)) for each in query.expressions]


def _reads_outside(condition: exp.Expr, scope: Scope) -> bool:
    names = (name_parts(each) for each in condition.walk() if not isinstance(each.parent, (exp.Column, exp.Dot)))
    return any(parts and scope.find(parts, condition) is None for parts in names)


def _in_either(inner: Scope, outer: Scope) -> Resolve:
    """A name means the subquery's column, and only where it has none of that name the outer query's."""

    def resolve(parts: tuple[str, ...], where: exp.Expr, inside: bool) -> exp.Expr:
        found = inner.find(parts, where) or outer.find(parts, where)
        if found is None:
            raise unsupported(f"the name {'.'.join(parts)} is not known", where)
        return column(*found, where)

    return resolve


READER = Reader(inside, _member)
