"""Whether Spark understands a tree as it understands the query: their optimized plans must be the same.

The tree is written as SQL again, so that whatever went wrong on the way (parsing, names, printing) shows; plans are
compared as EXPLAIN EXTENDED tells them. In doubt they differ: the query is then computed as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import Project
from dbt_trickle.tree.build import build
from dbt_trickle.tree.flat import flat
from dbt_trickle.tree.plan_loops import with_columns
from dbt_trickle.tree.plan_nodes import Node, Unread, walk
from dbt_trickle.tree.plan_text import ids_of_two_relations, normalized
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
_TO_TIMESTAMP = re.compile(r" as (?:[^()#]*\b)?timestamp\b[^()#]*\)")
# They read texts as a cast does, where no format is given.
_READ_BY_SCHEMA = re.compile(r"\b(?:from_(?:json|csv|xml)|(?:try_)?variant_get)\([^\n]*?\bTimestampType\b")
# Reasons for which the same rows give another result on another day.
_OF_THE_DAY = ("is another moment tomorrow", "may be taken for a time of today", "may be another moment later")
_ATTRIBUTE = re.compile(r"\bcast\((\w+)(#\d+)L?$")
_RELATION = re.compile(r"^[ :+-]*Relation [^\n]*", re.MULTILINE)
_ID = re.compile(r"#\d+")
_NO_TEXT = {"date", "timestamp", "timestamp_ntz", "tinyint", "smallint", "int", "bigint", "boolean"}
_SECTION = re.compile(r"== Optimized Logical Plan ==\n(.*?)(?=\n== |\Z)", re.DOTALL)
_PARSED = re.compile(r"== Parsed Logical Plan ==\n(.*?)(?=\n== |\Z)", re.DOTALL)
_ROWS = re.compile(r"UnresolvedInlineTable \[.*?\], (\[\[.*\]\])")
_CUT = re.compile(r"\.\.\.|\bmore fields?\b|\bmore characters?\b|Truncated", re.IGNORECASE)


def regenerated(text: str, sources: Mapping[str, Schema]) -> str:
    """The query as its tree says it, with the placeholders that `text` has for its sources."""
    return candidates(build(text, sources).tree, {schema.key: quote(name) for name, schema in sources.items()})[0]


def candidates(tree: Project, at: Mapping[str, str]) -> tuple[str, ...]:
    """The tree as queries of one meaning, the likeliest first: Spark need only plan one of them as the original."""
    ways = ((True, False), (False, False), (True, True))
    return tuple(dict.fromkeys(flat(tree, at, merged, lateral) for merged, lateral in ways))


def same_plan(original: str, regenerated: str) -> bool:
    return difference(original, regenerated) is None


def difference(original: str, regenerated: str) -> str | None:
    """Where two plans part, or nothing. A plan that does not show all there is agrees with none."""
    plans = []
    if _spelled_out(original) != _spelled_out(regenerated):
        return "the rows of VALUES are others"
    for explained in (original, regenerated):
        text = _section(explained)
        if reason := _unclear(text, explained):
            return reason
        try:
            plans.append(normalized(with_columns(text, explained)))
        except Unread as problem:
            return f"a step of the plan could not be read: {problem}"
        if ids_of_two_relations(plans[-1]):
            return "a column of two relations cannot be told apart"
    return _parting(*plans)


def of_today(explained: str, columns: Iterable[tuple[str, str]]) -> str | None:
    """A text that is a time without a day becomes that time of today: so of a text no moment may be made.

    Spark's plan has the casts that nobody wrote, too. `columns`: of all sources, with their types. What is told is a
    reason, with the cast.
    """
    if found := _READ_BY_SCHEMA.search(_section(explained)):
        return (
            f"a text that is read as a timestamp is another moment tomorrow where it has no day ({found.group()[:40]}…)"
        )
    types: dict[str, set[str]] = {}
    for column, kind in columns:
        types.setdefault(column.lower(), set()).add(kind)
    plan = _section(explained)
    # What is made above a relation, or is a parameter of a function, may have the name of another column.
    read = {number for line in _RELATION.findall(plan) for number in _ID.findall(line)}
    for found in _TO_TIMESTAMP.finditer(plan):
        name = _ATTRIBUTE.search(plan[: found.start()])
        of_relation = name is not None and name.group(2) in read
        if name is None or not of_relation or not types.get(name.group(1).lower(), {"string"}) <= _NO_TEXT:
            cast = plan[: found.end()][-60:]
            return f"a cast to timestamp is another moment tomorrow where a text has no day (…{cast})"
    return None


def hangs_on_the_day(reason: str) -> bool:
    """Whether, for this reason, what was computed yesterday may be wrong today although no source moved."""
    return any(words in reason for words in _OF_THE_DAY)


def _spelled_out(explained: str) -> list[str]:
    """The rows of VALUES as they were read; an optimized plan does not show them."""
    found = _PARSED.search(explained)
    return sorted(_ROWS.findall(found.group(1))) if found else []


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


def _section(explained: str) -> str:
    found = _SECTION.search(explained)
    return (found.group(1) if found else explained).strip("\n")
