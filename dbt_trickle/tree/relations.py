"""FROM: sources, subqueries and CTEs, joined from left to right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlglot import exp

from dbt_trickle.tree.algebra import Constant, Operator, Reference, Scan
from dbt_trickle.tree.binding import bound
from dbt_trickle.tree.expressions import expr
from dbt_trickle.tree.joining import Part, by_name, joined, only
from dbt_trickle.tree.pivots import pivoted
from dbt_trickle.tree.scope import Names, Scope, Visible, spelling
from dbt_trickle.tree.unpivots import unpivoted
from dbt_trickle.tree.unsupported import Unsupported, not_yet, unsupported
from dbt_trickle.tree.values import Expr, Field

_Node = TypeVar("_Node", bound=exp.Expr)


@dataclass(frozen=True)
class Schema:
    """A source: its key in the frontier, such as shop.orders, and its columns with Spark's types, in order."""

    key: str
    columns: tuple[tuple[str, str], ...]


Result = tuple[Operator, tuple[tuple[str, str], ...]]  # columns: (what the query calls it, its name in the tree)


@dataclass(frozen=True)
class Cte:
    """`outside`: what its query can name; `recursive`: whether that may be itself."""

    node: exp.CTE
    outside: Place
    recursive: bool

    @property
    def body(self) -> exp.Expr:
        return unwrapped(self.node.this)


@dataclass(frozen=True)
class Level:
    """What a recursion is within its own step."""

    recursion: str
    columns: tuple[tuple[str, str], ...]  # as in a Result


@dataclass(frozen=True)
class Place:
    """What can be named in a FROM clause, and how its subqueries are built."""

    sources: Mapping[str, Schema]
    names: Names
    query: Callable[[exp.Expr, Place, str], Result]
    lateral: Callable[[exp.Join, Part, Place], Part]
    cte: Callable[[Cte, str], Result]
    ctes: Mapping[str, Cte | Level] = field(default_factory=dict)

    def with_ctes(self, query: exp.Query) -> Place:
        """Each CTE sees those before it, and hides what has its name outside."""
        with_ = query.args.get("with_")
        if with_ is None:
            return self
        place = self
        for cte in with_.expressions:
            if any(value and key not in ("this", "alias") for key, value in cte.args.items()):
                raise not_yet(f"the option of the CTE {cte.alias}", cte)
            place = place.with_cte(cte.alias, Cte(cte, place, bool(with_.args.get("recursive"))))
        return place

    def with_cte(self, name: str, cte: Cte | Level) -> Place:
        return replace(self, ctes={**self.ctes, spelling(name): cte})


def relations(select: exp.Select, place: Place) -> Part:
    from_ = select.args.get("from_")
    if from_ is None:
        name = place.names.numbered("one")
        return Constant(((Expr("1"),),), (name,), alone=True), Scope()
    return _joins(from_.this, select.args.get("joins"), place)


def _joins(first: exp.Expr, joins: Sequence[exp.Join] | None, place: Place) -> Part:
    """From left to right: a comma binds as much as JOIN does, unlike in the standard, so that ON sees all before it.

    So does PIVOT, which is of all that stands before it, whatever the parser hangs it on.
    """
    first, pivots = _without_pivots(first)
    part = _turned(_relation(first, place), pivots, place.names)
    for join in joins or ():
        join, behind = _without_pivots(join)
        right, pivots = _without_pivots(join.this)
        if isinstance(right, exp.Lateral):
            part = place.lateral(join, part, place)
        else:
            part = joined(join, part, _relation(right, place), place.names)
        part = _turned(part, [*pivots, *behind], place.names)
    return part


def _without_pivots(node: _Node) -> tuple[_Node, list[exp.Pivot]]:
    pivots = node.args.get("pivots") or []
    if pivots:
        node = node.copy()
        node.set("pivots", None)
    return node, pivots


def _turned(part: Part, pivots: Sequence[exp.Pivot], names: Names) -> Part:
    for each in pivots:
        part = unpivoted(part, each, names) if each.args.get("unpivot") else pivoted(part, each, names)
    return part


def _relation(node: exp.Expr, place: Place) -> Part:
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        if len(node.parts) > 1:
            raise unsupported(f"the relation {'.'.join(part.name for part in node.parts)} is not known", node)
        only(node, "this", "alias")
        name = spelling(node.name)
        if name in place.ctes:
            return _cte(node, place.ctes[name], place)
        if name in place.sources:
            return _scan(node, place.sources[name], place.names)
        raise unsupported(f"the relation {node.name} is not known", node)
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not node.alias:
        only(node, "this")  # joins in parentheses: what is in them stays visible
        first = node.this.copy()
        joins = first.args.pop("joins", None)
        return _joins(first, joins, place)
    if isinstance(node, exp.Subquery) and isinstance(unwrapped(node.this), (exp.Select, exp.SetOperation)):
        only(node, "this", "alias")
        tree, columns = place.query(node.this, place, node.alias)
        return tree, scope_of(columns, (node.alias,) if node.alias else (), node)
    if isinstance(node, exp.Values):
        return _values(node, place.names)
    raise _unsupported_relation(node)


def _cte(node: exp.Table, cte: Cte | Level, place: Place) -> Part:
    alias = node.alias or node.name
    if isinstance(cte, Cte):
        tree, columns = place.cte(cte, alias)
        return tree, scope_of(renamed(columns, cte.node.args.get("alias")), (alias,), node)
    given = place.names.alias(alias)
    fields = tuple(Field(of, "", place.names.fresh(f"{given}.{name}")) for name, of in cte.columns)
    shown = zip((name for name, _ in cte.columns), (each.name for each in fields), strict=True)
    return Reference(cte.recursion, given, fields), scope_of(tuple(shown), (alias,), node)


def _values(node: exp.Values, names: Names) -> Part:
    only(node, "expressions", "alias")
    rows = [each.expressions if isinstance(each, exp.Tuple) else [each] for each in node.expressions]
    if len({len(row) for row in rows}) != 1:
        raise unsupported("VALUES has rows of different lengths", node)
    nothing = by_name(Scope())
    called = [each.name for each in node.args["alias"].columns] if node.args.get("alias") else []
    called = called or [f"col{at}" for at in range(1, len(rows[0]) + 1)]
    if len(called) != len(rows[0]):
        raise unsupported(f"VALUES has {len(rows[0])} columns, and {len(called)} names", node)
    prefix = f"{node.alias}." if node.alias else ""
    fresh = tuple(names.fresh(prefix + name) for name in called)
    constant = Constant(tuple(tuple(expr(bound(value, nothing)) for value in row) for row in rows), fresh)
    qualifier = (node.alias,) if node.alias else ()
    visible = (Visible(name, qualifier, column) for name, column in zip(called, fresh, strict=True))
    return constant, Scope(tuple(visible))


def unwrapped(query: exp.Expr) -> exp.Expr:
    """A query without parentheses that mean nothing."""
    while isinstance(query, exp.Subquery) and not any(v for k, v in query.args.items() if k != "this"):
        query = query.this
    return query


def _scan(node: exp.Table, source: Schema, names: Names) -> Part:
    """A source without an alias is known by its own name."""
    qualifier = (node.alias,) if node.alias else tuple(source.key.split("."))
    alias = names.alias(qualifier[-1])
    fields = tuple(Field(name, kind, names.fresh(f"{alias}.{name}")) for name, kind in source.columns)
    columns = tuple((each.source_name, each.name) for each in fields)
    return Scan(source.key, alias, fields), scope_of(columns, qualifier, node)


def scope_of(columns: tuple[tuple[str, str], ...], qualifier: tuple[str, ...], node: exp.Expr) -> Scope:
    columns = renamed(columns, node.args.get("alias"))
    return Scope(tuple(Visible(name, qualifier, column) for name, column in columns))


def renamed(columns: tuple[tuple[str, str], ...], alias: exp.TableAlias | None) -> tuple[tuple[str, str], ...]:
    """q(a, b): other names for all columns."""
    given = alias.columns if alias is not None else []
    if not given:
        return columns
    if len(given) != len(columns):
        raise unsupported(f"{alias.name if alias else ''} has {len(columns)} columns, and {len(given)} names", alias)
    return tuple((name.name, column) for name, (_, column) in zip(given, columns, strict=True))


_RELATIONS: dict[type[exp.Expr], str] = {
    exp.Lateral: "LATERAL",
    exp.SetOperation: "UNION, INTERSECT or EXCEPT",
}


def _unsupported_relation(node: exp.Expr) -> Unsupported:
    inner = node.this if isinstance(node, exp.Subquery) else node
    for kind, name in _RELATIONS.items():
        if isinstance(inner, kind):
            return not_yet(name, node)
    if isinstance(node, exp.Table):
        return not_yet("a table function", node)
    return not_yet("a named join in parentheses" if isinstance(inner, exp.Table) else "this relation", node)
