"""Sources: how old the newest row is."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

SOURCES = """
sources:
  - name: raw
    schema: "{{ target.schema }}"
    config:
      loaded_at_field: cast(loaded_at as timestamp)
      freshness: {error_after: {count: 1, period: day}}
    tables:
      - name: old
      - name: new
"""


class TestFreshness:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "sources.yml": SOURCES,
            "old.sql": "select 1 as id, '2020-01-01 00:00:00' as loaded_at",
            "new.sql": "select 1 as id, {{ dbt.current_timestamp() }} as loaded_at",
        }

    @pytest.mark.parametrize(("table", "status"), [("old", "error"), ("new", "pass")])
    def test_source_freshness(self, project: Any, table: str, status: str) -> None:
        run_dbt(["run"])
        command = ["source", "freshness", "--select", f"source:raw.{table}"]
        results = run_dbt(command, expect_pass=status == "pass")
        assert [str(result.status) for result in results] == [status]
