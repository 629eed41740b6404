"""Contracts over stream tables: dbt's preflight, then what the storage enforces."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from constraints import ColumnsEqual, Rollback
from dbt.tests.adapter.constraints import fixtures, test_constraints
from dbt.tests.util import run_dbt
from dialect import SparkFiles, StreamTables, as_stream_table

PROPERTY = re.compile(r"'delta\.constraints\.\w+' = '((?:\\.|[^'\\])*)'")


class _Rules(StreamTables, SparkFiles):
    """The suites compare the text of one CREATE TABLE. A stream table's names its storage and carries its
    state, so only what they look for there is compared: the rules, and the columns in the contract's order."""

    columns = ("id", "color", "date_day")

    @pytest.fixture(scope="class")
    def expected_sql(self) -> set[str]:
        return {"`id` IS NOT NULL", "(id > 0)", "id >= 1"}

    def check(self, project: Any, rules: set[str]) -> None:
        properties = Path("models/constraints_schema.yml")
        properties.write_text(properties.read_text().format(schema=project.test_schema))
        run_dbt(["run", "-s", "+my_model"])

        ran = Path("target/run/test/models/my_model.sql").read_text(encoding="utf-8")
        assert {rule.replace("\\'", "'") for rule in PROPERTY.findall(ran)} == rules
        rows = project.run_sql("describe {schema}.my_model", fetch="all")
        assert tuple(row[0] for row in rows) == self.columns


class _ColumnRules(_Rules):
    def test__constraints_ddl(self, project: Any, expected_sql: set[str]) -> None:
        self.check(project, expected_sql)


class TestTableConstraintsDdl(_ColumnRules, test_constraints.BaseConstraintsRuntimeDdlEnforcement):
    pass


class TestModelConstraints(_Rules, test_constraints.BaseModelConstraintsRuntimeEnforcement):
    def test__model_constraints_ddl(self, project: Any, expected_sql: set[str]) -> None:
        self.check(project, expected_sql)


class TestConstraintQuotedColumn(_ColumnRules, test_constraints.BaseConstraintQuotedColumn):
    columns = ("id", "from", "date_day")

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_model_with_quoted_column_name_sql,
            "constraints_schema.yml": fixtures.model_quoted_column_schema_yml.replace('"from"', "`from`"),
        }

    @pytest.fixture(scope="class")
    def expected_sql(self) -> set[str]:
        return {"`id` IS NOT NULL", "`from` IS NOT NULL", "(`from` = 'blue')"}


class TestConstraintsColumnsEqual(StreamTables, ColumnsEqual, test_constraints.BaseTableConstraintsColumnsEqual):
    pass


class TestConstraintsRollback(StreamTables, Rollback, test_constraints.BaseConstraintsRollback):
    """A new definition that breaks its contract leaves the stream table as it was."""

    @pytest.fixture(scope="class")
    def null_model_sql(self) -> str:
        # Written in the middle of the test, after the project was rewritten.
        return as_stream_table(fixtures.my_model_with_nulls_sql)
