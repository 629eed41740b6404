"""Contracts, and the constraints that Delta enforces: not null and check, added after the table is made."""

from __future__ import annotations

import pytest
from constraints import ColumnsEqual, Rollback
from dbt.tests.adapter.constraints import fixtures, test_constraints
from dialect import SparkFiles

CONTRACTED = """
create or replace table <model_identifier> using delta as
select {columns} from ( {select} ) as model_subq
"""
SELECT = "select 'blue' as {color}, 1 as id, '2019-01-01' as date_day"


class TestTableConstraintsColumnsEqual(ColumnsEqual, test_constraints.BaseTableConstraintsColumnsEqual):
    pass


class TestViewConstraintsColumnsEqual(ColumnsEqual, test_constraints.BaseViewConstraintsColumnsEqual):
    pass


class TestIncrementalConstraintsColumnsEqual(ColumnsEqual, test_constraints.BaseIncrementalConstraintsColumnsEqual):
    pass


class _Ddl(SparkFiles):
    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        select = "-- depends_on: <foreign_key_model_identifier>\n" + SELECT.format(color="color")
        return CONTRACTED.format(columns="id, color, date_day", select=select)


class TestTableConstraintsDdl(_Ddl, test_constraints.BaseConstraintsRuntimeDdlEnforcement):
    pass


class TestIncrementalConstraintsDdl(_Ddl, test_constraints.BaseIncrementalConstraintsRuntimeDdlEnforcement):
    pass


class TestModelConstraints(_Ddl, test_constraints.BaseModelConstraintsRuntimeEnforcement):
    pass


class TestConstraintQuotedColumn(SparkFiles, test_constraints.BaseConstraintQuotedColumn):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_model_with_quoted_column_name_sql,
            "constraints_schema.yml": fixtures.model_quoted_column_schema_yml.replace('"from"', "`from`"),
        }

    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return CONTRACTED.format(columns="id, `from`, date_day", select=SELECT.format(color="`from`"))


class TestTableConstraintsRollback(Rollback, test_constraints.BaseConstraintsRollback):
    @pytest.fixture(scope="class")
    def expected_color(self) -> str:
        """The table is replaced before its constraints are added, and Spark has no transaction over both."""
        return "red"


class TestIncrementalConstraintsRollback(Rollback, test_constraints.BaseIncrementalConstraintsRollback):
    pass


class TestIncrementalForeignKeyConstraint(SparkFiles, test_constraints.BaseIncrementalForeignKeyConstraint):
    pass
