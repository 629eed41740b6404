"""Where PIVOT or UNPIVOT may do otherwise than its tree, by the types of what it compares, computes and puts together.

PIVOT makes its values those of the column's type, and the tree compares the two: 1.7 is 1 to a BIGINT. Of two that are
equal Spark 4.1 reads what is not there. And whether it picks numbers or aggregates anew follows from the types of what
it computes (tree/pivot_calls.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dbt_trickle.names import quote
from dbt_trickle.run.columns import described, types_of
from dbt_trickle.run.session import Session
from dbt_trickle.tree.algebra import Aggregate, Generate
from dbt_trickle.tree.pivot_calls import NUMBERS
from dbt_trickle.tree.render import state
from dbt_trickle.tree.values import Expr, Pivoted, Unpivoted

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_DECIMAL = re.compile(r"decimal\((\d+), *(\d+)\)")
# Among the values Spark finds no NaN and no BINARY, and of floats there are two zeros.
_COMPARED = re.compile(r"tinyint|smallint|int|bigint|decimal\(.*\)|boolean|string|date|timestamp|timestamp_ntz")
_ADDED = re.compile(r"tinyint|smallint|int|bigint|float|double|decimal\(.*\)")


def of_pivot(session: Session, tree: Aggregate, how: Pivoted, at: Mapping[str, str]) -> str:
    columns = [_column(name) for name, _ in how.columns]
    kinds = types_of(session, [*columns, *(part for value in how.values for part in value)], tree.child, at)
    for position, kind in enumerate(kinds[len(columns) :]):
        mine = kinds[position % len(columns)]
        if not _COMPARED.fullmatch(mine or "") or not _fits(kind or "", mine or ""):
            return f"PIVOT compares {mine} with {kind}"
    if len(how.values) > 1 and not _differ(session, how):
        return "PIVOT has a value twice"
    if how.picked is None:
        return ""
    found = dict(described(session, state(tree, at)))
    other = next((found[call.name] for call in tree.calls if not NUMBERS.fullmatch(found[call.name])), "")
    if how.picked == (not other):
        return ""
    return f"PIVOT of what may be something of no rows, beside {other or 'numbers alone'}"


def of_unpivot(session: Session, tree: Generate, how: Unpivoted, at: Mapping[str, str]) -> str:
    """Numbers become one type in the same way wherever they meet."""
    for together in zip(*how.columns, strict=True):
        kinds = types_of(session, [_column(name) for name in together], tree.child, at)
        if len(set(kinds)) > 1 and not all(_ADDED.fullmatch(kind or "") for kind in kinds):
            return f"UNPIVOT makes one column of {' and '.join(sorted({str(kind) for kind in kinds}))}"
    return ""


def _column(name: str) -> Expr:
    return Expr(quote(name), frozenset([name]))


def _differ(session: Session, how: Pivoted) -> bool:
    values = ", ".join(f"struct({', '.join(part.sql for part in value)})" for value in how.values)
    rows = session.query(f"SELECT size(array_distinct(array({values}))) AS found")
    return int(rows[0]["found"]) == len(how.values)


def _fits(kind: str, into: str) -> bool:
    """Whether a value of the one type is the same in the other one."""
    if kind in (into, "void"):
        return True
    if kind in _INTEGERS and into in _INTEGERS:
        return _INTEGERS.index(kind) < _INTEGERS.index(into)
    mine, other = _DECIMAL.fullmatch(kind), _DECIMAL.fullmatch(into)
    if mine is None or other is None:
        return False
    (digits, scale), (most, places) = (tuple(map(int, each.groups())) for each in (mine, other))
    return scale <= places and digits - scale <= most - places
