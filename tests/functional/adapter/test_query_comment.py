"""The comment that dbt writes over each statement reaches Spark."""
# ruff: noqa: F401

from __future__ import annotations

from dbt.tests.adapter.query_comment.test_query_comment import (
    TestEmptyQueryComments,
    TestMacroArgsQueryComments,
    TestMacroInvalidQueryComments,
    TestMacroQueryComments,
    TestNullQueryComments,
    TestQueryComments,
)
