"""dbt's unit tests over stream tables: they run the model's SQL, not what maintains it."""

from __future__ import annotations

from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.unit_testing.test_quoted_reserved_word_column_names import (
    BaseUnitTestQuotedReservedWordColumnNames,
)
from dbt.tests.adapter.unit_testing.test_types import (
    BaseUnitTestingTypes,
    BaseUnitTestingVarcharFixtureNoTruncation,
)
from dialect import StreamTables
from unit_types import SparkQuotes, SparkTypes


class TestUnitTestingTypes(StreamTables, SparkTypes, BaseUnitTestingTypes):
    pass


class TestVarcharFixtureNoTruncation(StreamTables, BaseUnitTestingVarcharFixtureNoTruncation):
    pass


class TestQuotedReservedWordColumnNames(StreamTables, SparkQuotes, BaseUnitTestQuotedReservedWordColumnNames):
    pass


class TestUnitTestCaseInsensitivity(StreamTables, BaseUnitTestCaseInsensivity):
    pass


class TestUnitTestInvalidInput(StreamTables, BaseUnitTestInvalidInput):
    pass
