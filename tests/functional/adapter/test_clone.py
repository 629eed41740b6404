"""dbt clone: Delta clones tables without copying them, views are made again."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.dbt_clone import fixtures, test_dbt_clone
from dialect import SparkStatements


class _DropsItsSchemas:
    @pytest.fixture(autouse=True)
    def clean_up(self, project: Any) -> Any:
        # The tests of a class create the same schemas again.
        yield
        with project.adapter.connection_named("__test"):
            for schema in (f"{project.test_schema}_seeds", project.test_schema):
                project.adapter.drop_schema(project.adapter.Relation.create(database=project.database, schema=schema))


class TestClonePossible(_DropsItsSchemas, test_dbt_clone.BaseClonePossible):
    pass


class TestCloneNotPossible(_DropsItsSchemas, test_dbt_clone.BaseCloneNotPossible):
    pass


class TestCloneSameTargetAndState(_DropsItsSchemas, test_dbt_clone.BaseCloneSameTargetAndState):
    pass


class TestCloneSameSourceAndTarget(SparkStatements, _DropsItsSchemas, test_dbt_clone.BaseCloneSameSourceAndTarget):
    # The suite's own models and snapshots are no fixtures, so dbt would have nothing but a seed to clone.
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "source_based_model.sql": fixtures.source_based_model_sql,
            "source_schema.yml": fixtures.source_schema_yml,
        }

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {}

    def test_clone_same_source_and_target(self, project: Any, unique_schema: str) -> None:
        super().test_clone_same_source_and_target(project, unique_schema)
        rows = project.run_sql("select id from {schema}.source_based_model order by id", fetch="all")
        assert [tuple(row) for row in rows] == [(1,), (2,)]
