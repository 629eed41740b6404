"""dbt clone: Delta clones tables without copying them, views are made again."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.dbt_clone import test_dbt_clone


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
