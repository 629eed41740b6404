"""Configuration: what is unknown or impossible is refused by name, with what is allowed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from dbt.artifacts.resources.v1.model import ModelConfig

from dbt_trickle import config
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.errors import ConfigError

# What dbt itself puts into every model's configuration.
DBT_DEFAULTS: dict[str, Any] = {
    "enabled": True,
    "alias": None,
    "schema": None,
    "database": None,
    "tags": [],
    "meta": {},
    "group": None,
    "materialized": "stream_table",
    "incremental_strategy": None,
    "batch_size": None,
    "lookback": 1,
    "begin": None,
    "persist_docs": {},
    "post-hook": [],
    "pre-hook": [],
    "quoting": {},
    "column_types": {},
    "full_refresh": None,
    "unique_key": None,
    "on_schema_change": "ignore",
    "on_configuration_change": "apply",
    "grants": {},
    "packages": [],
    "docs": {"show": True, "node_color": None},
    "contract": {"enforced": False, "alias_types": True},
    "event_time": None,
    "concurrent_batches": None,
    "access": "protected",
    "freshness": None,
    "file_format": "delta",
}


def test_dbt_s_own_keys_pass_and_defaults_hold() -> None:
    assert config.parse("shop.totals", DBT_DEFAULTS) == StreamTableConfig()


def test_whatever_dbt_puts_into_a_model_s_config_passes() -> None:
    filled = ModelConfig().to_dict(omit_none=False)
    assert {key: value for key, value in filled.items() if key not in DBT_DEFAULTS} in ({}, {"static_analysis": None})
    assert config.parse("shop.totals", filled) == StreamTableConfig()


def test_nothing_passes_that_neither_dbt_nor_another_materialization_has() -> None:
    """A key that does nothing for anybody is a slip of the pen, or another adapter's."""
    of_every_model = {"static_analysis", *ModelConfig().to_dict(omit_none=False)}  # new in dbt-core 1.11
    assert config.DBT_KEYS - of_every_model == {"post_hook", "pre_hook"} | {
        "merge_exclude_columns",
        "merge_update_columns",
    }
    for key in ("snowflake_warehouse", "anchors", "strict", "node_color", "name", "unrendered_config", "event-time"):
        with pytest.raises(ConfigError, match=f"TRK-101.*unknown config key `{key}`"):
            config.parse("shop.totals", {**DBT_DEFAULTS, key: None})


def test_every_field_is_a_key_and_every_key_a_field() -> None:
    assert {field.name for field in fields(StreamTableConfig)} == set(config.KEYS)


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"refresh_mode": "FULL"}, "refresh_mode", "full"),
        ({"schedule": "5m"}, "schedule", "5m"),
        ({"schedule": "0 */2 * * *"}, "schedule", "0 */2 * * *"),
        ({"schedule": "0 6 * mar-OCT mon,FRI"}, "schedule", "0 6 * mar-OCT mon,FRI"),
        ({"schedule": "0 0 29 2 *"}, "schedule", "0 0 29 2 *"),
        ({"schedule": "downstream"}, "schedule", "downstream"),
        ({"schedule": None}, "schedule", None),
        ({"schedule": "none"}, "schedule", None),
        ({"status": "none"}, "status", None),
        ({"partition_by": []}, "partition_by", ()),
        ({"primary_key": "id"}, "primary_key", ("id",)),
        ({"primary_key": ["a", "b"]}, "primary_key", ("a", "b")),
        ({"append_only": True}, "append_only", "true"),
        ({"max_change_ratio": "0.5"}, "max_change_ratio", 0.5),
        ({"diamond_consistency": "none"}, "diamond_consistency", "none"),
        ({"tblproperties": {"b": True, "a": 1}}, "tblproperties", (("a", "1"), ("b", "true"))),
        ({"partition_by": "day"}, "partition_by", ("day",)),
    ],
)
def test_values(given: dict[str, Any], field: str, value: object) -> None:
    assert getattr(config.parse("shop.totals", {**DBT_DEFAULTS, **given}), field) == value


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        ({"refresh_mod": "full"}, "TRK-101", "Did you mean `refresh_mode`?"),
        ({"foo": 1}, "TRK-101", "Known: append_only,"),
        ({"refresh_mode": "sometimes"}, "TRK-102", "one of auto, differential, full, immediate"),
        ({"refresh_mode": "none"}, "TRK-102", "one of auto, differential, full, immediate"),
        ({"expose": ""}, "TRK-102", "one of view, table"),
        ({"volatile_functions": []}, "TRK-102", "one of reject, full"),
        ({"max_change_ratio": "none"}, "TRK-102", "a number from 0 to 1"),
        ({"schedule": "often"}, "TRK-102", "a duration such as '5m'"),
        ({"schedule": 5}, "TRK-102", "a duration such as '5m'"),
        ({"schedule": "please run this every day"}, "TRK-102", "please is no minute"),
        ({"schedule": "99 99 99 99 99"}, "TRK-102", "a cron expression of five fields, or 'downstream'; 99 is no min"),
        ({"schedule": "0 24 * * *"}, "TRK-102", "24 is no hour"),
        ({"schedule": "0 0 * * 8"}, "TRK-102", "8 is no day of the week"),
        ({"schedule": "0 0 30 2 *"}, "TRK-102", "this one never comes"),
        ({"schedule": "0 0 * * * *"}, "TRK-102", "a cron expression of five fields"),
        ({"schedule": "@daily"}, "TRK-102", "a cron expression of five fields"),
        ({"schedule": "R R * * *"}, "TRK-102", "a cron expression of five fields"),
        ({"schedule": "H/5 * * * *"}, "TRK-102", "a cron expression of five fields"),
        ({"max_change_ratio": 2}, "TRK-102", "a number from 0 to 1"),
        ({"max_change_ratio": True}, "TRK-102", "a number from 0 to 1"),
        ({"primary_key": {"a": 1}}, "TRK-102", "a column name or a list"),
        ({"file_format": "parquet"}, "TRK-102", "one of delta"),
        ({"buckets": 4}, "TRK-102", "liquid_clustered_by"),
        ({"partition_by": "a", "liquid_clustered_by": "b"}, "TRK-102", "keep the one"),
        ({"refresh_mode": "immediate"}, "TRK-104", "Use auto, differential or full"),
        ({"change_buffer": "tables"}, "TRK-102", "one of feed, table"),
        ({"diamond_consistency": "atomic", "expose": "table"}, "TRK-102", "use `expose: view`"),
    ],
)
def test_refusals(given: dict[str, Any], code: str, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config.parse("shop.totals", {**DBT_DEFAULTS, **given})
    assert raised.value.code == code
    assert "shop.totals" in str(raised.value)
    assert told in str(raised.value)


def test_variables_of_others_are_none_of_our_business() -> None:
    read = config.settings({"start_date": "2024-01-01", "trickle_catalog_schema": "meta", "trickle_enabled": False})
    assert (read.catalog_schema, read.enabled, read.change_schema) == ("meta", False, "trickle_changes")


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"trickle_catalog_shema": "x"}, "Did you mean `trickle_catalog_schema`?"),
        ({"trickle_enabled": "yes"}, "true, false"),
        ({"trickle_history_retention_days": -1}, "a whole number"),
        ({"trickle_float_aggregates": "rough"}, "exact, fast"),
        ({"trickle_change_schema": ""}, "a name"),
    ],
)
def test_wrong_variables(variables: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config.settings(variables)
    assert raised.value.code == "TRK-103"
    assert told in str(raised.value)


@pytest.mark.parametrize("name", ["s" * 129, "my trickle", "trickle.meta", "größe", "2024", "a`b"])
@pytest.mark.parametrize("variable", ["trickle_catalog_schema", "trickle_change_schema"])
def test_a_schema_of_ours_has_a_name_that_can_be_one(variable: str, name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config.settings({variable: name})
    assert raised.value.code == "TRK-105"
    assert f"variable `{variable}`" in str(raised.value)
    assert "at most 128 letters" in str(raised.value)


def test_a_schedule_below_the_minimum_is_refused() -> None:
    with pytest.raises(ConfigError, match="below the project's minimum of 60 s"):
        config.check_schedule(StreamTableConfig(schedule="30s"), config.ProjectSettings(), "shop.totals")


def test_what_would_be_lost_without_a_word_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"(?s)TRK-102.*sql_header.*pre_hook"):
        config.parse("shop.totals", {"sql_header": "set a = b"})
    kept = {"unique_key": "id", "incremental_strategy": "merge", "sql_header": None}
    assert config.parse("shop.totals", kept) == StreamTableConfig()
