"""A model's and a project's configuration, validated: nothing unknown passes."""

from __future__ import annotations

from dbt_trickle.config.model import (
    DBT_KEYS,
    KEYS,
    LAYOUT,
    SourceSettings,
    StreamTableConfig,
    check_schedule,
    parse,
    source_settings,
)
from dbt_trickle.config.project import VARIABLES, ProjectSettings, settings
from dbt_trickle.config.schedule import schedule_seconds

__all__ = [
    "DBT_KEYS",
    "KEYS",
    "LAYOUT",
    "VARIABLES",
    "ProjectSettings",
    "SourceSettings",
    "StreamTableConfig",
    "check_schedule",
    "parse",
    "schedule_seconds",
    "settings",
    "source_settings",
]
