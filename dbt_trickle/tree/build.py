"""From the text of a query to its operators: what is not understood as a whole is Unsupported, with the reason.

    SELECT a, sum(b) / 2 AS half FROM t JOIN u USING (k) WHERE c GROUP BY a HAVING count(*) > 1

becomes, from the bottom: Scans and InnerJoin (relations.py), Filter, Aggregate (grouping.py), Filter, Project.
A query in FROM is built in place; where it only names columns, nothing of it is left. UNION is UnionAll below the
Aggregate that DISTINCT is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dbt_trickle.sql import Unparsed, verbatim
from dbt_trickle.tree.algebra import (
    Aggregate,
    Filter,
    Lookup,
    Mark,
    Operator,
    Project,
    SetOperation,
    UnionAll,
    scans,
    walk,
)
from dbt_trickle.tree.binding import bound, is_of_the_user
from dbt_trickle.tree.clauses import OF_SELECTS, OF_UNIONS, require_known
from dbt_trickle.tree.expressions import column, columns, expr, name_parts
from dbt_trickle.tree.generators import of_select, viewed
from dbt_trickle.tree.grouping import Grouped, Output, add_keys, having, is_grouped, named
from dbt_trickle.tree.laterals import joined_lateral
from dbt_trickle.tree.lookups import Lookups
from dbt_trickle.tree.prune import pruned
from dbt_trickle.tree.recursion import names_itself, recursion
from dbt_trickle.tree.relations import Cte, Place, Result, Schema, relations, unwrapped
from dbt_trickle.tree.scope import Names, Scope, spelling
from dbt_trickle.tree.subqueries import READER, filtered
from dbt_trickle.tree.top import limited
from dbt_trickle.tree.unsupported import Unsupported, not_yet, unsupported
from dbt_trickle.tree.values import Item
from dbt_trickle.tree.windows import windowed, windows_spelled_out

__all__ = ["Built", "Schema", "Unsupported", "build"]

Part = tuple[Operator, tuple[Output, ...]]


@dataclass(frozen=True)
class Built:
    """A query's tree. Its root projects the output columns, in order, under names that differ."""

    tree: Project
    # What the query calls them: of an expression without AS, which Spark names itself, the expression's text.
    output_names: tuple[str, ...]
    text: str  # the query as it was given, less an ORDER BY that closes it
    ordered: bool = False  # whether there was one


def build(text: str, sources: Mapping[str, Schema], functions: Collection[str] = ()) -> Built:
    """The tree of a query whose relations are named by the keys of `sources`.

    `functions`: the user's own scalar ones that give the same value of the same arguments, by their names in the text.
    """
    try:
        return _built(text, sources, functions)
    except Unsupported as problem:
        raise problem.within(text, problem.at) from None


def _built(text: str, sources: Mapping[str, Schema], functions: Collection[str]) -> Built:
    query = verbatim.parse(text)
    if isinstance(query, Unparsed):
        raise Unsupported(f"the query is not understood: {query.reason}")
    for call in query.find_all(exp.Anonymous):
        if is_of_the_user(call) and call.name.lower() not in functions:
            raise not_yet(f"the function {call.name}()", call)
    select = unwrapped(query)
    aliases = frozenset(spelling(each.alias) for each in select.find_all(exp.Alias))
    known = {spelling(name): source for name, source in sources.items()}
    place = Place(known, Names(aliases), _subquery, joined_lateral, _cte)
    try:
        tree, outputs = _query(select, place, "", root=select is query)
    except RecursionError:
        raise Unsupported("the query is nested too deeply") from None
    if not scans(tree):
        raise not_yet("a query that reads no table", select)
    # Only here: it orders rows, and changes none.
    ordered = bool(select.args.get("order")) and not select.args.get("limit")
    shown = verbatim.without_order(text) if ordered else text
    names = tuple(output.name for output in outputs)
    root = _root(tree, outputs, place.names)
    if select.args.get("limit"):
        root = limited(select, root, names)
    whole = pruned(root)
    if any(isinstance(each, Mark) for each in walk(whole)) and any(map(_is_correlated, walk(whole))):
        # Spark 4.1 loses columns of such a tree as it is written (state()), with an error.
        raise not_yet("EXISTS or IN as a value, in a query with a correlated scalar subquery,", select)
    return Built(whole, names, shown, ordered)


def _is_correlated(tree: Operator) -> bool:
    return isinstance(tree, Lookup) and tree.condition is not None


def _subquery(query: exp.Expr, place: Place, alias: str) -> Result:
    """A query in FROM. Columns that it passes on keep their names in the tree."""
    prefix = f"{alias}." if alias else ""
    tree, outputs = _query(query, place, prefix)
    if all(_passed_on(output) for output in outputs):
        return tree, tuple((output.name, output.value.name) for output in outputs)
    projected, names = _projected(tree, outputs, prefix, place.names)
    return projected, tuple((output.name, name) for output, name in zip(outputs, names, strict=True))


def _cte(cte: Cte, alias: str) -> Result:
    if cte.recursive and names_itself(cte):
        return recursion(cte, alias)
    return _subquery(cte.node.this, cte.outside, alias)


def _projected(tree: Operator, outputs: Sequence[Output], prefix: str, names: Names) -> tuple[Project, tuple[str, ...]]:
    """Only the outputs, each once, and the name of each."""
    chosen = tuple(_passed_on(each) or _new_name(each, prefix, names) for each in outputs)
    items = {name: Item(name, expr(output.value)) for name, output in zip(chosen, outputs, strict=True)}
    return Project(tree, tuple(items.values())), chosen


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


def _query(query: exp.Expr, place: Place, prefix: str, root: bool = False) -> Part:
    query = unwrapped(query)
    if isinstance(query, exp.Select):
        return _select(query, place, prefix, root)
    if isinstance(query, exp.SetOperation):
        return _set_operation(query, place, prefix, root)
    raise not_yet("a query other than SELECT", query)


def _set_operation(query: exp.SetOperation, place: Place, prefix: str, root: bool) -> Part:
    require_known(query, OF_UNIONS, root)
    place = place.with_ctes(query)
    branches = []
    outputs: tuple[Output, ...] = ()
    for side in (query.this, query.expression):
        tree, shown = _query(side, place, prefix)
        outputs = outputs or shown
        if len(shown) != len(outputs):
            raise unsupported(f"{_word(query)} of {len(outputs)} and {len(shown)} columns", side)
        # All of them new: a column may be shown twice, and the other branch may read the same one.
        items = (Item(_new_name(each, prefix, place.names), expr(each.value)) for each in shown)
        branches.append(Project(tree, tuple(items)))
    distinct, (left, right) = bool(query.args.get("distinct")), branches
    union = isinstance(query, exp.Union)
    both: Operator = UnionAll(left, right) if union else SetOperation(_word(query), not distinct, left, right)
    above = tuple(replace(each, value=column(name)) for each, name in zip(outputs, both.columns, strict=True))
    return _distinct(both, above, prefix, place.names) if union and distinct else (both, above)


def _word(query: exp.SetOperation) -> str:
    return type(query).__name__.upper()


def _distinct(tree: Operator, outputs: tuple[Output, ...], prefix: str, names: Names) -> Part:
    """Groups by all columns, of which nothing is computed."""
    projected, chosen = _projected(tree, outputs, prefix, names)
    keys = tuple(Item(name, expr(column(name))) for name in projected.columns)
    above = tuple(replace(each, value=column(name)) for each, name in zip(outputs, chosen, strict=True))
    return Aggregate(projected, keys, ()), above


def _select(select: exp.Select, place: Place, prefix: str, root: bool) -> Part:
    """What is below the select list, and the outputs over it."""
    require_known(select, OF_SELECTS, root)
    place = place.with_ctes(select)
    select = windows_spelled_out(select)
    tree, scope = relations(select, place)
    for lateral in select.args.get("laterals") or ():
        tree, scope = viewed(tree, scope, lateral, place.names)
    tree = filtered(tree, scope, select.args.get("where"), place)
    select, tree, scope = of_select(select, tree, scope, place.names)
    lookups = Lookups(scope, place, READER)
    outputs = _outputs(select, scope, lookups)
    if is_grouped(select, outputs):
        tree, outputs = _grouped(select, tree, lookups, outputs, prefix)
    else:
        tree = lookups.below(tree)
    tree, outputs = windowed(tree, outputs, prefix, place.names)
    return _distinct(tree, outputs, prefix, place.names) if select.args.get("distinct") else (tree, outputs)


def _grouped(select: exp.Select, tree: Operator, lookups: Lookups, outputs: tuple[Output, ...], prefix: str) -> Part:
    kept = select.args.get("having")
    condition = lookups.taken_out(kept.this, filtering=True) if kept else None
    grouped = Grouped(lookups.place.names, prefix, given=lookups.names)
    if group := select.args.get("group"):
        add_keys(grouped, group, lookups.scope, outputs, lookups)
        grouped.given = lookups.names
    above = tuple(
        replace(each, value=grouped.above(each.value, each.name if each.aliased else None)) for each in outputs
    )
    if condition is not None:
        condition = having(grouped, condition, lookups.scope, outputs, lookups)
    made_of = [*(key.value for key in grouped.keys.values()), *(call.value for call in grouped.calls.values())]
    inner = lookups.names & frozenset().union(*(each.columns for each in made_of))
    tree = grouped.operator(lookups.below(tree, inner))
    tree = lookups.below(tree, lookups.names - inner)
    shown = [*(each.value for each in above), *([condition] if condition is not None else [])]
    if any(name in inner and name not in tree.columns for each in shown for name in columns(each)):
        raise not_yet("a scalar subquery within a call and beside it", select)
    return (tree if condition is None else Filter(tree, expr(condition))), above


def _outputs(select: exp.Select, scope: Scope, lookups: Lookups) -> tuple[Output, ...]:
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
        plain = lookups.taken_out(node.this if aliased else node)
        value = bound(plain, lookups.resolve(resolve), aggregates=True, windows=True)
        # A column is called what the query calls it, a field of a struct by its last name.
        invented = not aliased and not isinstance(node, (exp.Column, exp.Dot))
        name = verbatim.printed(node) if invented else node.output_name
        outputs.append(Output(name, aliased, value.unnest(), invented))
    return tuple(outputs)


def _star(node: exp.Expr, scope: Scope) -> list[Output]:
    star = node.this if isinstance(node, exp.Column) else node
    if not isinstance(star, exp.Star) or any(value for key, value in star.args.items() if key != "except_"):
        raise not_yet(f"{verbatim.printed(node)}", node)
    qualifier = tuple(part.name for part in node.parts[:-1]) if isinstance(node, exp.Column) else ()
    shown = scope.star(qualifier, node)
    left_out = [name_parts(each) for each in star.args.get("except_") or ()]
    for parts in left_out:
        if sum((spelling(each.name),) == tuple(map(spelling, parts)) for each in shown) != 1:
            raise not_yet(f"EXCEPT of {'.'.join(parts) or 'something'}, which is not one of the star's columns,", node)
    without = {spelling(parts[-1]) for parts in left_out}
    return [Output(each.name, False, column(each.column)) for each in shown if spelling(each.name) not in without]
