"""PIVOT: a column of the result for each value and call.

    SELECT * FROM t PIVOT (sum(a) FOR p IN (1, 2))

is grouped by the columns that it does not name, with sum(a) FILTER (WHERE p <=> 1) and the like (pivot_calls.py). What
is no single call is computed by group and p below, and picked above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from dbt_trickle.sql import verbatim
from dbt_trickle.tree.algebra import Aggregate, Operator, Project, scans
from dbt_trickle.tree.binding import bound
from dbt_trickle.tree.calls import call_of
from dbt_trickle.tree.expressions import column, columns, expr, within
from dbt_trickle.tree.grouping import Grouped
from dbt_trickle.tree.joining import Part, by_name, only
from dbt_trickle.tree.pivot_calls import PivotCall, filtered, pivot_call
from dbt_trickle.tree.scope import Names, Scope, Visible
from dbt_trickle.tree.unsupported import not_yet, unsupported
from dbt_trickle.tree.values import Item, Pivoted


def pivoted(part: Part, node: exp.Pivot, names: Names) -> Part:
    only(node, "expressions", "fields", "columns", "pivot_column_naming")  # their names are Spark's to give
    tree, scope = told_apart(part, names)
    written, values = _goes_by(node)
    by = [bound(each, by_name(scope)) for each in written]
    wanted = [_parts(each, len(by)) for each in values]
    calls = [pivot_call(each, scope) for each in node.expressions]
    picked = all(each.is_number({f.name: f.type for scan in scans(tree) for f in scan.fields}) for each in calls)
    if not picked and not all(each.is_call for each in calls):
        raise not_yet("PIVOT of an expression over aggregates beside one that is no number", node)
    named = {name for each in (*by, *(call.value for call in calls)) for name in columns(each)}
    keys = tuple(each for each in scope.columns if each.column not in named)
    labels = list(_labels(values, calls))
    fresh = tuple(names.fresh(label) for label in labels)
    written_as = Pivoted(
        tuple((column.name, called.name) for column, called in zip(by, written, strict=True)),
        tuple(tuple(map(expr, parts)) for parts in wanted),
        tuple(expr(each.value) for each in calls),
        picked if any(each.tells for each in calls) else None,
        picked and any(each.is_apart for each in calls),
        tuple(each.column for each in scope.columns),
        fresh,
    )
    of_rows = [each.of_rows(picked) for each in calls]
    if written_as.apart:
        tree, of_rows = _by_value(tree, keys, by, calls, names)
    conditions = (exp.and_(*map(_same, by, parts)) for parts in wanted)
    found = (filtered(each, condition) for condition in conditions for each in of_rows)
    made = tuple(call_of(name, each) for name, each in zip(fresh, found, strict=True))
    shown = (Visible(label, (), name) for label, name in zip(labels, fresh, strict=True))
    return Aggregate(tree, tuple(_item(each.column) for each in keys), made, pivoted=written_as), Scope((*keys, *shown))


def told_apart(part: Part, names: Names) -> Part:
    """With a column for each name that it has: to Spark these are several, of which one may be read and one stay."""
    tree, scope = part
    if len({each.column for each in scope.columns}) == len(scope.columns):
        return part
    shown = tuple(Visible(each.name, each.qualifier, names.fresh(each.name)) for each in scope.columns)
    items = (Item(new.column, expr(column(was.column))) for new, was in zip(shown, scope.columns, strict=True))
    return Project(tree, tuple(items)), Scope(shown)


def _goes_by(node: exp.Pivot) -> tuple[list[exp.Column], list[exp.Expr]]:
    """The columns behind FOR, and the values."""
    field = node.args["fields"][0] if len(node.args["fields"]) == 1 else None
    if not isinstance(field, exp.In):
        raise not_yet("this PIVOT", node)
    only(field, "this", "expressions")
    plain = field.this.unnest()
    written = list(plain.expressions) if isinstance(plain, exp.Tuple) else [plain]
    found = [each for each in written if isinstance(each, exp.Column) and len(each.parts) == 1]
    if len(found) != len(written) or not field.expressions:
        raise not_yet("this PIVOT", node)
    return found, list(field.expressions)


def _parts(value: exp.Expr, number: int) -> list[exp.Expr]:
    plain = value.unalias()
    parts = list(plain.expressions) if isinstance(plain, exp.Tuple) else [plain]
    if len(parts) != number:
        raise unsupported(f"PIVOT by {number} columns has a value of {len(parts)}", value)
    return [bound(each, by_name(Scope())) for each in parts]


def _by_value(
    tree: Operator, keys: Sequence[Visible], by: Sequence[exp.Expr], calls: Sequence[PivotCall], names: Names
) -> tuple[Operator, list[exp.Expr]]:
    """Groups by the keys and by what it goes by; of each there is one value of each call, which is its largest."""
    grouped = Grouped(names, "")
    for each in (*(column(key.column) for key in keys), *by):
        grouped.add_key(each, None)
    values = [grouped.above(each.value) for each in calls]
    inner: Operator = grouped.operator(tree)
    if not all(isinstance(each, exp.Column) for each in values):
        of_calls = (each.name if isinstance(each, exp.Column) else names.numbered("value") for each in values)
        items = [Item(name, expr(each)) for name, each in zip(of_calls, values, strict=True)]
        inner = Project(inner, (*(_item(key.name) for key in grouped.keys.values()), *dict.fromkeys(items)))
        values = [column(item.name) for item in items]
    return inner, [exp.Anonymous(this="max", expressions=[each]) for each in values]


def _item(name: str) -> Item:
    return Item(name, expr(column(name)))


def _same(of_row: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.NullSafeEQ(this=of_row.copy(), expression=within(value))


def _labels(values: Sequence[exp.Expr], calls: Sequence[PivotCall]) -> Iterator[str]:
    for value in values:
        for call in calls:
            yield f"{_called(value)}_{call.label}" if len(calls) > 1 else _called(value)


def _called(value: exp.Expr) -> str:
    """As Spark calls it: by its alias, or by the value as a text. What is not a literal keeps ours."""
    plain = value.unalias()
    if value.alias:
        return value.alias
    if isinstance(plain, exp.Tuple):
        return f"{{{', '.join(map(_called, plain.expressions))}}}"
    if isinstance(plain, exp.Cast):
        plain = plain.this  # DATE '2024-01-31'
    text = verbatim.printed(plain)
    if isinstance(plain, exp.Literal):
        return text[1:-1] if plain.is_string else text.rstrip("lLsSyY")
    return text.lower()
