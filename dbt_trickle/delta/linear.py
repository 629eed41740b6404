"""Operators that take each row by itself, or put rows together: their delta is that of what they read.

Scan      the source's changes
Filter    σ(ΔX)
Project   π(ΔX)
UnionAll  ΔL + ΔR
"""

from __future__ import annotations

from dbt_trickle.delta.context import Context, Cte, Delta, changes_of, columns_of
from dbt_trickle.delta.rule import W, rule
from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import Filter, Generate, Project, Scan, UnionAll
from dbt_trickle.tree.render import generated, state


@rule.register
def _(tree: Scan, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    fields = ", ".join(f"{quote(f.source_name)} AS {quote(f.name)}" for f in tree.fields)
    return Delta((Cte(name, f"SELECT {fields}, {W}\nFROM {quote(changes_of(tree.source, order))}"),))


@rule.register
def _(tree: Filter, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    below = rule(tree.child, context, f"{name}_1", order)
    return below.then(name, f"SELECT {columns_of(tree)}, {W}\nFROM {quote(below.name)}\nWHERE {tree.condition.sql}")


@rule.register
def _(tree: Project, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    below = rule(tree.child, context, f"{name}_1", order)
    items = ", ".join(f"{item.value.sql} AS {quote(item.name)}" for item in tree.items)
    return below.then(name, f"SELECT {items}, {W}\nFROM {quote(below.name)}")


@rule.register
def _(tree: Generate, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    below = rule(tree.child, context, f"{name}_1", order)
    chosen, view = generated(tree)
    return below.then(name, f"SELECT {chosen}, {W}\nFROM {quote(below.name)}\n{view}")


@rule.register
def _(tree: UnionAll, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    ctes: tuple[Cte, ...] = ()
    terms = []
    for number, branch in enumerate((tree.left, tree.right), start=1):
        columns = columns_of(branch)
        if context.moved(branch):
            below = rule(branch, context, f"{name}_{number}", order)
            ctes += below.ctes
            terms.append(f"SELECT {columns}, {W}\nFROM {quote(below.name)}")
        else:
            # Of its rows none, of its columns the types: what both have in common is not what either has.
            rows = state(branch, context.new)
            terms.append(f"SELECT {columns}, CAST(0 AS BIGINT) AS {W}\nFROM (\n{rows}\n)\nWHERE false")
    return Delta((*ctes, Cte(name, "\nUNION ALL\n".join(terms))))
