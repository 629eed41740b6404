"""WITH RECURSIVE: rows that are made of rows, level by level, from those of a base.

    WITH RECURSIVE r AS (base UNION ALL step)    Spark has no other form, and the step names r

The step has to be linear (linear_step.py): what follows from all of r's rows is then what follows from each.
"""

from __future__ import annotations

from sqlglot import exp

from dbt_trickle.names import RESERVED_PREFIX, quote
from dbt_trickle.tree.algebra import Project, Recursive
from dbt_trickle.tree.clauses import OF_UNIONS, require_known
from dbt_trickle.tree.linear_step import not_linear
from dbt_trickle.tree.relations import Cte, Level, Result, renamed
from dbt_trickle.tree.scope import Names, spelling
from dbt_trickle.tree.unsupported import not_yet, unsupported
from dbt_trickle.tree.values import Expr, Item

NAME = f"{RESERVED_PREFIX}recursion"


def recursion(cte: Cte, alias: str) -> Result:
    """A CTE that names itself, where a FROM clause calls it this."""
    body, node = cte.body, cte.node
    if not isinstance(body, exp.Union) or body.args.get("distinct"):
        raise not_yet("a recursion that is not base UNION ALL step", node)
    require_known(body, OF_UNIONS, root=False)
    place = cte.outside.with_ctes(body)
    rows, called = place.query(body.this, place, alias)
    called = renamed(called, node.args.get("alias"))
    base = _project((rows, called), alias, place.names)
    level = Level(place.names.fresh(NAME), tuple(zip((name for name, _ in called), base.columns, strict=True)))
    inside = place.with_cte(node.alias, level)
    found = place.query(body.expression, inside, alias)
    if len(found[1]) != len(called):
        raise unsupported(f"{node.alias} of {len(called)} and {len(found[1])} columns", node)
    step = _project(found, alias, place.names)
    if reason := not_linear(step, level.recursion):
        raise not_yet(f"{reason} in the step of a recursion", node)
    return Recursive(level.recursion, base, step), level.columns


def _project(result: Result, alias: str, names: Names) -> Project:
    """All columns, each by a name of its own: one may be shown twice, and the step reads what the base does."""
    tree, columns = result
    values = {column: Expr(quote(column), frozenset([column])) for _, column in columns}
    if isinstance(tree, Project):
        values, tree = {item.name: item.value for item in tree.items}, tree.child
    return Project(tree, tuple(Item(names.fresh(f"{alias}.{name}"), values[column]) for name, column in columns))


def names_itself(cte: Cte) -> bool:
    name = spelling(cte.node.alias)
    tables = cte.node.this.find_all(exp.Table)
    return any(len(table.parts) == 1 and spelling(table.name) == name for table in tables)
