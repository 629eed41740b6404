"""The clauses of a query that are maintained; each other one is refused by its name."""

from __future__ import annotations

from sqlglot import exp

from dbt_trickle.tree.unsupported import not_yet

_CLAUSES = {
    "limit": "LIMIT",
    "offset": "OFFSET",
    "order": "ORDER BY in a subquery",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "pivots": "PIVOT or UNPIVOT",
    "sample": "TABLESAMPLE",
    "kind": "SELECT AS",
    "locks": "FOR UPDATE",
}
OF_SELECTS = frozenset("expressions from_ joins laterals where group having with_ hint distinct windows".split())
OF_UNIONS = frozenset(["this", "expression", "with_", "distinct"])


def require_known(query: exp.Query, maintained: frozenset[str], root: bool) -> None:
    """Of the root an ORDER BY may be left out: a table has no order. With a LIMIT it says which rows there are."""
    for key, value in query.args.items():
        if value and key not in maintained and not (root and key in ("order", "limit")):
            first = value[0] if isinstance(value, list) else value
            raise not_yet(_CLAUSES.get(key, key), first if isinstance(first, exp.Expr) else query)
    distinct = query.args.get("distinct")
    if isinstance(distinct, exp.Distinct) and distinct.args.get("on"):
        raise not_yet("DISTINCT ON", query)
