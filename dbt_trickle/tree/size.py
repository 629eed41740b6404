"""Queries for which a statement of what changed would be too long to plan: Spark is not even shown it."""

from __future__ import annotations

from dbt_trickle.tree.algebra import InnerJoin, Mark, Operator, OuterJoin, Scan, SemiJoin, walk

# Of n joined relations that all changed, the statement has n terms of n relations each.
MOST_JOINS = 100
MOST_READS = 1000


def too_large(tree: Operator) -> str:
    """Why it is recomputed instead, if it is."""
    joins = sum(isinstance(each, (InnerJoin, OuterJoin, SemiJoin)) for each in walk(tree))
    if joins > MOST_JOINS:
        return f"it has {joins} joins, and a difference is made of {MOST_JOINS} at most"
    times = reads(tree)
    if times > MOST_READS:
        return f"a difference of it would read its sources {times} times, and {MOST_READS} are made at most"
    return ""


def reads(tree: Operator) -> int:
    """How often the sources stand in the tree's text (render.py)."""
    if isinstance(tree, Scan):
        return 1
    below = sum(map(reads, tree.inputs))
    return 2 * below if isinstance(tree, Mark) else below
