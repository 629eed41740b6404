"""dbt's unit tests over stream tables: they run the model's SQL, not what maintains it."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.unit_testing.test_types import BaseUnitTestingTypes
from dialect import StreamTables


class TestUnitTestingTypes(StreamTables, BaseUnitTestingTypes):
    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        return [["1", "1"], ["'string'", "string"], ["date '2011-11-11'", "2011-11-11"]]


class TestUnitTestCaseInsensitivity(StreamTables, BaseUnitTestCaseInsensivity):
    pass


class TestUnitTestInvalidInput(StreamTables, BaseUnitTestInvalidInput):
    pass
