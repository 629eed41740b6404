"""A model becomes a stream table and another kind again; a schema with stream tables is dropped."""

from __future__ import annotations

from typing import Any

from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator
from dbt.tests.adapter.relations.test_dropping_schema_named import BaseDropSchemaNamed
from dialect import StreamTables


class TestChangeRelationTypes(StreamTables, BaseChangeRelationTypeValidator):
    def test_changing_materialization_changes_relation_type(self, project: Any) -> None:
        """From and to each kind. An incremental model appends to the table that it finds: it must find none."""
        for kind in ("view", "stream_table", "table", "stream_table", "incremental", "stream_table", "view"):
            self._run_and_check_materialization(kind)
            rows = project.run_sql("select materialization from {schema}.model_mc_modelface", fetch="all")
            assert [tuple(row) for row in rows] == [(kind,)]


class TestDropSchemaNamed(StreamTables, BaseDropSchemaNamed):
    pass
