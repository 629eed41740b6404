"""Where a change could only be worked out from all rows: the query is recomputed then, and its history says so.

An aggregate without GROUP BY is one group, which every change touches. Unless its state is kept, to compute it anew is
to read all that a full refresh reads; so it is one, and is called one.
"""

from __future__ import annotations

from dbt_trickle.delta.aggregate.state import Stateful
from dbt_trickle.tree.algebra import Aggregate, Lookup, Operator, Scan

ALL_ROWS = "all that it reads is aggregated without GROUP BY, so a change would be worked out from all rows"


def obstacle(tree: Operator, kept: Stateful | None, why: str) -> str:
    """`kept`: what carries its own state, where something does, and then only what is below is asked for; `why`: why
    nothing does.
    """
    if not _is_one_group(tree if kept is None else kept.tree.child):
        return ""
    return f"{ALL_ROWS}; {why}" if why else ALL_ROWS


def this_time(kept: Stateful | None, append_only: bool) -> str:
    """What is kept of one group may not be enough once rows went; `append_only`: no source lost a row."""
    went = rows_went(kept, append_only)
    return f"{ALL_ROWS}; {went}" if went and kept is not None and not kept.tree.keys else ""


def rows_went(kept: Stateful | None, append_only: bool) -> str:
    """Why groups whose state is kept are computed anew this time."""
    if kept is None or kept.follows(append_only):
        return ""
    return f"rows went, and {kept.growing} is brought forward only while none does"


def _is_one_group(tree: Operator) -> bool:
    """Whether all rows that are read go into aggregates without keys. Where only some do, the others are restricted."""
    match tree:
        case Scan():
            return False
        case Aggregate(keys=()):
            return True
        case Lookup(condition=None, calls=calls) if calls:
            return _is_one_group(tree.child)  # of the subquery one value is made
        case _:
            return all(map(_is_one_group, tree.inputs))
