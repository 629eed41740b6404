"""Whether Spark understands a tree as it understands the query: their optimized plans must be the same.

The tree is written as SQL again, so that whatever went wrong on the way (parsing, names, printing) shows. Plans
are compared as EXPLAIN EXTENDED tells them. Names of columns are left out where an id stands behind them: ours
differ, and it is the ids that say which column is meant; the relations at the bottom say which ids are theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dbt_trickle.names import quote
from dbt_trickle.tree.build import build
from dbt_trickle.tree.relations import Schema
from dbt_trickle.tree.render import state

# Without them long plans are cut, and two that are cut agree on what is left.
SETTINGS = (
    ("spark.sql.maxPlanStringLength", "2147483632"),
    ("spark.sql.debug.maxToStringFields", "100000"),
)
_SECTION = re.compile(r"== Optimized Logical Plan ==\n(.*?)(?=\n== |\Z)", re.DOTALL)
_CUT = re.compile(r"\.\.\.|\bmore fields?\b|\bmore characters?\b|Truncated", re.IGNORECASE)
_HINT = re.compile(r", (?:left|right)Hint=\([^()]*\)")
# A name with spaces and the like: known where the column comes from, and where it is made.
_RELATION_COLUMN = re.compile(r"[\[,] ?([^#\[\],]+)#(\d+)")
_MADE_COLUMN = re.compile(r" AS ([^#]+)#(\d+)")
_NAMED_ID = re.compile(r"[\w.]*#(\d+)(L?)")
_ID = re.compile(r"#(\d+)(L?)")
_CTE = re.compile(r"\b(CTERelation(?:Def|Ref)) (\d+)")
_CROSS = re.compile(r"\bJoin Cross, (?=\S)")


def regenerated(text: str, sources: Mapping[str, Schema]) -> str:
    """The query as its tree says it, with the placeholders that `text` has for its sources."""
    return state(build(text, sources).tree, {schema.key: quote(name) for name, schema in sources.items()})


def same_plan(original: str, regenerated: str) -> bool:
    return difference(original, regenerated) is None


def difference(original: str, regenerated: str) -> str | None:
    """Where two plans part, or nothing. A plan that is missing or cut short agrees with none."""
    plans = [_section(original), _section(regenerated)]
    for plan in plans:
        if not plan:
            return "there is no optimized plan"
        if found := _CUT.search(plan):
            return f"the plan is not whole: {found.group()}"
    mine, theirs = (normalized(plan).splitlines() for plan in plans)
    for one, other in zip(mine, theirs, strict=False):
        if one != other:
            return f"{one.strip()} / {other.strip()}"
    return None if len(mine) == len(theirs) else "one plan has more steps"


def normalized(plan: str) -> str:
    """The plan with its ids numbered by their first appearance, and nothing in it that only names or advises."""
    plan = _CROSS.sub("Join Inner, ", _HINT.sub("", plan))
    numbers: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        return f"#{numbers.setdefault(match.group(1), len(numbers))}{match.group(2)}"

    def cte(match: re.Match[str]) -> str:
        return f"{match.group(1)} {numbers.setdefault(f'cte {match.group(2)}', len(numbers))}"

    lines = plan.splitlines()
    odd = {(name, number) for line in lines for name, number in _columns(line).findall(line) if not name.isidentifier()}
    result = []
    for line in lines:
        if "Relation " in line:
            result.append(_ID.sub(numbered, line))
            continue
        for name, number in odd:
            line = re.sub(rf"{re.escape(name)}#{number}(?!\d)", f"#{number}", line)
        result.append(_CTE.sub(cte, _NAMED_ID.sub(numbered, line)))
    return "\n".join(line.rstrip() for line in result)


def _columns(line: str) -> re.Pattern[str]:
    return _RELATION_COLUMN if "Relation " in line else _MADE_COLUMN


def _section(explained: str) -> str:
    found = _SECTION.search(explained)
    return (found.group(1) if found else explained).strip("\n")
