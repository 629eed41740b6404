"""What every rule is: the delta of one kind of operator, under a name that its CTEs begin with."""

from __future__ import annotations

from functools import singledispatch

from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta.context import Context, Delta, columns_of
from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import RESERVED_PREFIX, quote
from dbt_trickle.tree.algebra import Operator

W = quote(WEIGHT)
# Under names that no column has: `d`.`x` in a condition is a field of a column d.
CHANGED, OTHER = f"{RESERVED_PREFIX}changed", f"{RESERVED_PREFIX}other"


@singledispatch
def rule(tree: Operator, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    """Only asked of what has moved. `order`: all sources, by which the CTEs of their changes are numbered."""
    raise TrickleBug(f"{type(tree).__name__} has no delta")


def broadcast(name: str, small: bool) -> str:
    """Beside a large side, what is small is sent to every task, so that the large one stays in place."""
    return f"/*+ BROADCAST({name}) */ " if small else ""


def meeting(operator: Operator, rows: str, changed: str, condition: str, small: bool) -> str:
    """Of an operator's rows those for which the condition is true with some changed row."""
    return (
        f"SELECT {broadcast(CHANGED, small)}{columns_of(operator)}\nFROM (\n{rows}\n) AS {OTHER}\n"
        f"LEFT SEMI JOIN {quote(changed)} AS {CHANGED} ON {condition}"
    )


def difference(operator: Operator, before: str, after: str) -> str:
    """The rows of an operator, all that can have changed of them, as they are less as they were."""
    columns = columns_of(operator)
    return "\nUNION ALL\n".join(
        f"SELECT {columns}, CAST({weight} AS BIGINT) AS {W}\nFROM (\n{rows}\n)"
        for rows, weight in ((before, -1), (after, 1))
    )
