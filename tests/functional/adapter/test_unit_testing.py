"""dbt's unit tests."""
# ruff: noqa: F401

from __future__ import annotations

from dbt.tests.adapter.unit_testing.test_case_insensitivity import TestPosgresUnitTestCaseInsensitivity
from dbt.tests.adapter.unit_testing.test_invalid_input import TestPostgresUnitTestInvalidInput
from dbt.tests.adapter.unit_testing.test_quoted_reserved_word_column_names import (
    BaseUnitTestQuotedReservedWordColumnNames,
)
from dbt.tests.adapter.unit_testing.test_types import (
    BaseUnitTestingTypes,
    BaseUnitTestingVarcharFixtureNoTruncation,
)
from unit_types import SparkQuotes, SparkTypes


class TestUnitTestingTypes(SparkTypes, BaseUnitTestingTypes):
    pass


class TestVarcharFixtureNoTruncation(BaseUnitTestingVarcharFixtureNoTruncation):
    pass


class TestQuotedReservedWordColumnNames(SparkQuotes, BaseUnitTestQuotedReservedWordColumnNames):
    pass
