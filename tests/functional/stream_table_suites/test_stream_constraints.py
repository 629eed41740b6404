"""Contracts over stream tables: dbt's preflight, then what the storage enforces."""

from __future__ import annotations

import pytest
from constraints import ColumnsEqual, Rollback
from dbt.tests.adapter.constraints import fixtures, test_constraints
from dialect import StreamTables, as_stream_table


class TestConstraintsColumnsEqual(StreamTables, ColumnsEqual, test_constraints.BaseTableConstraintsColumnsEqual):
    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        return [["1", "int", "int"], ["'1'", "string", "string"], ["true", "boolean", "boolean"]]


class TestConstraintsRollback(StreamTables, Rollback, test_constraints.BaseConstraintsRollback):
    """A new definition that breaks its contract leaves the stream table as it was."""

    @pytest.fixture(scope="class")
    def null_model_sql(self) -> str:
        # Written in the middle of the test, after the project was rewritten.
        return as_stream_table(fixtures.my_model_with_nulls_sql)
