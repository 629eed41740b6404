"""From the text of a query to its operators: what is not understood as a whole is Unsupported, with the reason.

    SELECT a, sum(b) / 2 AS half FROM t JOIN u USING (k) WHERE c GROUP BY a HAVING count(*) > 1

becomes, from the bottom: Scans and InnerJoin (relations.py), Filter, Aggregate (grouping.py), Filter, Project.
A SELECT in FROM is built in place; where it only names columns, nothing of it is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from dbt_trickle.sql import Unparsed, verbatim
from dbt_trickle.tree.algebra import Filter, Item, Operator, Project
from dbt_trickle.tree.expressions import bound, column, expr
from dbt_trickle.tree.grouping import Grouped, Output, add_keys, having, is_grouped, named
from dbt_trickle.tree.prune import pruned
from dbt_trickle.tree.relations import Place, Result, Schema, filtered, relations, unwrapped
from dbt_trickle.tree.scope import Names, Scope, spelling
from dbt_trickle.tree.unsupported import Unsupported, not_yet, unsupported

__all__ = ["Built", "Schema", "Unsupported", "build"]


@dataclass(frozen=True)
class Built:
    """A query's tree. Its root projects the output columns, in order, under names that differ."""

    tree: Project
    # What the query calls them: of an expression without AS, which Spark names itself, the expression's text.
    output_names: tuple[str, ...]
    text: str  # the query as it was given, less an ORDER BY that closes it


def build(text: str, sources: Mapping[str, Schema]) -> Built:
    """The tree of a query whose relations are named by the keys of `sources`."""
    query = verbatim.parse(text)
    if isinstance(query, Unparsed):
        raise Unsupported(f"the query is not understood: {query.reason}")
    select = unwrapped(query)
    if not isinstance(select, exp.Select):
        raise _not_a_select(select)
    aliases = frozenset(spelling(each.alias) for each in select.find_all(exp.Alias))
    place = Place({spelling(name): source for name, source in sources.items()}, Names(aliases), _subquery)
    try:
        tree, outputs = _select(select, place, "", root=select is query)
    except RecursionError:
        raise Unsupported("the query is nested too deeply") from None
    # Only here: it orders rows, and changes none.
    shown = verbatim.without_order(text) if select.args.get("order") else text
    return Built(pruned(_root(tree, outputs, place.names)), tuple(output.name for output in outputs), shown)


def _subquery(query: exp.Expr, place: Place, alias: str) -> Result:
    """A query in FROM. Columns that it passes on keep their names in the tree."""
    query = unwrapped(query)
    if not isinstance(query, exp.Select):
        raise _not_a_select(query)
    prefix = f"{alias}." if alias else ""
    tree, outputs = _select(query, place, prefix)
    names = [_passed_on(each) or _new_name(each, prefix, place.names) for each in outputs]
    if any(_passed_on(output) is None for output in outputs):
        items = {name: Item(name, expr(output.value)) for name, output in zip(names, outputs, strict=True)}
        tree = Project(tree, tuple(items.values()))
    return tree, tuple((output.name, name) for output, name in zip(outputs, names, strict=True))


def _root(tree: Operator, outputs: tuple[Output, ...], names: Names) -> Project:
    """Here each output is a column of its own, called as the query calls it where that can be."""
    items: dict[str, Item] = {}
    for output in outputs:
        name = _passed_on(output)
        fits = name is not None and (output.invented or spelling(name) == spelling(output.name))
        if name is None or not fits or spelling(name) in items:
            name = _new_name(output, "", names)
        items[spelling(name)] = Item(name, expr(output.value))
    return Project(tree, tuple(items.values()))


def _passed_on(output: Output) -> str | None:
    return output.value.name if isinstance(output.value, exp.Column) else None


def _new_name(output: Output, prefix: str, names: Names) -> str:
    return names.numbered("column") if output.invented else names.fresh(prefix + output.name)


def _select(select: exp.Select, place: Place, prefix: str, root: bool = False) -> tuple[Operator, tuple[Output, ...]]:
    _require_known_clauses(select, root)
    place = place.with_ctes(select)
    tree, scope = relations(select, place)
    tree = filtered(tree, scope, select.args.get("where"))
    outputs = _outputs(select, scope)
    if not is_grouped(select, outputs):
        return tree, outputs
    grouped = Grouped(place.names, prefix)
    if group := select.args.get("group"):
        add_keys(grouped, group, scope, outputs)
    above = tuple(
        replace(each, value=grouped.above(each.value, each.name if each.aliased else None)) for each in outputs
    )
    kept = select.args.get("having")
    condition = having(grouped, kept.this, scope, outputs) if kept else None
    tree = grouped.operator(tree)
    return (tree if condition is None else Filter(tree, expr(condition))), above


def _outputs(select: exp.Select, scope: Scope) -> tuple[Output, ...]:
    """The select list over the FROM clause: stars spelled out, aliases further left put in."""
    outputs: list[Output] = []

    def resolve(parts: tuple[str, ...], where: exp.Expr, inside: bool) -> exp.Expr:
        found = scope.find(parts, where)
        if found is not None:  # a column goes before an alias
            return column(*found, where)
        if inside:
            raise unsupported(f"the name {'.'.join(parts)} is not known", where)
        return named(parts, outputs, where)

    for node in select.expressions:
        if node.is_star and not isinstance(node, exp.Anonymous):
            outputs += _star(node, scope)
            continue
        aliased = isinstance(node, exp.Alias)
        value = bound(node.this if aliased else node, resolve, aggregates=True)
        # A column is called what the query calls it, a field of a struct by its last name.
        invented = not aliased and not isinstance(node, (exp.Column, exp.Dot))
        name = verbatim.printed(node) if invented else node.output_name
        outputs.append(Output(name, aliased, value.unnest(), invented))
    return tuple(outputs)


def _star(node: exp.Expr, scope: Scope) -> list[Output]:
    star = node.this if isinstance(node, exp.Column) else node
    if not isinstance(star, exp.Star) or any(star.args.values()):
        raise not_yet(f"{verbatim.printed(node)}", node)
    qualifier = tuple(part.name for part in node.parts[:-1]) if isinstance(node, exp.Column) else ()
    return [Output(each.name, False, column(each.column)) for each in scope.star(qualifier, node)]


_CLAUSES = {
    "distinct": "DISTINCT",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "order": "ORDER BY in a subquery",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "laterals": "LATERAL VIEW",
    "pivots": "PIVOT or UNPIVOT",
    "sample": "TABLESAMPLE",
    "kind": "SELECT AS",
}
_MAINTAINED = frozenset(["expressions", "from_", "joins", "where", "group", "having", "with_", "hint"])


def _require_known_clauses(select: exp.Select, root: bool) -> None:
    for key, value in select.args.items():
        if value and key not in _MAINTAINED and not (root and key == "order"):
            first = value[0] if isinstance(value, list) else value
            where = first if isinstance(first, exp.Expr) and key != "distinct" else select
            raise not_yet(_CLAUSES.get(key, key), where)


def _not_a_select(query: exp.Expr) -> Unsupported:
    if isinstance(query, exp.SetOperation):
        everything = "" if query.args.get("distinct") else " ALL"
        return not_yet(f"{type(query).__name__.upper()}{everything}", query)
    return not_yet("a query other than SELECT", query)
