"""INTERSECT and EXCEPT: how often a row is in the result hangs on how often rows like it are on either side alone.

SetOperation  (L ⋉ keys op R ⋉ keys) in the new state − the same in the old one; keys: the rows that changed
"""

from __future__ import annotations

from dbt_trickle.delta.context import Context, Cte, Delta, columns_of
from dbt_trickle.delta.rule import W, broadcast, rule
from dbt_trickle.delta.touched import key_name
from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import Operator, SetOperation
from dbt_trickle.tree.render import state


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
    small = context.is_small(tree)
    terms = (
        f"SELECT {columns_of(tree)}, CAST({weight} AS BIGINT) AS {W}\nFROM (\n{_of_keys(tree, at, keys.name, small)}\n)"
        for at, weight in ((context.old, -1), (context.new, 1))
    )
    return Delta((*ctes, keys, Cte(name, "\nUNION ALL\n".join(terms))))


def _of_keys(tree: SetOperation, at: dict[str, str], keys: str, small: bool) -> str:
    return f"\n{tree.word}\n".join(_like(side, at, keys, small) for side in (tree.left, tree.right))


def _like(side: Operator, at: dict[str, str], keys: str, small: bool) -> str:
    columns = ", ".join(f"x.{quote(column)}" for column in side.columns)
    same = " AND ".join(f"x.{quote(c)} <=> {quote(keys)}.{quote(key_name(i))}" for i, c in enumerate(side.columns))
    return (
        f"(SELECT {broadcast(quote(keys), small)}{columns}\nFROM (\n{state(side, at)}\n) AS x\n"
        f"LEFT SEMI JOIN {quote(keys)} ON {same})"
    )
