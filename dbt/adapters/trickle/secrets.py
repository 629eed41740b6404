"""The secrets that this process was given: the profile's, and what dbt itself keeps out of its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt_common.exceptions import env_secrets

from dbt_trickle import masking

_ONES = ("password", "token")
# Of all profiles of the process. A connection's thread, or dbt's log, may tell of any of them.
_known: set[str] = set()


def remember(profile: Any, settings: Mapping[str, str]) -> None:
    given = [getattr(profile, name, None) for name in _ONES]
    given += [value for key, value in settings.items() if masking.is_secret(key)]
    _known.update(str(value) for value in given if value)


def masked(text: str) -> str:
    return masking.masked(text, [*_known, *env_secrets()])


def to_be_shown(problem: Exception) -> Exception | None:
    """As the cause of another one, its words come into dbt's log with the stack; none where they tell a secret."""
    return problem if masked(str(problem)) == str(problem) else None
