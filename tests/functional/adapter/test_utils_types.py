"""dbt's names for types, in Spark's words. An imported suite runs as it is."""
# ruff: noqa: F401

from __future__ import annotations

import pytest
from dbt.tests.adapter.utils.data_types import test_type_float, test_type_int
from dbt.tests.adapter.utils.data_types.test_type_bigint import TestTypeBigInt
from dbt.tests.adapter.utils.data_types.test_type_boolean import TestTypeBoolean
from dbt.tests.adapter.utils.data_types.test_type_numeric import TestTypeNumeric
from dbt.tests.adapter.utils.data_types.test_type_string import TestTypeString
from dbt.tests.adapter.utils.data_types.test_type_timestamp import TestTypeTimestamp


def _typed(seed: str, column: str, data_type: str) -> dict[str, str]:
    """dbt-spark guesses double and bigint for numbers in a seed; the suites expect what the macro is called."""
    config = f"config: {{column_types: {{{column}: {data_type}}}}}"
    return {"expected.csv": seed, "expected.yml": f"seeds: [{{name: expected, {config}}}]"}


class TestTypeFloat(test_type_float.BaseTypeFloat):
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return _typed(test_type_float.seeds__expected_csv, "float_col", "float")


class TestTypeInt(test_type_int.BaseTypeInt):
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return _typed(test_type_int.seeds__expected_csv, "int_col", "int")
