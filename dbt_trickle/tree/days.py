"""Texts that Spark makes moments of: a time without a day is that time of today, and 'today' is another day tomorrow.

What was computed from them yesterday may be wrong although no source moved. Spark's plans have the casts that nobody
wrote, too: the optimized one those of rows; of those of constants it has the result, and the analyzed one the cast.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dbt_trickle.tree.plan_text import section

# Of rows. What Spark makes of a day or a moment without a zone hangs on no day.
_TO_TIMESTAMP = re.compile(r" as (?:[^()#]*\b)?timestamp\b[^()#]*\)")
_ATTRIBUTE = re.compile(r"\bcast\((\w+)(#\d+)L?$")
_RELATION = re.compile(r"^[ :+-]*Relation [^\n]*", re.MULTILINE)
_ID = re.compile(r"#\d+")
_NO_TEXT = {"date", "timestamp", "timestamp_ntz", "tinyint", "smallint", "int", "bigint", "boolean"}
# They read texts as a cast does, where no format is given.
_READ_BY_SCHEMA = re.compile(r"\b(?:from_(?:json|csv|xml)|(?:try_)?variant_get)\([^\n]*?\bTimestampType\b")
# Of constants.
_MADE = re.compile(r" as (?:date|timestamp(?:_ntz|_ltz)?)\)")
_PARSED = re.compile(r"\b(?:try_)?to_(?:date|timestamp\w*)\(([^#(),]*), None\b")
_OF_TODAY = re.compile(r"[(\s\x00-\x20]*(?:(?:now|today|yesterday|tomorrow)\b|T?\d{1,2}:)", re.IGNORECASE)
_CALL = re.compile(r"\(*(\w+)\(")
# They give days or moments, which are made of texts inside of them, if at all.
_GIVE_MOMENTS = frozenset(
    """cast try_cast date_add date_sub dateadd add_months last_day next_day trunc date_trunc make_date make_timestamp
    make_timestamp_ntz make_timestamp_ltz to_date to_timestamp to_timestamp_ntz to_timestamp_ltz gettimestamp
    timestamp_seconds timestamp_millis timestamp_micros timestampadd date_from_unix_date from_unixtime
    from_utc_timestamp to_utc_timestamp convert_timezone""".split()
)
_LONGEST = 4000
# Written as `user`, it looks like a column, and in the optimized plan it is a text like any other.
_WHO_ASKS = "current_user()"
# Reasons for which the same rows give another result on another day, or to somebody else.
_OF_THE_DAY = (
    "is whoever asks",
    "is another moment tomorrow",
    "may be taken for a time of today",
    "may be another moment later",
)


def of_today(explained: str, columns: Iterable[tuple[str, str]]) -> str | None:
    """A reason, with the cast; `columns`: of all sources, with their types."""
    analyzed, optimized = (section(explained, stage) or "" for stage in ("Analyzed", "Optimized"))
    if _WHO_ASKS in analyzed:
        return f"{_WHO_ASKS}, which may be written `user`, is whoever asks"
    if (constant := _constant(analyzed)) is not None:
        return f"a text that is read as a moment may be another moment later ({constant[:60]})"
    return _of_rows(optimized, columns)


def hangs_on_the_day(reason: str) -> bool:
    """Whether, for this reason, what was computed yesterday may be wrong today although no source moved."""
    return any(words in reason for words in _OF_THE_DAY)


def _constant(plan: str) -> str | None:
    """What is made a day or a moment, hangs on no row, and may be a word or a time for today."""
    for found in _PARSED.finditer(plan):
        if _OF_TODAY.match(found.group(1)):
            return found.group()
    for found in _MADE.finditer(plan):
        made = _argument(plan, found.start())
        if made is not None and "#" not in made and _is_of_today(made):
            return f"cast({made}{found.group()}"
    return None


def _is_of_today(made: str) -> bool:
    call = _CALL.match(made)
    if call is None:
        return bool(_OF_TODAY.match(made))
    return call.group(1) not in _GIVE_MOMENTS or made.endswith(" as string)")


def _argument(plan: str, end: int) -> str | None:
    """What stands in the parentheses of the cast that ends here."""
    depth = 0
    for at in range(end - 1, max(end - _LONGEST, 0), -1):
        depth += {")": 1, "(": -1}.get(plan[at], 0)
        if depth < 0:
            return plan[at + 1 : end]
    return None


def _of_rows(plan: str, columns: Iterable[tuple[str, str]]) -> str | None:
    if found := _READ_BY_SCHEMA.search(plan):
        return (
            f"a text that is read as a timestamp is another moment tomorrow where it has no day ({found.group()[:40]}…)"
        )
    types: dict[str, set[str]] = {}
    for column, kind in columns:
        types.setdefault(column.lower(), set()).add(kind)
    # What is made above a relation, or is a parameter of a function, may have the name of another column.
    read = {number for line in _RELATION.findall(plan) for number in _ID.findall(line)}
    for found in _TO_TIMESTAMP.finditer(plan):
        name = _ATTRIBUTE.search(plan[: found.start()])
        of_relation = name is not None and name.group(2) in read
        if name is None or not of_relation or not types.get(name.group(1).lower(), {"string"}) <= _NO_TEXT:
            cast = plan[: found.end()][-60:]
            return f"a cast to timestamp is another moment tomorrow where a text has no day (…{cast})"
    return None
