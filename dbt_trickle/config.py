"""A model's and a project's configuration, validated: nothing unknown passes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from dbt_trickle.errors import ConfigError

_DURATION = re.compile(r"^(\d+)\s*([smhd])$")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_CRON_FIELD = re.compile(r"^[\d*/,\-A-Za-z#?]+$")

# What only a new generation of the storage can change, in the order in which the catalog has it.
LAYOUT = ("expose", "file_format", "partition_by", "liquid_clustered_by", "tblproperties", "location_root")


@dataclass(frozen=True)
class StreamTableConfig:
    refresh_mode: str = "auto"
    schedule: str | None = None
    primary_key: tuple[str, ...] = ()
    cdc_mode: str = "auto"
    change_buffer: str = "feed"
    expose: str = "view"
    max_change_ratio: float = 0.15
    diamond_consistency: str = "none"
    diamond_schedule_policy: str = "fastest"
    status: str | None = None
    append_only: str = "auto"
    volatile_functions: str = "reject"
    on_configuration_change: str = "apply"
    on_source_change: str = "auto"
    file_format: str = "delta"
    partition_by: tuple[str, ...] = ()
    liquid_clustered_by: tuple[str, ...] = ()
    tblproperties: tuple[tuple[str, str], ...] = ()
    location_root: str | None = None

    @property
    def differential(self) -> bool:
        """Whether it is brought forward where that can be done."""
        return self.refresh_mode in ("auto", "differential")

    @property
    def layout(self) -> tuple[object, ...]:
        return tuple(vars(self)[key] for key in LAYOUT)


@dataclass(frozen=True)
class SourceSettings:
    """What is said of a source itself, under its `meta.trickle`; none of it: the model's own holds."""

    cdc_mode: str | None = None
    enable_change_feed: bool = False


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


VARIABLES = tuple(f"trickle_{f.name}" for f in fields(ProjectSettings))

# Keys of every dbt model and of dbt-spark that mean the same here; and those of other materializations, which a
# folder may set for all of its models.
DBT_KEYS = frozenset(
    """access alias anchors batch_size begin catalog_name column_types concurrent_batches contract database
    docs enabled event_time event-time freshness full_refresh grants group incremental_strategy lookback
    materialized merge_exclude_columns merge_update_columns meta name node_color on_schema_change
    packages persist_docs post-hook post_hook pre-hook pre_hook quoting schema snowflake_warehouse
    static_analysis strict tags unique_key unrendered_config""".split()
)

_Check = Callable[[Any], Any]


class _Invalid(Exception):
    """A value's validator says what is allowed."""


def _one_of(*allowed: str) -> _Check:
    def check(value: Any) -> str:
        text = str(value).lower()
        if text not in allowed:
            raise _Invalid("one of " + ", ".join(allowed))
        return text

    return check


def _names(value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) and n for n in names):
        raise _Invalid("a column name or a list of column names")
    return tuple(names)


def _properties(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        raise _Invalid("a mapping of property names to values")
    return tuple(sorted((str(k), str(v).lower() if isinstance(v, bool) else str(v)) for k, v in value.items()))


def _ratio(value: Any) -> float:
    try:
        ratio = float(value)
    except (TypeError, ValueError):
        ratio = -1.0
    if isinstance(value, bool) or not 0 <= ratio <= 1:
        raise _Invalid("a number from 0 to 1")
    return ratio


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _Invalid("a text")
    return value


def _schedule(value: Any) -> str:
    text = str(value).strip()
    if text == "downstream" or _DURATION.match(text):
        return text
    parts = text.split()
    if len(parts) == 5 and all(_CRON_FIELD.match(part) for part in parts):
        return text
    raise _Invalid("a duration such as '5m', '2h' or '1d', a cron expression of five fields, or 'downstream'")


def schedule_seconds(schedule: str) -> int | None:
    """The period of a duration; none for cron and `downstream`."""
    found = _DURATION.match(schedule)
    return int(found.group(1)) * _SECONDS[found.group(2)] if found else None


def _yes_or_no(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Invalid("true, false")
    return value


_SOURCE: dict[str, _Check] = {"cdc_mode": _one_of("auto", "feed", "log"), "enable_change_feed": _yes_or_no}
_MODEL: dict[str, _Check] = {
    "refresh_mode": _one_of("auto", "differential", "full", "immediate"),
    "schedule": _schedule,
    "primary_key": _names,
    "cdc_mode": _one_of("auto", "feed", "log"),
    "change_buffer": _one_of("feed", "table"),
    "expose": _one_of("view", "table"),
    "max_change_ratio": _ratio,
    "diamond_consistency": _one_of("none", "atomic"),
    "diamond_schedule_policy": _one_of("fastest", "slowest"),
    "status": _one_of("active", "suspended"),
    "append_only": _one_of("auto", "true", "false"),
    "volatile_functions": _one_of("reject", "full"),
    "on_configuration_change": _one_of("apply", "continue", "fail"),
    "on_source_change": _one_of("auto", "fail"),
    "file_format": _one_of("delta"),
    "partition_by": _names,
    "liquid_clustered_by": _names,
    "tblproperties": _properties,
    "location_root": _text,
}
# dbt-spark's keys that a Delta storage cannot have, and what to use instead.
_INSTEAD = {
    "clustered_by": "Delta has no buckets: use `liquid_clustered_by`.",
    "buckets": "Delta has no buckets: use `liquid_clustered_by`.",
    "options": "Delta takes table properties: use `tblproperties`.",
    "sql_header": "A header would not run when it is refreshed by what changed: set it up in a `pre_hook`, or in the "
    "profile's `server_side_parameters`.",
    "predicates": "A stream table finds the rows to change itself.",
    "incremental_predicates": "A stream table finds the rows to change itself.",
}


def _is_empty(value: object) -> bool:
    """dbt fills keys of other materializations with nothing."""
    return value is None or value == "none" or value in ({}, [], "")


def _unset(key: str, value: object) -> bool:
    """The default is meant. Where `none` or nothing is no value, it is a wrong one."""
    if key in ("schedule", "status") and value == "none":
        return True
    return value is None or (_MODEL[key] in (_names, _properties, _text) and value in ({}, [], ""))


def parse(model: str, given: Mapping[str, Any]) -> StreamTableConfig:
    """The model's configuration, or an error that names the key and what it allows."""
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key in DBT_KEYS and key not in _MODEL:
            continue
        if key in _INSTEAD:
            if not _is_empty(value):
                raise ConfigError(
                    "TRK-102", f"`{key}` does not apply to a stream table", model=model, remedy=_INSTEAD[key]
                )
            continue
        if key not in _MODEL:
            raise _unknown("TRK-101", f"unknown config key `{key}`", key, sorted(_MODEL), model)
        if _unset(key, value):
            continue
        try:
            values[key] = _MODEL[key](value)
        except _Invalid as allowed:
            raise ConfigError("TRK-102", f"`{key}` is {value!r}", model=model, remedy=f"Allowed: {allowed}.") from None
    config = StreamTableConfig(**values)
    if config.partition_by and config.liquid_clustered_by:
        raise ConfigError(
            "TRK-102",
            "both `partition_by` and `liquid_clustered_by` are set",
            model=model,
            remedy="A Delta table has one of them; keep the one that your readers filter by.",
        )
    if config.refresh_mode == "immediate":
        raise ConfigError(
            "TRK-104",
            "`refresh_mode: immediate` is not available in this release",
            model=model,
            remedy="Use auto, differential or full; `dbt run` after the write brings the table up to date.",
        )
    return config


def source_settings(source: str, given: Any) -> SourceSettings:
    """The `meta.trickle` of a source or model that is read."""
    if not isinstance(given, Mapping):
        raise ConfigError(
            "TRK-102", f"`meta.trickle` of {source} is {given!r}", remedy=f"Allowed: a mapping of {', '.join(_SOURCE)}."
        )
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key not in _SOURCE:
            raise _unknown("TRK-101", f"unknown key `meta.trickle.{key}` of {source}", key, sorted(_SOURCE), None)
        try:
            values[key] = _SOURCE[key](value)
        except _Invalid as allowed:
            what = f"`meta.trickle.{key}` of {source} is {value!r}"
            raise ConfigError("TRK-102", what, remedy=f"Allowed: {allowed}.") from None
    return SourceSettings(**values)


def check_schedule(config: StreamTableConfig, settings: ProjectSettings, model: str) -> None:
    seconds = schedule_seconds(config.schedule) if config.schedule else None
    if seconds is not None and seconds < settings.min_schedule_seconds:
        raise ConfigError(
            "TRK-102",
            f"`schedule` is {config.schedule}, below the project's minimum of {settings.min_schedule_seconds} s",
            model=model,
            remedy="Use a longer period, or lower the variable `trickle_min_schedule_seconds`.",
        )


def settings(variables: Mapping[str, Any]) -> ProjectSettings:
    """The project's settings out of all its variables; those without our prefix are none of our business."""
    values: dict[str, Any] = {}
    kinds = {f.name: type(f.default) for f in fields(ProjectSettings)}
    for name, value in variables.items():
        if not name.startswith("trickle_") or value is None:
            continue
        key = name.removeprefix("trickle_")
        if key not in kinds:
            raise _unknown("TRK-103", f"unknown variable `{name}`", name, list(VARIABLES), None)
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
    return value


def _unknown(code: str, what: str, key: str, allowed: list[str], model: str | None) -> ConfigError:
    near = difflib.get_close_matches(key, allowed, n=1)
    hint = f"Did you mean `{near[0]}`? " if near else ""
    return ConfigError(code, what, model=model, remedy=f"{hint}Known: {', '.join(allowed)}.")
