"""Relations: changing their kind, dropping their schema, their columns' types, copying them."""
# ruff: noqa: F401

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.column_types import fixtures
from dbt.tests.adapter.column_types.test_column_types import BaseColumnTypes
from dbt.tests.adapter.relations.test_changing_relation_type import TestChangeRelationTypes
from dbt.tests.adapter.relations.test_dropping_schema_named import TestDropSchemaNamed
from dbt.tests.adapter.simple_copy.test_copy_uppercase import BaseSimpleCopyUppercase
from dbt.tests.adapter.simple_copy.test_simple_copy import EmptyModelsArentRunBase, SimpleCopyBase
from dbt.tests.util import check_relations_equal, get_connection, run_dbt


class TestColumnTypes(BaseColumnTypes):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        sql = fixtures.model_sql.replace("::double precision", "::double").replace("::text", "::string")
        return {"model.sql": sql, "schema.yml": fixtures.schema_yml}

    def test_run_and_test(self, project: Any) -> None:
        self.run_and_test()


class TestSimpleCopy(SimpleCopyBase):
    pass


class TestSimpleCopyUppercase(BaseSimpleCopyUppercase):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target: dict[str, Any]) -> dict[str, Any]:
        """The suite's own is a Postgres database whose name has capitals; there is none in Spark."""
        return dbt_profile_target


class TestEmptyModelsArentRun(EmptyModelsArentRunBase):
    @pytest.fixture(scope="class")
    def project(self, project: Any) -> Any:
        def get_tables_in_schema() -> dict[str, str]:
            # Spark has no information_schema.
            with get_connection(project.adapter):
                relations = project.adapter.list_relations(project.database, project.test_schema)
            return {relation.identifier: relation.type for relation in relations}

        project.get_tables_in_schema = get_tables_in_schema
        return project


class TestColumnsInRelation:
    """Spark names a column without a name by its expression, and that must be quoted."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        columns = "{% for c in adapter.get_columns_in_relation(ref('child')) %}{{ c.quoted }}{% endfor %}"
        return {"child.sql": "select 1", "parent.sql": f"select {columns} from {{{{ ref('child') }}}}"}

    def test_get_columns_in_relation(self, project: Any) -> None:
        run_dbt(["run"])
        check_relations_equal(project.adapter, ["child", "parent"])
