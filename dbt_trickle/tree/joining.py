"""JOIN: which rows of two relations meet, and which columns a name means afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from dbt_trickle.tree.algebra import InnerJoin, Operator, OuterJoin, Project, SemiJoin
from dbt_trickle.tree.binding import bound
from dbt_trickle.tree.expressions import column, expr
from dbt_trickle.tree.scope import Names, Scope, Visible, spelling
from dbt_trickle.tree.unsupported import not_yet, unsupported
from dbt_trickle.tree.values import Expr, Item

Part = tuple[Operator, Scope]  # of a FROM clause


def joined(join: exp.Join, left: Part, right: Part, names: Names) -> Part:
    method, side, kind = (str(join.args.get(part) or "").upper() for part in ("method", "side", "kind"))
    how = _HOW.get((side, kind))
    if how is None or method not in ("", "NATURAL"):
        raise not_yet(" ".join(filter(None, (method, side, kind, "JOIN"))), join)
    only(join, "this", "method", "side", "kind", "on", "using", "hint")
    keys = [each.name for each in join.args.get("using") or ()]
    if method == "NATURAL":
        theirs = {spelling(each.name) for each in right[1].columns}
        keys = [each.name for each in left[1].columns if spelling(each.name) in theirs]
    if keys:
        return _using(keys, join, how, left, right, names)
    scope = left[1].beside(right[1])
    on = condition_of(join)
    condition = None if on is None else expr(bound(on, by_name(scope)))
    return _made(how, left[0], right[0], condition), left[1] if how in _OF_THE_LEFT else scope


def condition_of(join: exp.Join) -> exp.Expr | None:
    """None where every pair meets."""
    on: exp.Expr | None = join.args.get("on")
    return None if isinstance(on, exp.Boolean) and on.this else on


def _made(how: str, left: Operator, right: Operator, condition: Expr | None) -> Operator:
    if how == "INNER":
        return InnerJoin(left, right, condition)
    condition = condition or Expr("TRUE")
    if how in _OF_THE_LEFT:
        return SemiJoin(left, right, condition, anti=how == "ANTI")
    return OuterJoin(how, left, right, condition)


def _using(keys: Sequence[str], join: exp.Join, how: str, left: Part, right: Part, names: Names) -> Part:
    """The keys come first, once: as the side has them whose rows all stay."""
    pairs = [(left[1].only(key, join), right[1].only(key, join)) for key in keys]
    equal: list[exp.Expr] = [exp.EQ(this=column(mine.column), expression=column(other.column)) for mine, other in pairs]
    condition = expr(exp.and_(*equal, wrap=False, copy=False))
    mine, others = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    rest = tuple(each for each in left[1].columns if each not in mine)
    tree = _made(how, left[0], right[0], condition)
    if how in _OF_THE_LEFT:
        return tree, Scope(mine + rest, left[1].hidden)
    rest += tuple(each for each in right[1].columns if each not in others)
    if how == "FULL":
        hidden = left[1].hidden + right[1].hidden + mine + others
        return _either(pairs, tree, rest, hidden, names)
    if how == "RIGHT":
        mine, others = others, mine
    return tree, Scope(mine + rest, left[1].hidden + right[1].hidden + others)


def _either(
    pairs: Sequence[tuple[Visible, Visible]],
    tree: Operator,
    rest: tuple[Visible, ...],
    hidden: tuple[Visible, ...],
    names: Names,
) -> Part:
    """Each key as one side has it or the other."""
    keys = []
    items = [Item(name, expr(column(name))) for name in tree.columns]
    for mine, other in pairs:
        name = names.fresh(mine.name)
        value = exp.Anonymous(this="coalesce", expressions=[column(mine.column), column(other.column)])
        keys.append(Visible(mine.name, (), name))
        items.append(Item(name, expr(value)))
    return Project(tree, tuple(items)), Scope((*keys, *rest), hidden)


_HOW = {
    **dict.fromkeys([("", ""), ("", "INNER"), ("", "CROSS")], "INNER"),
    **{(side, kind): side for side in ("LEFT", "RIGHT", "FULL") for kind in ("", "OUTER")},
    **{(side, kind): kind for side in ("", "LEFT") for kind in ("SEMI", "ANTI")},
}
_OF_THE_LEFT = ("SEMI", "ANTI")


def by_name(scope: Scope) -> Callable[[tuple[str, ...], exp.Expr, bool], exp.Expr]:
    def resolve(parts: tuple[str, ...], where: exp.Expr, inside: bool) -> exp.Expr:
        found = scope.find(parts, where)
        if found is None:
            raise unsupported(f"the name {'.'.join(parts)} is not known", where)
        return column(*found, where)

    return resolve


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


def only(node: exp.Expr, *known: str) -> None:
    for key, value in node.args.items():
        if value and key not in known:
            raise not_yet(_CLAUSES.get(key, key), node)
