"""FROM: sources, subqueries and CTEs, joined from left to right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dbt_trickle.tree.algebra import Field, Filter, InnerJoin, Operator, Scan
from dbt_trickle.tree.expressions import bound, column, expr
from dbt_trickle.tree.scope import Names, Scope, Visible, spelling
from dbt_trickle.tree.unsupported import Unsupported, not_yet, unsupported


@dataclass(frozen=True)
class Schema:
    """A source: its key in the frontier, such as shop.orders, and its columns with Spark's types, in order."""

    key: str
    columns: tuple[tuple[str, str], ...]


Part = tuple[Operator, Scope]  # of a FROM clause
Result = tuple[Operator, tuple[tuple[str, str], ...]]  # columns: (what the query calls it, its name in the tree)


@dataclass(frozen=True)
class Place:
    """What can be named in a FROM clause, and how its subqueries are built."""

    sources: Mapping[str, Schema]
    names: Names
    query: Callable[[exp.Expr, Place, str], Result]
    ctes: Mapping[str, tuple[exp.CTE, Place]] = field(default_factory=dict)

    def with_ctes(self, query: exp.Query) -> Place:
        """Each CTE sees those before it, and hides what has its name outside."""
        with_ = query.args.get("with_")
        if with_ is None:
            return self
        if with_.args.get("recursive"):
            raise not_yet("WITH RECURSIVE", with_)
        place = self
        for cte in with_.expressions:
            if any(value and key not in ("this", "alias") for key, value in cte.args.items()):
                raise not_yet(f"the option of the CTE {cte.alias}", cte)
            place = replace(place, ctes={**place.ctes, spelling(cte.alias): (cte, place)})
        return place


def relations(select: exp.Select, place: Place) -> Part:
    from_ = select.args.get("from_")
    if from_ is None:
        raise not_yet("a query without FROM", select)
    return _joins(_relation(from_.this, place), select.args.get("joins"), place)


def _joins(first: Part, joins: Sequence[exp.Join] | None, place: Place) -> Part:
    """From left to right: a comma binds as much as JOIN does, unlike in the standard, so that ON sees all before it."""
    part = first
    for join in joins or ():
        part = _joined(join, part, _relation(join.this, place))
    return part


def filtered(tree: Operator, scope: Scope, where: exp.Where | None) -> Operator:
    return tree if where is None else Filter(tree, expr(bound(where.this, by_name(scope))))


def by_name(scope: Scope) -> Callable[[tuple[str, ...], exp.Expr, bool], exp.Expr]:
    def resolve(parts: tuple[str, ...], where: exp.Expr, inside: bool) -> exp.Expr:
        found = scope.find(parts, where)
        if found is None:
            raise unsupported(f"the name {'.'.join(parts)} is not known", where)
        return column(*found, where)

    return resolve


def _relation(node: exp.Expr, place: Place) -> Part:
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        if len(node.parts) > 1:
            raise unsupported(f"the relation {'.'.join(part.name for part in node.parts)} is not known", node)
        _only(node, "this", "alias")
        name = spelling(node.name)
        if name in place.ctes:
            cte, outside = place.ctes[name]
            tree, columns = place.query(cte.this, outside, node.alias or node.name)
            columns = _renamed(columns, cte.args.get("alias"))
            return tree, _scope(columns, (node.alias or node.name,), node)
        if name in place.sources:
            return _scan(node, place.sources[name], place.names)
        raise unsupported(f"the relation {node.name} is not known", node)
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not node.alias:
        _only(node, "this")  # joins in parentheses: what is in them stays visible
        first = node.this.copy()
        joins = first.args.pop("joins", None)
        return _joins(_relation(first, place), joins, place)
    if isinstance(node, exp.Subquery) and isinstance(unwrapped(node.this), (exp.Select, exp.SetOperation)):
        _only(node, "this", "alias")
        tree, columns = place.query(node.this, place, node.alias)
        return tree, _scope(columns, (node.alias,) if node.alias else (), node)
    raise _unsupported_relation(node)


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
    return Scan(source.key, alias, fields), _scope(columns, qualifier, node)


def _scope(columns: tuple[tuple[str, str], ...], qualifier: tuple[str, ...], node: exp.Expr) -> Scope:
    columns = _renamed(columns, node.args.get("alias"))
    return Scope(tuple(Visible(name, qualifier, column) for name, column in columns))


def _renamed(columns: tuple[tuple[str, str], ...], alias: exp.TableAlias | None) -> tuple[tuple[str, str], ...]:
    """q(a, b): other names for all columns."""
    given = alias.columns if alias is not None else []
    if not given:
        return columns
    if len(given) != len(columns):
        raise unsupported(f"{alias.name if alias else ''} has {len(columns)} columns, and {len(given)} names", alias)
    return tuple((name.name, column) for name, (_, column) in zip(given, columns, strict=True))


def _joined(join: exp.Join, left: Part, right: Part) -> Part:
    method, side, kind = (str(join.args.get(part) or "").upper() for part in ("method", "side", "kind"))
    if side or kind not in ("", "INNER", "CROSS") or method not in ("", "NATURAL"):
        raise not_yet(" ".join(filter(None, (method, side, kind, "JOIN"))), join)
    _only(join, "this", "method", "kind", "on", "using", "hint")
    if method == "NATURAL":
        theirs = {spelling(each.name) for each in right[1].columns}
        shared = [each.name for each in left[1].columns if spelling(each.name) in theirs]
        return _using(shared, join, left, right)
    if join.args.get("using"):
        return _using([each.name for each in join.args["using"]], join, left, right)
    scope = left[1].beside(right[1])
    on = join.args.get("on")
    if on is None or (isinstance(on, exp.Boolean) and on.this):
        return InnerJoin(left[0], right[0]), scope
    return InnerJoin(left[0], right[0], expr(bound(on, by_name(scope)))), scope


def _using(keys: Sequence[str], join: exp.Join, left: Part, right: Part) -> Part:
    """The keys come first, once, as the left side has them."""
    pairs = [(left[1].only(key, join), right[1].only(key, join)) for key in keys]
    equal: list[exp.Expr] = [exp.EQ(this=column(mine.column), expression=column(other.column)) for mine, other in pairs]
    condition = expr(exp.and_(*equal, wrap=False, copy=False)) if equal else None
    mine, others = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    rest = tuple(each for each in left[1].columns if each not in mine)
    rest += tuple(each for each in right[1].columns if each not in others)
    scope = Scope(mine + rest, left[1].hidden + right[1].hidden + others)
    return InnerJoin(left[0], right[0], condition), scope


_CLAUSES = {
    "version": "time travel",
    "when": "time travel",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT or UNPIVOT",
    "laterals": "LATERAL VIEW",
    "joins": "a join in parentheses",
    "limit": "LIMIT",
    "order": "ORDER BY in a subquery",
}
_RELATIONS: dict[type[exp.Expr], str] = {
    exp.Lateral: "LATERAL",
    exp.Values: "VALUES",
    exp.SetOperation: "UNION, INTERSECT or EXCEPT",
}


def _only(node: exp.Expr, *known: str) -> None:
    for key, value in node.args.items():
        if value and key not in known:
            raise not_yet(_CLAUSES.get(key, key), node)


def _unsupported_relation(node: exp.Expr) -> Unsupported:
    inner = node.this if isinstance(node, exp.Subquery) else node
    for kind, name in _RELATIONS.items():
        if isinstance(inner, kind):
            return not_yet(name, node)
    if isinstance(node, exp.Table):
        return not_yet("a table function", node)
    return not_yet("a named join in parentheses" if isinstance(inner, exp.Table) else "this relation", node)
