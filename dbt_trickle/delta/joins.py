"""Joins: what changed on one side meets the other side as it is, or as it was, but never both times as it is.

    InnerJoin  ΔL ⋈ R_new + L_old ⋈ ΔR        (with R_new twice a pair whose two sides came would count twice)
    LEFT       ΔL ⟕ R_new + L_old ⋈ ΔR + left rows that lost their last match, or got their first
    RIGHT      ΔL ⋈ R_new + L_old ⟖ ΔR + right rows that did
    FULL       ΔL ⟕ R_new + L_old ⟖ ΔR + both
    SemiJoin   ΔL ⋉ R_new + left rows that got their first match − those that lost their last
    anti       ΔL ▷ R_new − left rows that got their first match + those that lost their last
    Mark       both, with the truth beside the row: who got a first match is true now, and not false any more

A join of several inputs telescopes by itself: each term has the inputs before the changed one old and those
after it new. Inputs that did not move add no term.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbt_trickle.delta.context import Context, Cte, Delta, columns_of
from dbt_trickle.delta.rule import CHANGED, OTHER, W, broadcast, meeting, rule
from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import InnerJoin, Mark, Operator, OuterJoin, SemiJoin
from dbt_trickle.tree.render import state


@dataclass(frozen=True)
class _Side:
    """`changes`: the CTE of what changed; none where nothing did."""

    operator: Operator
    old: str
    new: str
    changes: Delta | None
    small: bool

    @property
    def columns(self) -> str:
        return columns_of(self.operator)

    @property
    def ctes(self) -> tuple[Cte, ...]:
        return self.changes.ctes if self.changes is not None else ()


@rule.register
def _(tree: InnerJoin, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    left, right = _sides((tree.left, tree.right), context, name, order)
    terms = _pairs(tree, left, right, ("INNER", "INNER"))
    return Delta((*left.ctes, *right.ctes, Cte(name, "\nUNION ALL\n".join(terms))))


@rule.register
def _(tree: OuterJoin, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    left, right = _sides((tree.left, tree.right), context, name, order)
    lefts, rights = tree.kind in ("LEFT", "FULL"), tree.kind in ("RIGHT", "FULL")
    # In each term the side that changed is on the left.
    terms = _pairs(tree, left, right, ("LEFT" if lefts else "INNER", "LEFT" if rights else "INNER"))
    ctes = [*left.ctes, *right.ctes]
    # Who got a match is not alone any more.
    if lefts and right.changes is not None:
        ctes += _turned(f"{name}_left", left, left.old, right, tree.condition.sql)
        shown = ", ".join([left.columns, *(f"NULL AS {quote(column)}" for column in right.operator.columns)])
        terms.append(f"SELECT {shown}, -{W} AS {W}\nFROM {quote(ctes[-1].name)}")
    if rights and left.changes is not None:
        ctes += _turned(f"{name}_right", right, right.new, left, tree.condition.sql)
        shown = ", ".join([*(f"NULL AS {quote(column)}" for column in left.operator.columns), right.columns])
        terms.append(f"SELECT {shown}, -{W} AS {W}\nFROM {quote(ctes[-1].name)}")
    return Delta((*ctes, Cte(name, "\nUNION ALL\n".join(terms))))


@rule.register
def _(tree: SemiJoin, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    left, right = _sides((tree.left, tree.right), context, name, order)
    ctes, terms = [*left.ctes, *right.ctes], []
    if left.changes is not None:
        terms.append(_matched(left, left.changes.name, right, tree.condition.sql, tree.anti))
    if right.changes is not None:
        ctes += _turned(f"{name}_left", left, left.old, right, tree.condition.sql)
        terms.append(f"SELECT {left.columns}, {'-' if tree.anti else ''}{W} AS {W}\nFROM {quote(ctes[-1].name)}")
    return Delta((*ctes, Cte(name, "\nUNION ALL\n".join(terms))))


@rule.register
def _(tree: Mark, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    left, right = _sides((tree.child, tree.query), context, name, order)
    ctes, terms = [*left.ctes, *right.ctes], []
    if left.changes is not None:
        terms += [
            _matched(left, left.changes.name, right, tree.condition.sql, anti, f", {truth} AS {quote(tree.name)}")
            for truth, anti in (("true", False), ("false", True))
        ]
    if right.changes is not None:
        ctes += _turned(f"{name}_left", left, left.old, right, tree.condition.sql)
        terms += [
            f"SELECT {left.columns}, {truth} AS {quote(tree.name)}, {sign}{W} AS {W}\nFROM {quote(ctes[-1].name)}"
            for truth, sign in (("true", ""), ("false", "-"))
        ]
    return Delta((*ctes, Cte(name, "\nUNION ALL\n".join(terms))))


def _sides(pair: tuple[Operator, Operator], context: Context, name: str, order: tuple[str, ...]) -> tuple[_Side, _Side]:
    left, right = (
        _Side(
            each,
            state(each, context.old),
            state(each, context.new),
            rule(each, context, f"{name}_{number}", order) if context.moved(each) else None,
            context.is_small(each),
        )
        for number, each in enumerate(pair, start=1)
    )
    return left, right


def _pairs(tree: InnerJoin | OuterJoin, left: _Side, right: _Side, kinds: tuple[str, str]) -> list[str]:
    terms = []
    for changed, other, at, kind in ((left, right, right.new, kinds[0]), (right, left, left.old, kinds[1])):
        if changed.changes is None:
            continue
        on = f"\nON {tree.condition.sql}" if tree.condition is not None else ""
        if kind != "INNER" and tree.condition is not None:
            # All rows of the small side stay: it cannot be the one that is sent to every task.
            at, hint = _near(other, at, changed.changes.name, tree.condition.sql, changed.small), ""
        else:
            hint = broadcast(CHANGED, changed.small)
        terms.append(
            f"SELECT {hint}{columns_of(tree)}, {CHANGED}.{W}\nFROM {quote(changed.changes.name)} AS {CHANGED}\n"
            f"{kind if on else 'CROSS'} JOIN (\n{at}\n) AS {OTHER}{on}"
        )
    return terms


def _matched(left: _Side, changes: str, right: _Side, condition: str, anti: bool, shown: str = "") -> str:
    """Of the changed left rows those that have a match as the right is now, or (anti) have none."""
    near = _near(right, right.new, changes, condition, left.small)
    return (
        f"SELECT {left.columns}{shown}, {W}\nFROM {quote(changes)} AS {CHANGED}\n"
        f"{_kept(anti)} (\n{near}\n) AS {OTHER} ON {condition}"
    )


def _near(side: _Side, rows: str, changed: str, condition: str, small: bool) -> str:
    """Of a side's rows those that meet a change: all that matter to it, and few where it is small."""
    if not small:
        return rows
    return meeting(side.operator, rows, changed, condition, small)


def _turned(name: str, kept: _Side, rows: str, changed: _Side, condition: str) -> list[Cte]:
    """Of one side's rows, in one state, those that got their first match (+1) or lost their last (−1)."""
    if changed.changes is None:
        return []
    met, was, now = f"{name}_met", f"{name}_was", f"{name}_now"
    ctes = [
        Cte(met, meeting(kept.operator, rows, changed.changes.name, condition, changed.small)),
        Cte(was, _near(changed, changed.old, met, condition, changed.small)),
        Cte(now, _near(changed, changed.new, met, condition, changed.small)),
    ]
    turned = (
        f"SELECT {kept.columns}, CAST({weight} AS BIGINT) AS {W}\nFROM (\nSELECT {kept.columns}\n"
        f"FROM {quote(met)} AS {CHANGED}\n{_kept(True)} {quote(without)} AS {OTHER} ON {condition}\n) AS {CHANGED}\n"
        f"{_kept()} {quote(with_)} AS {OTHER} ON {condition}"
        for weight, without, with_ in ((1, was, now), (-1, now, was))
    )
    return [*ctes, Cte(name, "\nUNION ALL\n".join(turned))]


def _kept(anti: bool = False) -> str:
    return "LEFT ANTI JOIN" if anti else "LEFT SEMI JOIN"
