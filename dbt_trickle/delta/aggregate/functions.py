"""Which aggregates follow from what is stored and what changed, and by which hidden columns.

    count(*)  n                                  n + Σw
    count(x)  n                                  n + Σw·[x not NULL]
    sum(x)    s, and n of the x that are not NULL   s + Σw·x, NULL where n is 0
    avg(x)    s, and n                           s / n
    count_if  n of the x that are true
    bool_and  n of the x that are false, and n   and bool_or with those that are true

While rows come and none go:

    min(x)    m                                  least(m, min(x)), and max with greatest()
    bit_and   m                                  m & bit_and(x), and bit_or with |

That is how Spark itself makes one value of the parts of a group, in whatever order they come: NULL is passed over, and
NaN is greater than all else. A row that goes may have been the one, so then the touched groups are computed anew.

Exact numbers only: a sum of doubles depends on the order of its terms, 1e16 + 1 − 1e16 has lost the 1, and a NaN
cannot be subtracted. Of such the touched groups are computed anew. Who would rather have sums of doubles brought
forward, and live with what is lost, says so (`fast`); what is not a number is counted, not added.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dbt_trickle.names import literal
from dbt_trickle.tree.functions import POSITIONS, RANKS, SAME_AGAIN

INTEGERS = frozenset(["tinyint", "smallint", "int", "bigint"])
# Of these, and of decimals, the least and the greatest are kept. Others are not looked into: texts with a collation,
# intervals, binaries, structs, arrays, and timestamps without a zone, which a table has to be made for.
_ORDERED = INTEGERS | {"float", "double", "string", "date", "timestamp", "boolean"}
_DECIMAL = re.compile(r"decimal\((\d+), *(\d+)\)")
# A weight as a decimal of so many digits; the product with the value must stay within Spark's 38.
_WEIGHT_DIGITS = 10
_MOST_DIGITS = 38 - _WEIGHT_DIGITS - 1
# Of a product that would have more, Spark keeps as many digits behind the point as these; what does not fit is NULL.
_KEPT_SCALE = 6
# Of a sum of such products: ten rows with all digits are what the state has no room for.
_MOST_WIDE_DIGITS = 36
# Of a state: two of 38 digits added would be 39, and Spark would cut their fractions instead of failing.
_STATE_DIGITS = 37
TOO_LARGE = "[TRK-313] a sum that is kept for its group has too many digits"


@dataclass(frozen=True)
class Part:
    """One hidden column: its type, what it is of the rows {x}, and what weighted rows {w} add to it.

    `together`: how what is stored {t} and what comes {d} are one, where they are not added. Nothing can be taken out of
    such a part, so it is right only as long as rows come and none go.
    """

    type: str
    of_rows: str
    of_changes: str
    together: str = ""


@dataclass(frozen=True)
class Rule:
    """How a call follows from its parts: {0}, {1} are their values."""

    parts: tuple[Part, ...]
    value: str

    @property
    def only_grows(self) -> bool:
        """Whether it is right only as long as rows come and none go."""
        return any(part.together for part in self.parts)


_COUNT_ROWS = Part("BIGINT", "count(*)", "SUM({w})")
_COUNT = Part("BIGINT", "count({x})", "SUM(CASE WHEN {x} IS NULL THEN 0 ELSE {w} END)")
_COUNT_TRUE = Part("BIGINT", "count(CASE WHEN {x} THEN 1 END)", "SUM(CASE WHEN {x} THEN {w} ELSE 0 END)")
_COUNT_FALSE = Part("BIGINT", "count(CASE WHEN NOT {x} THEN 1 END)", "SUM(CASE WHEN NOT {x} THEN {w} ELSE 0 END)")
_INFINITE = "double('Infinity')"
# As Spark adds floats. A number of rows times a float would be a float, which has half as many digits.
_FINITE = f"CASE WHEN abs({{x}}) < {_INFINITE} THEN CAST({{x}} AS DOUBLE) END"
_FLOATS = (
    Part("DOUBLE", f"coalesce(sum({_FINITE}), 0)", f"SUM({{w}} * {_FINITE})"),
    _COUNT,
    *(
        Part("BIGINT", f"count(CASE WHEN {{x}} = {odd} THEN 1 END)", f"SUM(CASE WHEN {{x}} = {odd} THEN {{w}} END)")
        for odd in ("double('NaN')", _INFINITE, f"-{_INFINITE}")
    ),
)
# Were the sum itself to become infinite, it would stay so whatever goes.
_FLOAT = (
    "CASE WHEN {{1}} = 0 THEN NULL WHEN {{2}} > 0 OR ({{3}} > 0 AND {{4}} > 0) THEN double('NaN') "
    f"WHEN {{{{3}}}} > 0 THEN {_INFINITE} WHEN {{{{4}}}} > 0 THEN -{_INFINITE} "
    f"WHEN abs({{{{0}}}}) < {_INFINITE} THEN {{}} ELSE raise_error({literal(TOO_LARGE)}) END"
)


def same_again(function: str, argument_type: str | None) -> bool:
    """Whether the call gives the same value of the same rows, in whatever order they come.

    Spark adds integers for an average as doubles: of BIGINTs that is exact only as long as they are small.
    """
    name = function.removesuffix(" distinct")
    if name in ("min", "max") and argument_type is not None and re.search("float|double", argument_type):
        return False  # 0.0 and -0.0 are equal, and either may be the one
    if name not in ("sum", "avg"):
        return name in SAME_AGAIN | RANKS | POSITIONS
    kind = argument_type or ""
    return _DECIMAL.fullmatch(kind) is not None or kind in (INTEGERS if name == "sum" else INTEGERS - {"bigint"})


def rule(
    function: str, argument_type: str | None, result_type: str, *, fast: bool = False, grows: bool = False
) -> Rule | None:
    """None: nothing but the group's rows tells its new value. `fast`: of doubles nearly so is enough; `grows`: there
    may be times when rows only come.
    """
    match function, argument_type:
        case "sum", "float" | "double" if fast:
            return Rule(_FLOATS, _FLOAT.format("{0}"))
        case "avg", "float" | "double" if fast:
            return Rule(_FLOATS, _FLOAT.format("{0} / {1}"))
        case "count", None:
            return Rule((_COUNT_ROWS,), "{0}")
        case "count", _:
            return Rule((_COUNT,), "{0}")
        case "count_if", _:
            return Rule((_COUNT_TRUE,), "{0}")
        case "bool_and" | "every", _:
            return Rule((_COUNT_FALSE, _COUNT), "CASE WHEN {1} = 0 THEN NULL ELSE {0} = 0 END")
        case "bool_or" | "some" | "any", _:
            return Rule((_COUNT_TRUE, _COUNT), "CASE WHEN {1} = 0 THEN NULL ELSE {0} > 0 END")
        case "sum", str(kind) if (summed := _sum(kind)) is not None:
            return Rule(
                (summed, _COUNT), f"CASE WHEN {{1}} = 0 THEN NULL ELSE CAST({_fits('{0}')} AS {result_type}) END"
            )
        case "avg", str(kind) if kind in INTEGERS:
            # Spark adds integers as doubles; the exact sum is what that is as long as it is exact.
            return Rule(
                (_decimal("CAST({x} AS DECIMAL(19,0))", 0), _COUNT),
                f"CASE WHEN {{1}} = 0 THEN NULL ELSE CAST({_fits('{0}')} AS DOUBLE) / {{1}} END",
            )
        case "min" | "max" | "bit_and" | "bit_or", str(kind) if grows and kind == result_type:
            return _extreme(function, kind)
        case _:
            return None


def _extreme(function: str, kind: str) -> Rule | None:
    match function:
        case "min" | "max" if kind in _ORDERED or _DECIMAL.fullmatch(kind):
            together = f"{'least' if function == 'min' else 'greatest'}({{t}}, {{d}})"
        case "bit_and" | "bit_or" if kind in INTEGERS:
            together = f"coalesce({{t}} {'&' if function == 'bit_and' else '|'} {{d}}, {{t}}, {{d}})"
        case _:
            return None
    return Rule((Part(kind, f"{function}({{x}})", f"{function}({{x}})", together),), "{0}")


def _sum(kind: str) -> Part | None:
    if kind in INTEGERS:
        # Without ANSI a sum that overflows wraps around, and so does this one.
        return Part("BIGINT", "coalesce(sum({x}), 0)", "coalesce(SUM({w} * CAST({x} AS BIGINT)), 0)")
    found = _DECIMAL.fullmatch(kind)
    if found is None:
        return None
    digits, scale = map(int, found.groups())
    if digits <= _MOST_DIGITS:
        # The state has more digits than the result: a sum that does not fit is an error or NULL, as it is in Spark,
        # and finds its way back when rows go.
        return _decimal("{x}", scale)
    return _decimal("{x}", scale, wide=True) if digits <= _MOST_WIDE_DIGITS and scale <= _KEPT_SCALE else None


def _decimal(value: str, scale: int, *, wide: bool = False) -> Part:
    """`wide`: the product with the weight may have too many digits."""
    kind = f"DECIMAL({_STATE_DIGITS},{scale})"
    weighted = f"{_fits(f'CAST({{w}} AS DECIMAL({_WEIGHT_DIGITS},0))')} * {value}"
    if wide:
        weighted = f"CASE WHEN {value} IS NOT NULL THEN {_fits(weighted)} END"
    sums = (
        f"CASE WHEN count({value}) = 0 THEN 0 ELSE {_fits(f'CAST(SUM({x}) AS {kind})')} END" for x in (value, weighted)
    )
    return Part(kind, *sums)


def _fits(value: str) -> str:
    """Without ANSI what does not fit is NULL, as if there were none: of what is kept it must not pass for that."""
    return f"coalesce({value}, raise_error({literal(TOO_LARGE)}))"
