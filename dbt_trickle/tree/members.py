"""EXISTS and IN with a subquery: what is compared with what, and which truth Spark gives them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from dbt_trickle.tree.algebra import Operator
from dbt_trickle.tree.expressions import expr
from dbt_trickle.tree.unsupported import not_yet
from dbt_trickle.tree.values import Expr, Predicate


@dataclass(frozen=True)
class Member:
    """EXISTS or IN: the subquery's rows, the conditions that read the outer query, and for IN what is compared."""

    query: Operator
    correlated: list[exp.Expr]
    mine: list[exp.Expr]
    others: list[exp.Expr]

    @property
    def predicate(self) -> Predicate:
        outside = expr(exp.and_(*self.correlated)) if self.correlated else None
        return Predicate(tuple(map(expr, self.mine)), tuple(map(expr, self.others)), outside)

    def condition(self, denied: bool) -> Expr:
        """For which rows of the subquery it is true, or NOT IN is not."""
        pairs = zip(self.mine, self.others, strict=True)
        equal: list[exp.Expr] = [exp.EQ(this=_operand(one), expression=_operand(other)) for one, other in pairs]
        conditions = [*self.correlated, *(map(_or_unknown, equal) if denied else equal)]
        return expr(exp.and_(*conditions) if conditions else exp.true())


def is_denied(node: exp.In, filtering: bool) -> bool:
    """Whether it is NOT IN.

    Spark takes NULL for false in both, so it matters which of them it sees in the end, and its optimizer turns a NOT
    round, also one further out. So the truth has to be used up here: as a condition, or as one of CASE WHEN.
    """
    child: exp.Expr = node
    above = _outside(child)
    denied = isinstance(above, exp.Not)
    if above is not None and denied:
        child, above = above, _outside(above)
    while above is not None:
        if isinstance(above, exp.If) and _within(child, above.this):
            case = above.parent
            if not (isinstance(case, exp.Case) and case.args.get("this") is not None):
                return denied
        if not isinstance(above, (exp.And, exp.Or)):
            break
        child, above = above, _outside(above)
    if above is not None or not filtering:
        raise not_yet("IN with a subquery in this place", node)
    return denied


def _outside(node: exp.Expr) -> exp.Expr | None:
    above = node.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    return above


def _within(node: exp.Expr, part: exp.Expr) -> bool:
    return any(each is node for each in part.walk())


def _or_unknown(equal: exp.Expr) -> exp.Expr:
    """A value that may be equal, for all that is known, is not one that is NOT IN."""
    unknown = exp.Is(this=exp.Paren(this=equal.copy()), expression=exp.Null())
    return exp.Paren(this=exp.Or(this=equal, expression=unknown))


def _operand(value: exp.Expr) -> exp.Expr:
    return value.copy() if isinstance(value, (exp.Column, exp.Literal, exp.Paren)) else exp.Paren(this=value.copy())
