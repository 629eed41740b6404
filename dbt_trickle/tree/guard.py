"""Whether Spark understands a tree as it understands the query: their optimized plans must be the same.

The tree is written as SQL again, so that whatever went wrong on the way (parsing, names, printing) shows; plans are
compared as EXPLAIN EXTENDED tells them. In doubt they differ: the query is then computed as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import Project
from dbt_trickle.tree.blocks import Style
from dbt_trickle.tree.build import build
from dbt_trickle.tree.flat import flat
from dbt_trickle.tree.plan_loops import with_columns
from dbt_trickle.tree.plan_nodes import Node, Unread, walk
from dbt_trickle.tree.plan_text import ids_of_two_relations, normalized, section
from dbt_trickle.tree.relations import Schema

# What the session must be set to while plans are asked for.
SETTINGS = (
    # Long plans are cut, and two that are cut agree on what is left.
    ("spark.sql.maxPlanStringLength", "2147483632"),
    ("spark.sql.debug.maxToStringFields", "100000"),
    # count(*) is answered from the table's log: the plan is then a row of which nothing is shown.
    ("spark.databricks.delta.optimizeMetadataQuery.enabled", "false"),
    # The same of VALUES, which is shown as it was read then.
    ("spark.sql.parser.eagerEvalOfUnresolvedInlineTable", "false"),
)
_ROWS = re.compile(r"UnresolvedInlineTable \[.*?\], (\[\[.*\]\])")
_CUT = re.compile(r"\.\.\.|\bmore fields?\b|\bmore characters?\b|Truncated", re.IGNORECASE)


def regenerated(text: str, sources: Mapping[str, Schema]) -> str:
    """The query as its tree says it, with the placeholders that `text` has for its sources."""
    return candidates(build(text, sources).tree, {schema.key: quote(name) for name, schema in sources.items()})[0]


def candidates(tree: Project, at: Mapping[str, str]) -> tuple[str, ...]:
    """The tree as queries of one meaning, the likeliest first: Spark need only plan one of them as the original."""
    return tuple(dict.fromkeys(flat(tree, at, style) for style in Style))


def same_plan(original: str, regenerated: str) -> bool:
    return difference(original, regenerated) is None


def difference(original: str, regenerated: str) -> str | None:
    """Where two plans part, or nothing. A plan that does not show all there is agrees with none."""
    plans = []
    if _spelled_out(original) != _spelled_out(regenerated):
        return "the rows of VALUES are others"
    for explained in (original, regenerated):
        text = _optimized(explained)
        if reason := _unclear(text, explained):
            return reason
        try:
            plans.append(normalized(with_columns(text, explained)))
        except Unread as problem:
            return f"a step of the plan could not be read: {problem}"
        if ids_of_two_relations(plans[-1]):
            return "a column of two relations cannot be told apart"
    return _parting(*plans)


def _spelled_out(explained: str) -> list[str]:
    """The rows of VALUES as they were read; an optimized plan does not show them."""
    return sorted(_ROWS.findall(section(explained, "Parsed") or ""))


def _unclear(plan: str, explained: str) -> str | None:
    if not plan:
        return "there is no optimized plan"
    if found := _CUT.search(plan):
        return f"the plan is not whole: {found.group()}"
    if len(re.findall(r"\bLocalRelation (?!<empty>)", plan)) not in (0, len(_spelled_out(explained))):
        return "the plan has rows that it does not show"
    return None


def _parting(mine: Node, other: Node) -> str | None:
    for one, another in zip(walk(mine), walk(other), strict=False):
        if one.text != another.text:
            return f"{one.text} / {another.text}"
    return None if mine == other else "one plan has more steps"


def _optimized(explained: str) -> str:
    found = section(explained, "Optimized")
    return (explained if found is None else found).strip("\n")
