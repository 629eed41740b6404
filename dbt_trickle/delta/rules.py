"""The delta of each operator, by the rules of the algebra: Q(old) ⊎ ΔQ = Q(new), as multisets.

    Scan      the source's changes
    Filter    σ(ΔX)
    Project   π(ΔX)
    UnionAll  ΔL + ΔR
    Join      ΔL ⋈ R_new + L_old ⋈ ΔR         (never R_new twice: a pair whose two sides came would count twice)
    Aggregate rows of the touched groups before, and after: agg(X_new ⋉ keys) − agg(X_old ⋉ keys)

A join of several inputs telescopes by itself: each term has the inputs before the changed one old and those
after it new. Inputs that did not move add no term.
"""

from __future__ import annotations

from functools import singledispatch

from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta.context import Context, Cte, Delta, changes_of, columns_of, source_order
from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import RESERVED_PREFIX, quote
from dbt_trickle.tree.algebra import Aggregate, Filter, InnerJoin, Operator, Project, Scan, UnionAll
from dbt_trickle.tree.render import call_sql, state

_W = quote(WEIGHT)
_CHANGED, _OTHER = f"{RESERVED_PREFIX}changed", f"{RESERVED_PREFIX}other"


def delta(tree: Operator, context: Context) -> Delta:
    """How the tree's rows change between the context's two states; something below must have moved."""
    if not context.moved(tree):
        raise TrickleBug("the delta of what has not moved")
    order = source_order(tree)
    heads = tuple(
        Cte(changes_of(key, order), changes) for key in order if (changes := context.sources[key].changes) is not None
    )
    found = _delta(tree, context, f"{RESERVED_PREFIX}delta", order)
    return Delta((*heads, *found.ctes))


@singledispatch
def _delta(tree: Operator, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    raise TrickleBug(f"{type(tree).__name__} has no delta")


@_delta.register
def _(tree: Scan, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    fields = ", ".join(f"{quote(f.source_name)} AS {quote(f.name)}" for f in tree.fields)
    return Delta((Cte(name, f"SELECT {fields}, {_W}\nFROM {quote(changes_of(tree.source, order))}"),))


@_delta.register
def _(tree: Filter, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    below = _delta(tree.child, context, f"{name}_1", order)
    return below.then(name, f"SELECT {columns_of(tree)}, {_W}\nFROM {quote(below.name)}\nWHERE {tree.condition.sql}")


@_delta.register
def _(tree: Project, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    below = _delta(tree.child, context, f"{name}_1", order)
    items = ", ".join(f"{item.value.sql} AS {quote(item.name)}" for item in tree.items)
    return below.then(name, f"SELECT {items}, {_W}\nFROM {quote(below.name)}")


@_delta.register
def _(tree: InnerJoin, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    ctes: tuple[Cte, ...] = ()
    terms = []
    for changed, other, at in (
        (tree.left, tree.right, context.new),
        (tree.right, tree.left, context.old),
    ):
        if not context.moved(changed):
            continue
        below = _delta(changed, context, f"{name}_{1 if changed is tree.left else 2}", order)
        ctes += below.ctes
        terms.append(_term(tree, below.name, state(other, at), context.is_small(changed)))
    return Delta((*ctes, Cte(name, "\nUNION ALL\n".join(terms))))


def _term(tree: InnerJoin, changed: str, other: str, small: bool) -> str:
    hint = f"/*+ BROADCAST({_CHANGED}) */ " if small else ""
    columns = ", ".join(quote(column) for column in tree.columns)
    kind, on = ("INNER", f"\nON {tree.condition.sql}") if tree.condition is not None else ("CROSS", "")
    # Under names that no column has: `d`.`x` in the condition is a field of a column d.
    return (
        f"SELECT {hint}{columns}, {_CHANGED}.{_W}\nFROM {quote(changed)} AS {_CHANGED}\n"
        f"{kind} JOIN (\n{other}\n) AS {_OTHER}{on}"
    )


@_delta.register
def _(tree: UnionAll, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    ctes: tuple[Cte, ...] = ()
    terms = []
    for number, branch in enumerate((tree.left, tree.right), start=1):
        columns = columns_of(branch)
        if context.moved(branch):
            below = _delta(branch, context, f"{name}_{number}", order)
            ctes += below.ctes
            terms.append(f"SELECT {columns}, {_W}\nFROM {quote(below.name)}")
        else:
            # Of its rows none, of its columns the types: what both have in common is not what either has.
            rows = state(branch, context.new)
            terms.append(f"SELECT {columns}, CAST(0 AS BIGINT) AS {_W}\nFROM (\n{rows}\n)\nWHERE false")
    return Delta((*ctes, Cte(name, "\nUNION ALL\n".join(terms))))


@_delta.register
def _(tree: Aggregate, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    below = _delta(tree.child, context, f"{name}_1", order)
    # Without keys there is one group, the whole: nothing to restrict it to.
    keys = Cte(f"{name}_keys", touched_keys(tree, below.name) if tree.keys else "SELECT 1")
    small = context.is_small(tree)
    before = groups(tree, context.old, keys.name, small)
    after = groups(tree, context.new, keys.name, small)
    rows = (
        f"SELECT {columns_of(tree)}, CAST(-1 AS BIGINT) AS {_W}\nFROM (\n{before}\n)\nUNION ALL\n"
        f"SELECT {columns_of(tree)}, CAST(1 AS BIGINT) AS {_W}\nFROM (\n{after}\n)"
    )
    return Delta((*below.ctes, keys, Cte(name, rows)))


def touched_keys(tree: Aggregate, changed: str) -> str:
    """The groups that any changed row was or is in."""
    keys = ", ".join(f"{key.value.sql} AS {quote(key_name(i))}" for i, key in enumerate(tree.keys))
    return f"SELECT DISTINCT {keys}\nFROM {quote(changed)}"


def groups(tree: Aggregate, at: dict[str, str], keys: str, small: bool) -> str:
    """The rows of those groups in one state. A group without rows has none; the whole always has one."""
    calls = [f"{call_sql(call)} AS {quote(call.name)}" for call in tree.calls]
    child = state(tree.child, at)
    if not tree.keys:
        return f"SELECT {', '.join(calls)}\nFROM (\n{child}\n)"
    hint = f"/*+ BROADCAST({quote(keys)}) */ " if small else ""
    named = [f"{key.value.sql} AS {quote(key_name(i))}" for i, key in enumerate(tree.keys)]
    shown = [f"{quote(key_name(i))} AS {quote(key.name)}" for i, key in enumerate(tree.keys)]
    same = " AND ".join(f"x.{quote(key_name(i))} <=> {quote(keys)}.{quote(key_name(i))}" for i in range(len(tree.keys)))
    group = ", ".join(quote(key_name(i)) for i in range(len(tree.keys)))
    return (
        f"SELECT {', '.join([*shown, *calls])}\nFROM (\nSELECT {hint}x.*\nFROM (\n"
        f"SELECT *, {', '.join(named)}\nFROM (\n{child}\n)\n) AS x\nLEFT SEMI JOIN {quote(keys)} ON {same}\n)\n"
        f"GROUP BY {group}"
    )


def key_name(position: int) -> str:
    return f"{RESERVED_PREFIX}key_{position}"
