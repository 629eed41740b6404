"""What every rule is: the delta of one kind of operator, under a name that its CTEs begin with."""

from __future__ import annotations

from functools import singledispatch

from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta.context import Context, Delta
from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import Operator

W = quote(WEIGHT)


@singledispatch
def rule(tree: Operator, context: Context, name: str, order: tuple[str, ...]) -> Delta:
    """Only asked of what has moved. `order`: all sources, by which the CTEs of their changes are numbered."""
    raise TrickleBug(f"{type(tree).__name__} has no delta")


def broadcast(name: str, small: bool) -> str:
    """Beside a large side, what is small is sent to every task, so that the large one stays in place."""
    return f"/*+ BROADCAST({name}) */ " if small else ""
