"""What can be told of a statement by looking at it."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from dbt_trickle import names

# Words that open a statement which changes nothing that another process can see.
_QUERIES = frozenset(["select", "values", "table", "with", "from"])
_LOOKS = frozenset(["show", "describe", "desc", "explain", "list"])
_SESSION = frozenset(["set", "reset", "use", "cache", "uncache", "refresh"])
_READING = _QUERIES | _LOOKS | _SESSION
_CHANGING = frozenset(["insert", "merge", "update", "delete"])
_METRICS = "num_affected_rows"
# What may hide words (a literal, a quoted name, a comment), and what is looked for: words and parentheses.
# In a raw literal a backslash escapes nothing.
_TOKEN = re.compile(
    r"""--[^\n]* | (?P<comment>/\*)
      | [rR]'[^']*' | [rR]"[^"]*" | '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | `[^`]*`
      | (?P<word>\w+) | (?P<paren>[()])""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")


def writes(sql: str) -> bool:
    """Whether the statement may write to the warehouse. In doubt it does."""
    words = _words(sql)
    first, depth = next(words, ("", 0))
    if first not in _READING:
        return True
    # `WITH … INSERT` and `FROM … INSERT` write, too; inside parentheses there can only be a query.
    return first in ("with", "from") and any(word in _CHANGING for word, at in words if at <= depth)


def _words(sql: str) -> Iterator[tuple[str, int]]:
    """The bare words in lower case, each with the number of parentheses around it."""
    depth = position = 0
    while found := _TOKEN.search(sql, position):
        position = found.end()
        if found["comment"]:
            position = _end_of_comment(sql, position)
        elif found["paren"]:
            depth += 1 if found["paren"] == "(" else -1
        elif found["word"]:
            yield found["word"].lower(), depth


def _end_of_comment(sql: str, position: int) -> int:
    """Spark's comments nest."""
    depth = 1
    while depth and (edge := _COMMENT_EDGE.search(sql, position)):
        depth += 1 if edge.group() == "/*" else -1
        position = edge.end()
    return position if depth == 0 else len(sql)


def strip_terminator(sql: str) -> str:
    return sql.strip().rstrip(";").rstrip()


def bind(sql: str, bindings: Sequence[Any] | None) -> str:
    """dbt binds the values of seeds; Spark's sql() takes none, so they become literals."""
    return sql if bindings is None else sql % tuple(literal(value) for value in bindings)


def literal(value: Any) -> str:
    """Exact, where dbt-spark sends every number as a double and cuts timestamps to milliseconds."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float() if not math.isfinite(value):
            return f"double('{value}')"
        case int() | float():
            return repr(value)
        case Decimal() if value.is_finite() and value == value.to_integral_value():
            return str(int(value))
        case Decimal() if value.is_finite():
            # Spark's decimals have 38 digits; what has more can only be meant as a double.
            text = f"{value:f}"
            return text if len(text.strip("-").replace(".", "").lstrip("0")) <= 38 else repr(float(value))
        case dt.datetime():
            return f"'{value.isoformat(sep=' ')}'"
    return names.literal(str(value))


def affected_rows(columns: Sequence[str], fetch: Callable[[], Sequence[Any] | None]) -> int | None:
    """Delta answers UPDATE, DELETE and MERGE with one row of metrics; its first column counts the rows."""
    if not columns or columns[0] != _METRICS:
        return None
    rows = fetch()
    return int(rows[0][0]) if rows else None
