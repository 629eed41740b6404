"""A model's configuration, and what is said of a source itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbt_trickle.config import checks
from dbt_trickle.config.checks import Check, Invalid, one_of, unknown
from dbt_trickle.config.project import ProjectSettings
from dbt_trickle.config.schedule import schedule, schedule_seconds
from dbt_trickle.errors import ConfigError

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


# What dbt-core 1.11 puts into every model's config, with and without a value (`ModelConfig`).
_OF_EVERY_MODEL = """access alias batch_size begin column_types concurrent_batches contract database docs enabled
    event_time freshness full_refresh grants group incremental_strategy lookback materialized meta on_schema_change
    packages persist_docs post-hook pre-hook quoting schema static_analysis tags unique_key"""
# dbt writes hooks with a hyphen; a config that did not pass through it may have them as they are written in Python.
_HOOKS = "post_hook pre_hook"
# dbt-spark's of incremental models alone: a folder of models sets them once, for those that are incremental.
_OF_INCREMENTAL_MODELS = "merge_exclude_columns merge_update_columns"
DBT_KEYS = frozenset(f"{_OF_EVERY_MODEL} {_HOOKS} {_OF_INCREMENTAL_MODELS}".split())

_SOURCE: dict[str, Check] = {"cdc_mode": one_of("auto", "feed", "log"), "enable_change_feed": checks.yes_or_no}
KEYS: dict[str, Check] = {
    "refresh_mode": one_of("auto", "differential", "full", "immediate"),
    "schedule": schedule,
    "primary_key": checks.names,
    "cdc_mode": one_of("auto", "feed", "log"),
    "change_buffer": one_of("feed", "table"),
    "expose": one_of("view", "table"),
    "max_change_ratio": checks.ratio,
    "diamond_consistency": one_of("none", "atomic"),
    "diamond_schedule_policy": one_of("fastest", "slowest"),
    "status": one_of("active", "suspended"),
    "append_only": one_of("auto", "true", "false"),
    "volatile_functions": one_of("reject", "full"),
    "on_configuration_change": one_of("apply", "continue", "fail"),
    "on_source_change": one_of("auto", "fail"),
    "file_format": one_of("delta"),
    "partition_by": checks.names,
    "liquid_clustered_by": checks.names,
    "tblproperties": checks.properties,
    "location_root": checks.text,
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
    """A folder's value is taken back by nothing."""
    return value is None or value == "none" or value in ({}, [], "")


def _unset(key: str, value: object) -> bool:
    """The default is meant. Where `none` or nothing is no value, it is a wrong one."""
    if key in ("schedule", "status") and value == "none":
        return True
    return value is None or (KEYS[key] in (checks.names, checks.properties, checks.text) and value in ({}, [], ""))


def parse(model: str, given: Mapping[str, Any]) -> StreamTableConfig:
    """The model's configuration, or an error that names the key and what it allows."""
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key in DBT_KEYS and key not in KEYS:
            continue
        if key in _INSTEAD:
            if not _is_empty(value):
                raise ConfigError(
                    "TRK-102", f"`{key}` does not apply to a stream table", model=model, remedy=_INSTEAD[key]
                )
            continue
        if key not in KEYS:
            raise unknown("TRK-101", f"unknown config key `{key}`", key, sorted(KEYS), model)
        if _unset(key, value):
            continue
        try:
            values[key] = KEYS[key](value)
        except Invalid as allowed:
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
    if config.diamond_consistency == "atomic" and config.expose == "table":
        raise ConfigError(
            "TRK-102",
            "both `expose: table` and `diamond_consistency: atomic` are set",
            model=model,
            remedy="Readers of a table see its rows at once: use `expose: view`, or `diamond_consistency: none`.",
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
            raise unknown("TRK-101", f"unknown key `meta.trickle.{key}` of {source}", key, sorted(_SOURCE), None)
        try:
            values[key] = _SOURCE[key](value)
        except Invalid as allowed:
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
