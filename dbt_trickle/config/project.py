"""The project's variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dbt_trickle import names
from dbt_trickle.config.checks import unknown
from dbt_trickle.errors import ConfigError


@dataclass(frozen=True)
class ProjectSettings:
    """The project's `trickle_…` variables, without their prefix."""

    catalog_schema: str = "trickle"
    change_schema: str = "trickle_changes"
    history_retention_days: int = 90
    max_consecutive_errors: int = 3
    allow_circular: bool = False
    max_fixpoint_iterations: int = 100
    enabled: bool = True
    min_schedule_seconds: int = 60
    max_concurrent_refreshes: int | None = None
    watch_interval_ms: int = 1000
    transition_timeout_seconds: int = 300
    lag_warning_mb: int = 100
    lag_critical_mb: int = 1024
    immediate_topk_max: int = 1000
    immediate_recursion_max_depth: int = 100
    float_aggregates: str = "exact"
    respect_schedule: bool = False
    maintenance: bool = True


VARIABLES = tuple(f"trickle_{f.name}" for f in fields(ProjectSettings))


def settings(variables: Mapping[str, Any]) -> ProjectSettings:
    """The project's settings out of all its variables; those without our prefix are none of our business."""
    values: dict[str, Any] = {}
    kinds = {f.name: type(f.default) for f in fields(ProjectSettings)}
    for name, value in variables.items():
        if not name.startswith("trickle_") or value is None:
            continue
        key = name.removeprefix("trickle_")
        if key not in kinds:
            raise unknown("TRK-103", f"unknown variable `{name}`", name, list(VARIABLES), None)
        values[key] = _setting(name, key, value, kinds[key])
    return ProjectSettings(**values)


def _setting(name: str, key: str, value: Any, kind: type) -> Any:
    allowed = ""
    if key == "float_aggregates":
        allowed = "" if value in ("exact", "fast") else "exact, fast"
    elif kind is bool:
        allowed = "" if isinstance(value, bool) else "true, false"
    elif kind is str:
        allowed = "" if isinstance(value, str) and value else "a name"
    elif isinstance(value, bool) or not isinstance(value, int) or value < 0:
        allowed = "a whole number"
    if allowed:
        raise ConfigError("TRK-103", f"variable `{name}` is {value!r}", remedy=f"Allowed: {allowed}.")
    if key in ("catalog_schema", "change_schema"):
        names.check_schema(value, f"variable `{name}`")
    return value
