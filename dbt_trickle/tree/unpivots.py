"""UNPIVOT: a row for each of some columns, with what the column is called beside its value.

A generator makes them. The columns that it reads are not seen any more, and rows without a value are left out unless
the query includes NULLs.
"""

from __future__ import annotations

from sqlglot import exp

from dbt_trickle.names import literal
from dbt_trickle.tree.algebra import Filter, Generate, Operator
from dbt_trickle.tree.binding import bound
from dbt_trickle.tree.expressions import column, expr
from dbt_trickle.tree.joining import Part, by_name, only
from dbt_trickle.tree.pivots import told_apart
from dbt_trickle.tree.scope import Names, Scope, Visible
from dbt_trickle.tree.unsupported import not_yet, unsupported
from dbt_trickle.tree.values import Expr, Unpivoted


def unpivoted(part: Part, node: exp.Pivot, names: Names) -> Part:
    only(node, "expressions", "fields", "unpivot", "include_nulls", "alias")
    tree, scope = told_apart(part, names)
    field = node.args["fields"][0] if len(node.args["fields"]) == 1 else None
    if not isinstance(field, exp.In) or len(node.expressions) != 1 or not field.expressions:
        raise not_yet("this UNPIVOT", node)
    only(field, "this", "expressions")
    values = [each.name for each in _together(node.expressions[0])]
    rows = [_together(each.unalias()) for each in field.expressions]
    if any(len(row) != len(values) for row in rows):
        raise unsupported(f"UNPIVOT of {len(values)} values has a row of others", node)
    read = tuple(tuple(_column(each, scope) for each in row) for row in rows)
    # Called as they are written, whatever the table calls them.
    called = tuple(
        each.alias or "_".join(part.name for part in row) for each, row in zip(field.expressions, rows, strict=True)
    )
    alias = node.args["alias"].name if node.args.get("alias") else ""
    fresh = tuple(names.fresh(f"{alias}.{name}" if alias else name) for name in (field.this.name, *values))
    gone = {name for row in read for name in row}
    others = (
        Visible(each.name, (alias,) if alias else each.qualifier, each.column)
        for each in scope.columns
        if each.column not in gone
    )
    how = Unpivoted(read, called, tuple(each.column for each in scope.columns))
    made: Operator = Generate(tree, _call(read, called), False, fresh, how)
    if not node.args.get("include_nulls"):
        made = Filter(made, expr(_is_there([column(name) for name in fresh[1:]])))
    return made, Scope((*others, *_new((field.this.name, *values), fresh, alias)))


def _together(node: exp.Expr) -> list[exp.Expr]:
    plain = node.unnest()
    return list(plain.expressions) if isinstance(plain, exp.Tuple) else [plain]


def _column(node: exp.Expr, scope: Scope) -> str:
    found = bound(node, by_name(scope))
    if not isinstance(found, exp.Column):
        raise not_yet("UNPIVOT of something else than columns", node)
    return found.name


def _call(read: tuple[tuple[str, ...], ...], called: tuple[str, ...]) -> Expr:
    structs = []
    for name, row in zip(called, read, strict=True):
        values = (f", 'v{at}', {expr(column(each)).sql}" for at, each in enumerate(row))
        structs.append(f"named_struct('name', {literal(name)}{''.join(values)})")
    return Expr(f"inline(array({', '.join(structs)}))", frozenset(name for row in read for name in row))


def _is_there(values: list[exp.Expr]) -> exp.Expr:
    first = values[0] if len(values) == 1 else exp.Anonymous(this="coalesce", expressions=values)
    return exp.Not(this=exp.Is(this=first, expression=exp.Null()))


def _new(called: tuple[str, ...], fresh: tuple[str, ...], alias: str) -> tuple[Visible, ...]:
    pairs = zip(called, fresh, strict=True)
    return tuple(Visible(name, (alias,) if alias else (), column) for name, column in pairs)
