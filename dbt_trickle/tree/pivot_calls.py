"""What a PIVOT computes of each of its values, as a call over the rows that have it.

Where all calls give numbers, Spark computes them by group and value and then picks them: of a value without rows even a
count is NULL. Elsewhere it aggregates if(p <=> 1, a, NULL), of which a count is 0, and first() not NULL while there is
something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from dbt_trickle.sql import verbatim
from dbt_trickle.tree.binding import bound
from dbt_trickle.tree.calls import aggregate_of, has_aggregate, is_aggregate
from dbt_trickle.tree.expressions import within
from dbt_trickle.tree.functions import SKETCHES
from dbt_trickle.tree.joining import by_name
from dbt_trickle.tree.scope import Scope
from dbt_trickle.tree.unsupported import not_yet

# The types of what Spark can pick.
NUMBERS = re.compile(r"tinyint|smallint|int|bigint|float|double|boolean|decimal\(.*\)")
_OF_THEIR_ARGUMENT = frozenset(
    """any_value approx_percentile first first_value last last_value max max_by min min_by mode percentile_approx
    percentile_disc""".split()
)
_LISTS = frozenset("array_agg collect_list collect_set histogram_numeric listagg string_agg".split())
_FIRST = frozenset("first first_value last last_value".split())
# Of no rows these are 0. A count is a sum of ones too, which is NULL then; nothing like that is known of the others.
_COUNTS, _ZERO = frozenset({"count", "count_if"}), frozenset({"approx_count_distinct", "regr_count"})


@dataclass(frozen=True)
class PivotCall:
    """`label`: what it is called; `value`: over the rows."""

    label: str
    value: exp.Expr

    @property
    def is_call(self) -> bool:
        """And not an expression over calls."""
        return is_aggregate(self.value)

    @property
    def _function(self) -> str:
        return aggregate_of(self.value).name if self.is_call else ""

    @property
    def _arguments(self) -> list[exp.Expr]:
        return list(aggregate_of(self.value).expressions)

    @property
    def _is_of_rows(self) -> bool:
        """Whether each row counts by itself."""
        return len(self._arguments) == 1 and not isinstance(self._arguments[0], exp.Distinct)

    @property
    def _is_count(self) -> bool:
        return self._function in _COUNTS and self._is_of_rows

    @property
    def has_a_switch(self) -> bool:
        """first(a, true): that is IGNORE NULLS."""
        return self._function in _FIRST and not self._is_of_rows

    @property
    def is_apart(self) -> bool:
        """Whether nothing but the call itself, of the rows of one value, tells what is picked."""
        return not self.is_call or self._function in _ZERO or (self._function in _COUNTS and not self._is_of_rows)

    @property
    def tells(self) -> bool:
        """Whether it matters if Spark picks."""
        return self.is_apart or self._is_count or self._function in _FIRST

    def is_number(self, types: Mapping[str, str]) -> bool:
        """As far as it is known; Spark is asked in the end."""
        if self._function not in _OF_THEIR_ARGUMENT:
            return self._function not in _LISTS
        match self._arguments[0]:
            case exp.Column() as of:
                return bool(NUMBERS.fullmatch(types.get(of.name, "int")))
            case exp.Literal() as literal:
                return not literal.is_string
            case _:
                return True

    def of_rows(self, picked: bool) -> exp.Expr:
        """The call so that of no rows it gives what PIVOT gives."""
        if not picked:
            return exp.IgnoreNulls(this=_without_nulls(self.value)) if self._function in _FIRST else self.value
        if not self._is_count:
            return self.value
        counted, conditions = self._arguments[0], list[exp.Expr]()
        if isinstance(self.value, exp.Filter):
            conditions.append(exp.Paren(this=self.value.expression.this.copy()))
        if self._function == "count_if":
            conditions.append(within(counted))
        elif not isinstance(counted, exp.Star):
            conditions.append(exp.Not(this=exp.Is(this=within(counted), expression=exp.Null())))
        one, none = exp.Literal.number(1), exp.Literal.number(0)
        ones = exp.Case(ifs=[exp.If(this=exp.and_(*conditions), true=one)], default=none) if conditions else one
        return exp.Anonymous(this="sum", expressions=[ones])


def pivot_call(node: exp.Expr, scope: Scope) -> PivotCall:
    value = bound(node.unalias(), by_name(scope), aggregates=True)
    call = PivotCall(node.alias or verbatim.printed(node), value)
    functions = {each.name for each in value.find_all(exp.Anonymous)}
    if not has_aggregate(value) or functions & SKETCHES or call.has_a_switch:
        raise not_yet(f"PIVOT of {verbatim.printed(node)}", node)
    return call


def filtered(node: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """Of the rows for which the condition is true. IGNORE NULLS comes behind FILTER."""
    match node:
        case exp.IgnoreNulls() | exp.RespectNulls():
            return type(node)(this=filtered(node.this, condition))
        case exp.Filter(expression=exp.Where() as where):
            both = exp.and_(condition, exp.Paren(this=where.this.copy()))
            return exp.Filter(this=node.this.copy(), expression=exp.Where(this=both))
        case _:
            return exp.Filter(this=node.copy(), expression=exp.Where(this=condition.copy()))


def _without_nulls(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, (exp.IgnoreNulls, exp.RespectNulls)) else node
