"""How Spark speaks of types and of broken constraints, for dbt's suites of contracts."""

from __future__ import annotations

import pytest
from dialect import SparkFiles


class ColumnsEqual(SparkFiles):
    @pytest.fixture
    def string_type(self) -> str:
        return "string"

    @pytest.fixture
    def int_type(self) -> str:
        return "int"

    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        # a value, its type in a contract, its type in the message
        return [
            ["1", "int", "int"],
            ["'1'", "string", "string"],
            ["true", "boolean", "boolean"],
            ["6.45", "decimal(3,2)", "decimal(3,2)"],
            ["array('1', '2')", "array<string>", "array<string>"],
            ["map('a', 1)", "map<string,int>", "map<string,int>"],
            ["cast('2019-01-01' as date)", "date", "date"],
            ["cast('2019-01-01' as timestamp)", "timestamp", "timestamp"],
        ]


class Rollback(SparkFiles):
    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["id is not null", "id > 0", "id >= 1"]

    def assert_expected_error_messages(self, error_message: str, expected_error_messages: list[str]) -> None:
        # A null violates all of them, and Delta names the one that it looks at first.
        assert any(f"({message})" in error_message.lower() for message in expected_error_messages)
