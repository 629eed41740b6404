"""Scalar subqueries: one value for each row, of all rows that the subquery finds for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from dbt_trickle.names import RESERVED_PREFIX
from dbt_trickle.tree.algebra import Lookup, Operator
from dbt_trickle.tree.binding import Resolve, bound
from dbt_trickle.tree.calls import has_aggregate
from dbt_trickle.tree.clauses import OF_SELECTS, require_known
from dbt_trickle.tree.expressions import column, expr
from dbt_trickle.tree.grouping import Grouped
from dbt_trickle.tree.joining import by_name
from dbt_trickle.tree.relations import Place, unwrapped
from dbt_trickle.tree.scope import Scope
from dbt_trickle.tree.unsupported import not_yet, unsupported
from dbt_trickle.tree.values import Call, Expr, Item

# The subquery's rows, its scope, and the conditions that read the outer query.
Inside = Callable[[exp.Select, Scope, Place], tuple[Operator, Scope, list[exp.Expr]]]


@dataclass(frozen=True)
class Found:
    query: Operator
    condition: Expr | None
    calls: tuple[Call, ...]
    item: Item


@dataclass
class Lookups:
    """Those of one clause; an expression then has a column where each of them was."""

    scope: Scope
    place: Place
    inside: Inside
    found: list[Found] = field(default_factory=list)

    def taken_out(self, node: exp.Expr) -> exp.Expr:
        if not any(isinstance(each, exp.Query) for each in node.walk()):
            return node
        if isinstance(node, exp.Subquery):
            return exp.Column(this=exp.Identifier(this=self._add(node), quoted=True))
        copied = node.copy()
        for each in list(copied.find_all(exp.Subquery)):
            inner = each.find_ancestor(exp.Query) is not None
            if not inner and not isinstance(each.parent, (exp.In, exp.Exists)):
                each.replace(exp.Column(this=exp.Identifier(this=self._add(each), quoted=True)))
        return copied

    @property
    def names(self) -> frozenset[str]:
        return frozenset(each.item.name for each in self.found)

    def resolve(self, other: Resolve) -> Resolve:
        names = self.names

        def resolve(parts: tuple[str, ...], where: exp.Expr, inside: bool) -> exp.Expr:
            return column(parts[0]) if len(parts) == 1 and parts[0] in names else other(parts, where, inside)

        return resolve

    def below(self, tree: Operator, groups: bool = False) -> Operator:
        """The tree with their values."""
        for each in self.found:
            if groups and each.condition is not None:
                raise not_yet("a scalar subquery that reads the rows of groups")
            tree = Lookup(tree, each.query, each.condition, each.calls, each.item)
        return tree

    def _add(self, node: exp.Subquery) -> str:
        query = unwrapped(node.this)
        if not isinstance(query, exp.Select):
            raise not_yet("a scalar subquery of a set operation", node)
        require_known(query, OF_SELECTS - {"group", "having", "distinct", "laterals"}, root=False)
        if len(query.expressions) != 1 or query.is_star:
            raise unsupported("a scalar subquery has one column", node)
        tree, scope, correlated = self.inside(query, self.scope, self.place.with_ctes(query))
        grouped = Grouped(self.place.names, "")
        item = bound(query.expressions[0].unalias(), by_name(scope), aggregates=True)
        if not has_aggregate(item):
            raise not_yet("a scalar subquery other than an aggregate over all its rows", node)
        value = grouped.above(item)
        name = self.place.names.numbered(f"{RESERVED_PREFIX}lookup")
        condition = expr(exp.and_(*correlated)) if correlated else None
        self.found.append(Found(tree, condition, tuple(grouped.calls.values()), Item(name, expr(value))))
        return name
