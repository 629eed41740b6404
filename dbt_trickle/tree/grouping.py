"""GROUP BY and aggregates: sum(a) / count(*) + 1 becomes two calls, and an expression over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from dbt_trickle.sql import verbatim
from dbt_trickle.tree.algebra import Aggregate, Operator
from dbt_trickle.tree.binding import Resolve, bound, is_of_the_user
from dbt_trickle.tree.calls import aggregate_of, call_of, has_aggregate, is_aggregate
from dbt_trickle.tree.expressions import column, columns, expr, rebuilt, within
from dbt_trickle.tree.functions import OF_GROUPING_SETS
from dbt_trickle.tree.grouping_sets import SETS, Copies, grouping, sets_of
from dbt_trickle.tree.scope import Names, Scope, spelling
from dbt_trickle.tree.unsupported import not_yet, unsupported
from dbt_trickle.tree.values import Call, Item


class Given(Protocol):
    """Values that come with the rows: subqueries' (lookups.py)."""

    def taken_out(self, node: exp.Expr) -> exp.Expr: ...

    def resolve(self, other: Resolve) -> Resolve: ...


@dataclass(frozen=True)
class Output:
    """A column of a SELECT: what it is called, whether by AS, and its value over the FROM clause."""

    name: str
    aliased: bool
    value: exp.Expr
    invented: bool = False  # Spark makes up a name of its own: ours is not to be relied on


@dataclass
class Grouped:
    """The keys and calls of one SELECT, collected while its expressions are gone through."""

    names: Names
    prefix: str
    keys: dict[str, Item] = field(default_factory=dict)  # by their text
    calls: dict[str, Call] = field(default_factory=dict)
    given: frozenset[str] = frozenset()  # columns that are not the rows' below
    of_copies: bool = False  # with GROUPING SETS a key is not the column that it is made of
    copies: Copies | None = None

    def add_key(self, value: exp.Expr, alias: str | None) -> None:
        text = verbatim.printed(value)
        if text in self.keys:
            return
        if isinstance(value, exp.Column) and not self.of_copies:
            name = value.name  # the same column before and after
        elif alias is not None:
            name = self.names.fresh(self.prefix + alias)
        else:
            name = self.names.fresh(value.name) if isinstance(value, exp.Column) else self.names.numbered("key")
        self.keys[text] = Item(name, expr(value))

    def above(self, value: exp.Expr, alias: str | None = None) -> exp.Expr:
        """The expression over the groups. What is a key there as a whole is that key."""
        text = verbatim.printed(value)
        if text in self.keys:
            return column(self.keys[text].name)
        if isinstance(value, exp.Anonymous) and value.name in OF_GROUPING_SETS:
            return self._grouping(value)
        if is_aggregate(value):
            return column(self._call(text, value, alias))
        if isinstance(value, exp.Column) and value.name in self.given:
            return value.copy()
        if isinstance(value, exp.Column):
            raise unsupported(f"{text} is neither grouped by nor aggregated, as it is written", value)
        return rebuilt(value, self.above)

    def _call(self, text: str, value: exp.Expr, alias: str | None) -> str:
        if text not in self.calls:
            function = aggregate_of(value).name
            name = self.names.numbered(function) if alias is None else self.names.fresh(self.prefix + alias)
            self.calls[text] = call_of(name, value)
        return self.calls[text].name

    def operator(self, child: Operator) -> Aggregate:
        if not self.keys and not self.calls:
            rows = exp.Anonymous(this="count", expressions=[exp.Star()])  # one row, of whatever
            self.calls[""] = call_of(self.names.numbered("count"), rows)
        keys, calls = tuple(self.keys.values()), tuple(self.calls.values())
        return Aggregate(child, keys, calls) if self.copies is None else self.copies.aggregate(child, keys, calls)

    def _grouping(self, value: exp.Anonymous) -> exp.Expr:
        if self.copies is None:
            raise unsupported(f"{value.name}() without grouping sets", value)
        text = verbatim.printed(value.expressions[0]) if len(value.expressions) == 1 else ""
        return grouping(value, list(self.keys), text, self.copies.id)


def is_grouped(select: exp.Select, outputs: Sequence[Output]) -> bool:
    return bool(select.args.get("group") or select.args.get("having")) or any(
        has_aggregate(output.value) for output in outputs
    )


def add_keys(grouped: Grouped, group: exp.Group, scope: Scope, outputs: Sequence[Output], given: Given) -> None:
    for kind in ("grouping_sets", "totals"):
        if group.args.get(kind):
            raise not_yet(f"GROUP BY … {kind.replace('_', ' ').upper()}", group)
    elements = group.expressions
    for kind, sets in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        if group.args.get(kind):  # GROUP BY a, b WITH ROLLUP
            elements = [sets(expressions=elements)]
    if any(isinstance(each, SETS) for each in elements):
        _add_sets(grouped, sets_of(elements), scope, outputs, group, given)
        return
    if group.args.get("all"):
        values = [output.value for output in outputs if not has_aggregate(output.value)]
    else:
        values = [_key(each, scope, outputs, given) for each in group.expressions]
    values = [value.unnest() for value in values]
    # A constant makes no other groups, but without any key there is a row over nothing, too.
    varying = [value for value in values if any(columns(value))]
    if values and not varying:
        raise not_yet("GROUP BY of constants only", group)
    for value in varying:
        _add(grouped, value, outputs)


def _add(grouped: Grouped, value: exp.Expr, outputs: Sequence[Output]) -> None:
    if has_aggregate(value):
        raise unsupported("an aggregate cannot be grouped by", value)
    aliases = [o.name for o in outputs if o.aliased and o.value.unnest() == value]
    grouped.add_key(value, aliases[0] if aliases else None)


def _add_sets(
    grouped: Grouped,
    sets: Sequence[Sequence[exp.Expr]],
    scope: Scope,
    outputs: Sequence[Output],
    group: exp.Group,
    given: Given,
) -> None:
    texts = []
    for each in sets:
        values = [_key(node, scope, outputs, given).unnest() for node in each]
        texts.append([verbatim.printed(value) for value in values])
        grouped.of_copies = True
        for value in values:
            if not any(columns(value)):
                raise not_yet("grouping sets of constants", group)
            if any(map(is_of_the_user, value.find_all(exp.Anonymous))):
                # Spark lets no function of the user's stand where the copies are made.
                raise not_yet("grouping sets by a function of your own", group)
            _add(grouped, value, outputs)
    found = [tuple(sorted({list(grouped.keys).index(text) for text in each})) for each in texts]
    if len(set(found)) != len(found) or not grouped.keys:
        raise not_yet("the same grouping set twice", group)
    grouped.copies = Copies(tuple(found), grouped.names.numbered("grouping"))


def _key(node: exp.Expr, scope: Scope, outputs: Sequence[Output], given: Given) -> exp.Expr:
    plain = node.unnest()
    if isinstance(plain, exp.Literal) and not plain.is_string:
        position = int(plain.this) if str(plain.this).isdigit() else 0
        if not 1 <= position <= len(outputs):
            raise unsupported(f"GROUP BY {plain.this} is no column of the result", node)
        return outputs[position - 1].value

    def resolve(parts: tuple[str, ...], where: exp.Expr, inside: bool) -> exp.Expr:
        found = scope.find(parts, where)
        if found is not None:  # a column goes before an alias
            return column(*found, where)
        return named(parts, outputs, where)

    plain = given.taken_out(node)
    return bound(plain, given.resolve(resolve))


def having(grouped: Grouped, condition: exp.Expr, scope: Scope, outputs: Sequence[Output], given: Given) -> exp.Expr:
    def resolve(parts: tuple[str, ...], where: exp.Expr, inside: bool) -> exp.Expr:
        found = scope.find(parts, where)
        if found is None:
            if inside:
                raise unsupported(f"{'.'.join(parts)} within an aggregate is no column of the sources", where)
            return named(parts, outputs, where)
        mine = column(*found, where)
        same = [o.value for o in outputs if o.aliased and (spelling(o.name),) == tuple(map(spelling, parts))]
        # Spark takes the source's column where it is grouped by, and the alias elsewhere: not to be guessed.
        if not inside and any(value != mine for value in same):
            raise unsupported(f"{'.'.join(parts)} in HAVING is a column and an alias", where)
        return mine

    return grouped.above(bound(condition, given.resolve(resolve), aggregates=True))


def named(parts: tuple[str, ...], outputs: Sequence[Output], where: exp.Expr) -> exp.Expr:
    """The output of this alias, as Spark allows it in GROUP BY, in HAVING and further right in SELECT."""
    # s.size is called size without AS, too: of two such names Spark takes the first in GROUP BY only.
    found = [o for o in outputs if not o.invented and (spelling(o.name),) == tuple(map(spelling, parts))]
    if len(found) != 1:
        what = "is not known" if not found else "stands for several columns"
        raise unsupported(f"the name {'.'.join(parts)} {what}", where)
    return within(found[0].value)
