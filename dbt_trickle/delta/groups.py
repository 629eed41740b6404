"""Groups and partitions: the rows of the touched ones before, and after.

Aggregate  agg(X_new ⋉ keys) − agg(X_old ⋉ keys)
Window     window(X_new ⋉ keys) − window(X_old ⋉ keys)
"""

from __future__ import annotations

from dbt_trickle.delta.context import Context, Cte, Delta
from dbt_trickle.delta.rule import difference, rule
from dbt_trickle.delta.touched import keys_of, of_touched, touched_keys
from dbt_trickle.tree.algebra import Aggregate, Window


@rule.register(Aggregate)
@rule.register(Window)
def _(tree: Aggregate | Window, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    below = rule(tree.child, context, f"{name}_1", order)
    keys = keys_of(tree)
    # Without keys there is one group, the whole: nothing to restrict it to.
    touched = Cte(f"{name}_keys", touched_keys(keys, below.name) if keys else "SELECT 1")
    small = context.is_small(tree)
    before, after = (of_touched(tree, tree, at, touched.name, small) for at in (context.old, context.new))
    return Delta((*below.ctes, touched, Cte(name, difference(tree, before, after))))
