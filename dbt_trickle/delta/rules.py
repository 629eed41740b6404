"""The delta of a tree, by the rules of the algebra: Q(old) ⊎ ΔQ = Q(new), as multisets."""

from __future__ import annotations

from dbt_trickle.delta import groups, joins, linear, lookups, recursion, sets
from dbt_trickle.delta.context import Context, Cte, Delta, changes_of, source_order
from dbt_trickle.delta.rule import rule
from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import RESERVED_PREFIX
from dbt_trickle.tree.algebra import Operator

# What they hold is found by the kind of the operator.
RULES = (linear, joins, groups, sets, lookups, recursion)


def delta(tree: Operator, context: Context) -> Delta:
    """How the tree's rows change between the context's two states; something below must have moved."""
    if not context.moved(tree):
        raise TrickleBug("the delta of what has not moved")
    order = source_order(tree)
    heads = tuple(
        Cte(changes_of(key, order), changes) for key in order if (changes := context.sources[key].changes) is not None
    )
    found = rule(tree, context, f"{RESERVED_PREFIX}delta", order)
    return Delta((*context.heads, *heads, *found.ctes))
