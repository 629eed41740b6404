"""Incremental models: keys, predicates, columns left out of a merge, changing schemas, microbatches."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import BaseMergeExcludeColumns
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import (
    BaseIncrementalOnSchemaChangeSetup,
)
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.util import run_dbt
from dialect import SparkStatements


class TestUniqueKey(SparkStatements, BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+incremental_strategy": "merge"}}


class TestPredicates(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        predicates = ["DBT_INTERNAL_DEST.id != 2"]
        return {"models": {"+incremental_predicates": predicates, "+incremental_strategy": "merge"}}


class TestPredicatesByTheirShortName(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "models": {"+predicates": ["DBT_INTERNAL_DEST.id != 2"], "+incremental_strategy": "merge"},
        }


class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    pass


class TestOnSchemaChangeMerge(BaseIncrementalOnSchemaChangeSetup):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+incremental_strategy": "merge", "+unique_key": "id"}}

    def test_run_incremental_append_new_columns(self, project: Any) -> None:
        # Not append_new_columns_remove_one: a Delta merge asks for each column that the table has.
        self.run_incremental_append_new_columns(project)

    @pytest.mark.parametrize("model", ["incremental_sync_all_columns", "incremental_sync_remove_only"])
    def test_run_incremental_sync_columns(self, project: Any, model: str) -> None:
        """dbt-spark drops no column: Delta could only after an upgrade of the table that older readers refuse."""
        select = f"model_a {model} {model}_target"
        run_dbt(["run", "--select", select, "--full-refresh"])
        results = run_dbt(["run", "--select", select], expect_pass=False)
        assert "does not support dropping columns" in results[1].message


class _IgnoreAndFail(BaseIncrementalOnSchemaChangeSetup):
    def test_run_incremental_ignore(self, project: Any) -> None:
        select = "model_a incremental_ignore incremental_ignore_target"
        self.run_twice_and_assert(select, "incremental_ignore", "incremental_ignore_target", project)

    def test_run_incremental_fail_on_schema_change(self, project: Any) -> None:
        select = "model_a incremental_fail"
        run_dbt(["run", "--select", select, "--full-refresh"])
        results = run_dbt(["run", "--select", select], expect_pass=False)
        assert "Compilation Error" in results[1].message


class TestOnSchemaChangeAppend(_IgnoreAndFail):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+incremental_strategy": "append"}}


class TestOnSchemaChangeInsertOverwrite(_IgnoreAndFail):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "models": {
                "+file_format": "parquet",
                "+partition_by": "id",
                "+incremental_strategy": "insert_overwrite",
            }
        }


class TestNewColumnsWithStrangeNames:
    """Columns that come later, with names that must be quoted."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "strange.sql": """
                {{ config(materialized='incremental', incremental_strategy='append',
                          on_schema_change='append_new_columns') }}
                {% if is_incremental() %}
                select 2 as id, 'b' as `select`, 3 as `field-with-dash`, 'c' as `größe`
                {% else %}
                select 1 as id, 'a' as `select`
                {% endif %}
            """
        }

    def test_appended(self, project: Any) -> None:
        run_dbt(["run"])
        run_dbt(["run"])
        rows = project.run_sql("select * from {schema}.strange order by id", fetch="all")
        assert [tuple(row) for row in rows] == [(1, "a", None, None), (2, "b", 3, "c")]


class TestMicrobatch(BaseMicrobatch):
    @pytest.fixture(scope="class")
    def microbatch_model_sql(self) -> str:
        """A batch overwrites the partitions it holds: it needs them, and no key."""
        return """
            {{ config(
                materialized='incremental', incremental_strategy='microbatch', event_time='event_time',
                batch_size='day', begin=modules.datetime.datetime(2020, 1, 1), file_format='parquet',
                partition_by=['date_day']
            ) }}
            select *, cast(event_time as date) as date_day from {{ ref('input_model') }}
        """
