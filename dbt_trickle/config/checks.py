"""Checks of single values: each gives the value in its one form, or says what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from dbt_trickle.errors import ConfigError

Check = Callable[[Any], Any]


class Invalid(Exception):
    """A value's check says what is allowed."""


def one_of(*allowed: str) -> Check:
    def check(value: Any) -> str:
        text = str(value).lower()
        if text not in allowed:
            raise Invalid("one of " + ", ".join(allowed))
        return text

    return check


def names(value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) and n for n in names):
        raise Invalid("a column name or a list of column names")
    return tuple(names)


def properties(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        raise Invalid("a mapping of property names to values")
    return tuple(sorted((str(k), str(v).lower() if isinstance(v, bool) else str(v)) for k, v in value.items()))


def ratio(value: Any) -> float:
    try:
        ratio = float(value)
    except (TypeError, ValueError):
        ratio = -1.0
    if isinstance(value, bool) or not 0 <= ratio <= 1:
        raise Invalid("a number from 0 to 1")
    return ratio


def text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise Invalid("a text")
    return value


def yes_or_no(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Invalid("true, false")
    return value


def unknown(code: str, what: str, key: str, allowed: list[str], model: str | None) -> ConfigError:
    near = difflib.get_close_matches(key, allowed, n=1)
    hint = f"Did you mean `{near[0]}`? " if near else ""
    return ConfigError(code, what, model=model, remedy=f"{hint}Known: {', '.join(allowed)}.")
