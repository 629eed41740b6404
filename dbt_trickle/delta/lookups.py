"""Values that a subquery gives each row: those of changed rows, and those that are other ones now.

    Lookup  ΔX with its new value + rows of X_old whose value changed (now − before)

Only rows that meet a change of the subquery's rows can have another value; without a condition all do, and those whose
value is the same as before are left out.
"""

from __future__ import annotations

from dbt_trickle.delta.context import Context, Cte, Delta, columns_of
from dbt_trickle.delta.rule import W, meeting, rule
from dbt_trickle.names import RESERVED_PREFIX, quote
from dbt_trickle.tree.algebra import Lookup
from dbt_trickle.tree.render import state, value_of

_WAS = f"{RESERVED_PREFIX}was"


@rule.register
def _(tree: Lookup, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    ctes: list[Cte] = []
    terms = []
    columns, now, was = columns_of(tree.child), quote(tree.name), quote(_WAS)
    if context.moved(tree.child):
        below = rule(tree.child, context, f"{name}_1", order)
        ctes += below.ctes
        value, beside = value_of(tree, context.new, tree.name)
        terms.append(f"SELECT {columns}, {value}, {W}\nFROM {quote(below.name)}\n{beside}")
    if context.moved(tree.query):
        changed = rule(tree.query, context, f"{name}_2", order)
        met, both = f"{name}_met", f"{name}_both"
        before, after = value_of(tree, context.old, _WAS), value_of(tree, context.new, tree.name)
        values = f"SELECT {columns}, {before[0]}, {after[0]}\nFROM {quote(met)}\n{before[1]}\n{after[1]}"
        ctes += [
            *changed.ctes,
            Cte(met, _met(tree, changed.name, context)),
            Cte(both, values),
        ]
        for value, weight in ((now, 1), (was, -1)):
            shown = f"{columns}, {value} AS {now}, CAST({weight} AS BIGINT) AS {W}"
            terms.append(f"SELECT {shown}\nFROM {quote(both)}\nWHERE NOT ({_same(quote(both), was, now)})")
    return Delta((*ctes, Cte(name, "\nUNION ALL\n".join(terms))))


def _same(both: str, was: str, now: str) -> str:
    """0.0 and -0.0 are equal, and another text is made of each."""
    texts = " <=> ".join(f"CAST({both}.{value} AS STRING)" for value in (was, now))
    return f"{both}.{was} <=> {both}.{now} AND {texts}"


def _met(tree: Lookup, changed: str, context: Context) -> str:
    """The rows as they were before that a change of the subquery can matter to."""
    rows = state(tree.child, context.old)
    if tree.condition is None:
        return rows
    return meeting(tree.child, rows, changed, tree.condition.sql, context.is_small(tree.query))
