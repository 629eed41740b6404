"""INTERSECT and EXCEPT: how often a row is in the result hangs on how often rows like it are on either side alone.

SetOperation  (L ⋉ keys op R ⋉ keys) in the new state − the same in the old one; keys: the rows that changed
"""

from __future__ import annotations

from dbt_trickle.delta.context import Context, Cte, Delta
from dbt_trickle.delta.rule import difference, rule
from dbt_trickle.delta.touched import key_name, of_keys
from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import Operator, SetOperation
from dbt_trickle.tree.render import state
from dbt_trickle.tree.values import Expr


@rule.register
def _(tree: SetOperation, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    ctes: tuple[Cte, ...] = ()
    changed = []
    for number, side in enumerate((tree.left, tree.right), start=1):
        named = ", ".join(f"{quote(column)} AS {quote(key_name(i))}" for i, column in enumerate(side.columns))
        if context.moved(side):
            below = rule(side, context, f"{name}_{number}", order)
            ctes += below.ctes
            changed.append(f"SELECT {named}\nFROM {quote(below.name)}")
        else:
            # Of its rows none, of its columns the types: rows are compared in those that both sides have in common.
            changed.append(f"SELECT {named}\nFROM (\n{state(side, context.new)}\n)\nWHERE false")
    both = "\nUNION ALL\n".join(changed)
    keys = Cte(f"{name}_keys", f"SELECT DISTINCT *\nFROM (\n{both}\n)")
    before, after = (_of_keys(tree, at, keys.name, context.is_small(tree)) for at in (context.old, context.new))
    return Delta((*ctes, keys, Cte(name, difference(tree, before, after))))


def _of_keys(tree: SetOperation, at: dict[str, str], keys: str, small: bool) -> str:
    sides = (of_keys(side, _columns(side), at, keys, small) for side in (tree.left, tree.right))
    return f"\n{tree.word}\n".join(f"({side})" for side in sides)


def _columns(side: Operator) -> list[Expr]:
    return [Expr(quote(column), frozenset([column])) for column in side.columns]
