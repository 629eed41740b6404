"""Columns that have another type than before, where what reads them cannot be expected to go on as it did."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dbt_trickle.catalog.state import Column

_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_FLOATING = {"tinyint": ("float", "double"), "smallint": ("float", "double"), "int": ("double",), "float": ("double",)}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def incompatibly(before: Iterable[Column], now: Iterable[Column]) -> tuple[str, ...]:
    """Of each column that both have: in words, where not every value that it can have had is one of its type now."""
    was = {column.name.lower(): column.type for column in before}
    changed = ((column, was.get(column.name.lower(), column.type)) for column in now)
    return tuple(f"{column.name} was {old} and is {column.type}" for column, old in changed if not _holds(column, old))


def _holds(column: Column, old: str) -> bool:
    """No value loses anything in it: a whole number in a longer one, say."""
    new = column.type
    if old == new or new in _FLOATING.get(old, ()):
        return True
    if old in _DIGITS and new in _DIGITS:
        return _DIGITS[old] < _DIGITS[new]
    digits = _digits(new)
    needed = (_DIGITS[old], 0) if old in _DIGITS else _digits(old)
    if digits is None or needed is None:
        return False
    return digits[0] >= needed[0] and digits[1] >= needed[1]


def _digits(kind: str) -> tuple[int, int] | None:
    """Before the point and behind it."""
    found = _DECIMAL.fullmatch(kind)
    return (int(found[1]) - int(found[2]), int(found[2])) if found else None
