"""dbt debug and dbt show."""
# ruff: noqa: F401

from __future__ import annotations

from typing import Any

from dbt.tests.adapter.dbt_debug.test_dbt_debug import (
    BaseDebugProfileVariable,
    TestDebugInvalidProjectPostgres,
)
from dbt.tests.adapter.dbt_show.test_dbt_show import (
    BaseShowDoesNotHandleDoubleLimit,
    TestPostgresShowLimit,
    TestPostgresShowSqlHeader,
)
from dbt.tests.util import run_dbt


class TestDebug(BaseDebugProfileVariable):
    def test_ok(self, project: Any) -> None:
        run_dbt(["debug"])
        assert "ERROR" not in self.capsys.readouterr().out


class TestShowDoesNotHandleDoubleLimit(BaseShowDoesNotHandleDoubleLimit):
    DATABASE_ERROR_MESSAGE = "Syntax error at or near 'limit'"
