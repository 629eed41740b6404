"""Subqueries in expressions: one value for each row, of all rows that the subquery finds for it.

A scalar subquery is a Lookup; EXISTS and IN are a Mark, where they are not a condition by themselves (subqueries.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from sqlglot import exp

from dbt_trickle.names import RESERVED_PREFIX
from dbt_trickle.sql import verbatim
from dbt_trickle.tree.algebra import Lookup, Mark, Operator
from dbt_trickle.tree.binding import Resolve, bound
from dbt_trickle.tree.calls import has_aggregate
from dbt_trickle.tree.clauses import OF_SELECTS, require_known
from dbt_trickle.tree.expressions import column, columns, expr
from dbt_trickle.tree.generators import is_apart, is_star
from dbt_trickle.tree.grouping import Grouped
from dbt_trickle.tree.joining import by_name
from dbt_trickle.tree.members import Member, is_denied
from dbt_trickle.tree.relations import Place, unwrapped
from dbt_trickle.tree.scope import Scope
from dbt_trickle.tree.unsupported import not_yet, unsupported
from dbt_trickle.tree.values import Call, Item

# The subquery's rows, its scope, and the conditions that read the outer query.
Inside = Callable[[exp.Select, Scope, Place], tuple[Operator, Scope, list[exp.Expr]]]


@dataclass(frozen=True)
class Reader:
    """How the subquery of an expression is read."""

    inside: Inside
    member: Callable[[exp.Expr, Scope, Place], Member]


@dataclass(frozen=True)
class Found:
    name: str
    outside: frozenset[str]  # what it reads of the rows that get it
    put: Callable[[Operator], Operator]


@dataclass
class Lookups:
    """Those of one clause; an expression then has a column where each of them was."""

    scope: Scope
    place: Place
    reader: Reader
    found: list[Found] = field(default_factory=list)
    known: dict[tuple[str, bool], str] = field(default_factory=dict)

    def taken_out(self, node: exp.Expr, filtering: bool = False) -> exp.Expr:
        """`filtering`: it is a condition, of which NULL is as good as false."""
        if not any(isinstance(each, exp.Query) for each in node.walk()):
            return node
        whole = exp.Paren(this=node.copy())
        for each in list(whole.walk(prune=lambda below: isinstance(below, exp.Query))):
            if not _is_subquery(each):
                continue
            each.replace(exp.Column(this=exp.Identifier(this=self._name(each, filtering), quoted=True)))
        result: exp.Expr = whole.this
        return result

    @property
    def names(self) -> frozenset[str]:
        return frozenset(each.name for each in self.found)

    def resolve(self, other: Resolve) -> Resolve:
        names = self.names

        def resolve(parts: tuple[str, ...], where: exp.Expr, inside: bool) -> exp.Expr:
            return column(parts[0]) if len(parts) == 1 and parts[0] in names else other(parts, where, inside)

        return resolve

    def below(self, tree: Operator, names: Collection[str] | None = None) -> Operator:
        """The tree with their values: of these, or of all."""
        for each in self.found:
            if names is not None and each.name not in names:
                continue
            if not each.outside <= set(tree.columns):
                raise not_yet("a subquery that reads the rows of groups")
            tree = each.put(tree)
        return tree

    def _name(self, node: exp.Expr, filtering: bool) -> str:
        """Of one text there is one value: a subquery may be grouped by."""
        denied = isinstance(node, exp.In) and is_denied(node, filtering)
        meant = unwrapped(node.this) if isinstance(node, exp.Subquery) else node  # AS is no part of it
        text = (verbatim.printed(meant), denied)
        if (text[0], not denied) in self.known:
            raise not_yet("IN and NOT IN of the same", node)  # Spark makes one condition of both
        if text not in self.known:
            is_mark = isinstance(node, (exp.Exists, exp.In))
            self.known[text] = self._mark(node, denied) if is_mark else self._value(node)
        return self.known[text]

    def _mark(self, node: exp.Expr, denied: bool) -> str:
        member = self.reader.member(node, self.scope, self.place)
        name = self.place.names.numbered(f"{RESERVED_PREFIX}mark")
        condition = member.condition(denied)

        def put(tree: Operator) -> Operator:
            return Mark(tree, member.query, condition, name, member.predicate)

        self.found.append(Found(name, condition.columns - set(member.query.columns), put))
        return name

    def _value(self, node: exp.Expr) -> str:
        name = self.place.names.numbered(f"{RESERVED_PREFIX}lookup")
        query = unwrapped(node.this)
        if isinstance(query, exp.Select) and not is_apart(query):
            tree, correlated, calls, value = self._of_rows(query, node)
        else:
            tree, shown = self.place.query(query, self.place, "")
            _require_one(len(shown), node)
            correlated, calls, value = [], (), column(shown[0][1])
        if correlated and not calls:
            # The rows of a row that is gone may be two by now, which concerns nobody.
            raise not_yet("a correlated scalar subquery other than an aggregate over all its rows", node)
        mine = set(tree.columns)
        if not all(is_equality(each, mine) for each in correlated):
            # Spark 4.1 joins the outer rows once more for these, and then loses columns where it is not alone.
            raise not_yet("a scalar subquery correlated by another condition than equalities", node)
        condition = expr(exp.and_(*correlated)) if correlated else None
        read = condition.columns if condition is not None else frozenset[str]()

        def put(below: Operator) -> Operator:
            return Lookup(below, tree, condition, calls, Item(name, expr(value)))

        self.found.append(Found(name, read - set(tree.columns), put))
        return name

    def _of_rows(
        self, query: exp.Select, node: exp.Expr
    ) -> tuple[Operator, list[exp.Expr], tuple[Call, ...], exp.Expr]:
        require_known(query, OF_SELECTS, root=False)
        tree, scope, correlated = self.reader.inside(query, self.scope, self.place.with_ctes(query))
        if is_star(query):
            shown = [column(each.column) for each in scope.star((), query)]
            _require_one(len(shown), node)
            return tree, correlated, (), shown[0]
        _require_one(len(query.expressions), node)
        item = bound(query.expressions[0].unalias(), by_name(scope), aggregates=True)
        if not has_aggregate(item):
            return tree, correlated, (), item
        grouped = Grouped(self.place.names, "")
        value = grouped.above(item)
        return tree, correlated, tuple(grouped.calls.values()), value


def _require_one(columns: int, node: exp.Expr) -> None:
    if columns != 1:
        raise unsupported("a scalar subquery has one column", node)


def _is_subquery(node: exp.Expr) -> bool:
    if isinstance(node, exp.Subquery):
        return not (isinstance(node.parent, exp.Exists) or node.arg_key == "query")
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        if node.this.find(exp.Query) is not None:
            raise not_yet("a subquery on the left of IN", node)
        return True
    return isinstance(node, exp.Exists)


def is_equality(condition: exp.Expr, mine: Collection[str]) -> bool:
    """Between something of the subquery's and something of the outer query's."""
    plain = condition.unnest()
    if not isinstance(plain, exp.EQ):
        return False
    sides = [{name in mine for name in columns(side)} for side in (plain.this, plain.expression)]
    return sides in ([{True}, {False}], [{False}, {True}])
