"""A recursion: what went is followed as far as it led, then what came.

    R = B + s(R, X)     B: the base; s: the step, linear in R; X: what the step reads beside R

    gone = what went of B, and what s makes less of R_old by X_mid than by X_old; with all that follows by s(·, X_mid)
    came = what came to B, and what s makes more of R_old + gone by X_new than by X_mid; with all that follows by
           s(·, X_new)
    ΔR   = gone + came

X_mid is X_old without the rows that are like a changed one, so it is within both states. (What stands behind NOT EXISTS
makes the step give less: of that X_mid is X_old with those that came.) So whatever is followed is a row of R_old or of
R_new, with all that led to it: it comes to an end where the query does, within the limits that the query has. If what
went were followed by X_new, it might run in a circle that no row is in:

    1→2, 2→3 become 2→3, 3→4, 4→3; from 1     2 went, and 4 came to the 3 that was there: both go round for ever

Where X did not change, all that changed of B is followed at once; where rows only came, nothing is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta.context import Context, Cte, Delta, Source, columns_of
from dbt_trickle.delta.rule import W, rule
from dbt_trickle.delta.touched import of_keys, touched_keys
from dbt_trickle.names import RESERVED_PREFIX, quote
from dbt_trickle.tree.algebra import Operator, Recursive, Scan, only_grows
from dbt_trickle.tree.linear_step import Beside, beside, carrying, with_beside, with_rows
from dbt_trickle.tree.render import state
from dbt_trickle.tree.values import Expr, Field

COPIES = f"{RESERVED_PREFIX}copies"
_COPIES, _TOTAL = quote(COPIES), quote(f"{RESERVED_PREFIX}total")


@dataclass(frozen=True)
class _Input:
    """What the step reads beside, from one state to another. `changes`: the CTE of the rows that come or go."""

    operator: Operator
    changes: str
    before: str
    after: str
    small: bool


@rule.register
def _(tree: Recursive, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    ctes: list[Cte] = []
    base = None
    if context.moved(tree.base):
        below = rule(tree.base, context, f"{name}_base", order)
        base = Cte(f"{name}_net", _net(tree, f"SELECT {columns_of(tree)}, {W}\nFROM {quote(below.name)}"))
        ctes += [*below.ctes, base]
    moved = [each for each in beside(tree) if context.moved(each.operator)]
    if not moved:
        return Delta((*ctes, *_followed(tree, tree.step, _of_base(base), name, context.new)))
    changes = [rule(each.operator, context, f"{name}_{number}", order) for number, each in enumerate(moved, start=1)]
    ctes += [cte for each in changes for cte in each.ctes]
    pairs = [(each, by.name) for each, by in zip(moved, changes, strict=True)]
    rows = f"SELECT {columns_of(tree)}, CAST(1 AS BIGINT) AS {_COPIES}\nFROM (\n{state(tree, context.old)}\n)"
    if context.grows and only_grows(tree):
        inputs = [_grown(each, by, context) for each, by in pairs]
        return Delta((*ctes, *_led_on(tree, inputs, rows, _of_base(base), context, name, order)))
    ways = [_two_ways(each, by, context) for each, by in pairs]
    ctes += [cte for like, _, _ in ways for cte in like]
    gone, came = f"{name}_gone", f"{name}_came"
    left = f"{rows}\nUNION ALL\nSELECT {columns_of(tree)}, {W}\nFROM {quote(gone)}"
    ctes += _led_on(tree, [less for _, less, _ in ways], rows, _of_base(base, "< 0"), context, gone, order)
    ctes += _led_on(tree, [more for _, _, more in ways], left, _of_base(base, "> 0"), context, came, order)
    both = (f"SELECT {columns_of(tree)}, {W}\nFROM {quote(each)}" for each in (gone, came))
    return Delta((*ctes, Cte(name, "\nUNION ALL\n".join(both))))


def _of_base(base: Cte | None, which: str = "<> 0") -> list[str]:
    return [f"SELECT *\nFROM {quote(base.name)}\nWHERE {W} {which}"] if base is not None else []


def _grown(each: Beside, changes: str, context: Context) -> _Input:
    """From X_old to X_new, where rows only come."""
    old, new = (state(each.operator, at) for at in (context.old, context.new))
    return _Input(each.operator, changes, old, new, context.is_small(each.operator))


def _two_ways(each: Beside, changes: str, context: Context) -> tuple[list[Cte], _Input, _Input]:
    """From X_old to X_mid, and from there to X_new: the rows like a changed one, as they were and as they are."""
    operator, small = each.operator, context.is_small(each.operator)
    values = [Expr(quote(column), frozenset([column])) for column in operator.columns]
    keys, gone, came = (f"{changes}_{role}" for role in ("like", "less", "more"))
    ctes = [Cte(keys, touched_keys(values, changes))]
    for cte, at, weight in ((gone, context.old, -1), (came, context.new, 1)):
        rows = of_keys(operator, values, at, keys, small)
        ctes.append(Cte(cte, f"SELECT {columns_of(operator)}, CAST({weight} AS BIGINT) AS {W}\nFROM (\n{rows}\n)"))
    old, new = (state(operator, at) for at in (context.old, context.new))
    if each.denied:
        mid = f"{old}\nUNION ALL\nSELECT {columns_of(operator)}\nFROM {quote(came)}"
        gone, came = came, gone
    else:
        mid = of_keys(operator, values, context.old, keys, small, others=True)
    return ctes, _Input(operator, gone, old, mid, small), _Input(operator, came, mid, new, small)


def _led_on(
    tree: Recursive,
    inputs: Sequence[_Input],
    rows: str,
    base: Sequence[str],
    context: Context,
    name: str,
    order: tuple[str, ...],
) -> tuple[Cte, ...]:
    """What the step makes otherwise of these rows, whose copies they tell, and the base; and what follows from it."""
    itself = f"{name}_rows"
    sources = {
        each.changes: Source(f"({each.before})", f"({each.after})", each.changes, 0 if each.small else None)
        for each in inputs
    }
    known = f"(\n{rows}\n)"
    context = replace(context, sources={**context.sources, **sources, itself: Source(known, known)})
    step = with_beside(tree.step, tree.name, {each.operator: _scan(each) for each in inputs})
    otherwise = rule(with_rows(carrying(step, tree.name, COPIES), tree.name, itself), context, f"{name}_step", order)
    shown = (f"{quote(made)} AS {quote(column)}" for made, column in zip(step.columns, tree.columns, strict=True))
    made = f"SELECT {', '.join(shown)}, {W} * {_COPIES} AS {W}\nFROM {quote(otherwise.name)}"
    return (*otherwise.ctes, *_followed(tree, step, [made, *base], name, context.new))


def _scan(each: _Input) -> Scan:
    """Of what is no source, but is read as one is: it is called as the CTE of its changes."""
    return Scan(each.changes, each.changes, tuple(Field(column, "", column) for column in each.operator.columns))


def _followed(tree: Recursive, step: Operator, rows: Sequence[str], name: str, at: Mapping[str, str]) -> list[Cte]:
    """These rows, with their weights, and all that the step makes of them."""
    first = Cte(f"{name}_first", _net(tree, "\nUNION ALL\n".join(rows)))
    further = state(carrying(step, tree.name, WEIGHT), {**at, tree.name: quote(name)})
    levels = f"SELECT {columns_of(tree)}, {W}\nFROM {quote(first.name)}\nUNION ALL\n{further}"
    return [first, Cte(name, levels, recursive=True)]


def _net(tree: Recursive, rows: str) -> str:
    columns = columns_of(tree)
    summed = f"SELECT {columns}, SUM({W}) AS {_TOTAL}\nFROM (\n{rows}\n)\nGROUP BY {columns}"
    return f"SELECT {columns}, {_TOTAL} AS {W}\nFROM (\n{summed}\n)\nWHERE {_TOTAL} <> 0"
