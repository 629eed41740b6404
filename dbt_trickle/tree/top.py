"""ORDER BY with LIMIT at the end of a query."""

from __future__ import annotations

from sqlglot import exp

from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import Project, TopK
from dbt_trickle.tree.scope import spelling
from dbt_trickle.tree.unsupported import not_yet, unsupported
from dbt_trickle.tree.values import Expr, Item, SortKey


def limited(select: exp.Expr, root: Project, names: tuple[str, ...]) -> Project:
    """`names`: what the query calls the root's columns."""
    limit = select.args["limit"].expression
    order = select.args.get("order")
    if order is None:
        raise unsupported("LIMIT without ORDER BY takes any rows, and others each time", select.args["limit"])
    if not isinstance(limit, exp.Literal) or not limit.this.isdigit() or int(limit.this) < 1:
        raise not_yet("LIMIT of something else than a number above 0", select.args["limit"])
    keys = tuple(_key(each, root, names) for each in order.expressions)
    shown = tuple(Item(name, Expr(quote(name), frozenset([name]))) for name in root.columns)
    return Project(TopK(root, keys, int(limit.this)), shown)


def _key(node: exp.Expr, root: Project, names: tuple[str, ...]) -> SortKey:
    if not isinstance(node, exp.Ordered):
        raise not_yet("this ORDER BY", node)
    down = bool(node.args.get("desc"))
    # As Spark has it where nothing is said: NULLs are the smallest.
    first = bool(node.args.get("nulls_first"))
    direction = (" DESC" if down else " ASC") + (" NULLS FIRST" if first else " NULLS LAST")
    return SortKey(root.columns[_position(node.this.unnest(), root, names)], direction)


def _passed_on(item: Item) -> str:
    """What its relation calls the column that it shows as it is; nothing, where it computes."""
    name = next(iter(item.value.columns), "")
    return name.partition(".")[2] if item.value.sql == quote(name) else ""


def _position(value: exp.Expr, root: Project, names: tuple[str, ...]) -> int:
    """By number, by the name it is shown under, or as the column of a relation that it shows."""
    if isinstance(value, exp.Literal) and value.this.isdigit() and 1 <= int(value.this) <= len(names):
        return int(value.this) - 1
    parts = tuple(part.name for part in value.parts) if isinstance(value, exp.Column) else ()
    if len(parts) > 1:
        wanted, shown = quote(".".join(parts)), [item.value.sql for item in root.items]
    else:
        wanted, shown = "".join(parts), list(names)
    found = [at for at, each in enumerate(shown) if spelling(each) == spelling(wanted)]
    if len(parts) == 1 and not found:
        # The names of the result come first, then those of what it is made from.
        found = [at for at, each in enumerate(root.items) if spelling(_passed_on(each)) == spelling(wanted)]
    if not parts or len(found) != 1:
        raise not_yet("LIMIT with an ORDER BY of something that is not a column of the result", value)
    return found[0]
