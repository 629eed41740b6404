"""Each strategy of an incremental model that dbt-spark knows, on the formats that it goes with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

MODEL = """
{{{{ config(materialized='incremental', {config}) }}}}
{{% if is_incremental() %}}
select * from values (2L, 'yo', 'green'), (3L, 'anyway', 'purple') as t(id, msg, color)
{{% else %}}
select * from values (1L, 'hello', 'blue'), (2L, 'goodbye', 'red') as t(id, msg, color)
{{% endif %}}
"""
FIRST = [(1, "hello", "blue"), (2, "goodbye", "red")]
SECOND = [(2, "yo", "green"), (3, "anyway", "purple")]
UPSERTED = [FIRST[0], *SECOND]

# name: (configuration, rows after two runs)
GOOD = {
    "default": ("", FIRST + SECOND),
    "append": ("incremental_strategy='append'", FIRST + SECOND),
    "append_parquet": ("incremental_strategy='append', file_format='parquet'", FIRST + SECOND),
    "merge_no_key": ("incremental_strategy='merge'", FIRST + SECOND),
    "merge_key": ("incremental_strategy='merge', unique_key='id'", UPSERTED),
    "merge_columns": (
        "incremental_strategy='merge', unique_key='id', merge_update_columns=['msg']",
        [FIRST[0], (2, "yo", "red"), SECOND[1]],
    ),
    "overwrite": ("incremental_strategy='insert_overwrite', file_format='parquet'", SECOND),
    "overwrite_partitions": (
        "incremental_strategy='insert_overwrite', file_format='parquet', partition_by='id'",
        UPSERTED,
    ),
}
# name: (configuration, what is said of it)
BAD = {
    "bad_format": ("file_format='something_else'", "Invalid file format provided: something_else"),
    "bad_strategy": ("incremental_strategy='something_else'", "Invalid incremental strategy provided"),
    "merge_parquet": (
        "incremental_strategy='merge', file_format='parquet'",
        "Invalid incremental strategy provided: merge",
    ),
}


class TestStrategies:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {f"{name}.sql": MODEL.format(config=config) for name, (config, _) in GOOD.items()}

    @pytest.fixture(scope="class")
    def two_runs(self, project: Any) -> None:
        run_dbt(["run"])
        run_dbt(["run"])

    @pytest.mark.parametrize("name", GOOD)
    def test_two_runs(self, project: Any, two_runs: None, name: str) -> None:
        rows = project.run_sql(f"select id, msg, color from {{schema}}.{name} order by id, msg", fetch="all")
        assert [tuple(row) for row in rows] == sorted(GOOD[name][1])

    def test_the_rows_of_a_merge_are_counted(self, project: Any, two_runs: None) -> None:
        """By the metrics that Delta answers with: one row was updated, one came."""
        written = json.loads((Path(project.project_root) / "target" / "run_results.json").read_text(encoding="utf-8"))
        counted = {
            r["unique_id"].split(".")[-1]: r["adapter_response"].get("rows_affected") for r in written["results"]
        }
        assert counted["merge_key"] == 2


class TestBadStrategies:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {f"{name}.sql": MODEL.format(config=config) for name, (config, _) in BAD.items()}

    def test_refused(self, project: Any) -> None:
        results = run_dbt(["run"], expect_pass=False)
        messages = {result.node.name: result.message for result in results}
        for name, (_, said) in BAD.items():
            assert "Compilation Error in model" in messages[name]
            assert said in messages[name]
