"""What hooks see of a target of `type: trickle`, where dbt's suites expect Postgres'."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.hooks import test_model_hooks
from dialect import InSpark


class Hooks(InSpark):
    """What a hook sees of the target, where the suites expect Postgres'."""

    @pytest.fixture(scope="class")
    def test_data_dir(self) -> Path:
        # The tables that the hooks write to are created by files beside the suite.
        return Path(test_model_hooks.__file__).parent / "data"

    def check_hooks(self, state: str, project: Any, host: str | None, count: int = 1) -> None:
        rows = project.run_sql(
            f"select * from {project.test_schema}.{self.table} where test_state = '{state}'", fetch="all"
        )
        assert len(rows) == count
        for row in rows:
            seen = row.asDict()
            assert seen["target_type"] == "trickle"
            assert seen["target_name"] == "default"
            assert seen["target_schema"] == project.test_schema
            assert seen["target_threads"] == 4
            assert seen["target_pass"] == ""
            assert seen["run_started_at"]
            assert seen["invocation_id"]
            assert seen["thread_id"].startswith(("Thread-", "MainThread"))


class ModelHooks(Hooks):
    table = "on_model_hook"
