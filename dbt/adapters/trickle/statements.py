"""What can be told of a statement by looking at it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

# Words that open a statement which changes nothing that another process can see.
_READING = frozenset(
    "select show describe desc explain set reset use values table list with from cache uncache refresh".split()
)
_OPENING = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*(\w+)", re.DOTALL)
_CHANGING = re.compile(r"\b(?:insert|merge|update|delete|create|overwrite)\b", re.IGNORECASE)
_METRICS = "num_affected_rows"


def writes(sql: str) -> bool:
    """Whether the statement may write to the warehouse. In doubt it does."""
    found = _OPENING.match(sql)
    word = found.group(1).lower() if found else ""
    if word not in _READING:
        return True
    # `WITH … INSERT` and `FROM … INSERT` write, too.
    return word in ("with", "from") and bool(_CHANGING.search(sql))


def strip_terminator(sql: str) -> str:
    return sql.strip().rstrip(";").rstrip()


def affected_rows(columns: Sequence[str], fetch: Callable[[], Sequence[Any] | None]) -> int | None:
    """Delta answers UPDATE, DELETE and MERGE with one row of metrics; its first column counts the rows."""
    if not columns or columns[0] != _METRICS:
        return None
    rows = fetch()
    return int(rows[0][0]) if rows else None
