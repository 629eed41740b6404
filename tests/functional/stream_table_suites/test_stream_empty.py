"""--empty and --sample look at a part of the data: a stream table that exists is not theirs to change."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import freezegun
from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmpty,
    BaseTestEmptyInlineSourceRef,
    MetadataWithEmptyFlag,
)
from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest
from dbt.tests.util import run_dbt
from dialect import StreamTables
from emptied import WithoutDroppedColumns


class TestEmpty(StreamTables, BaseTestEmpty):
    def test_run_with_empty(self, project: Any) -> None:
        run_dbt(["seed"])
        run_dbt(["run", "--empty"])
        self.assert_row_count(project, "model", 0)

        run_dbt(["run"])
        self.assert_row_count(project, "model", 3)

        run_dbt(["run", "--empty"])
        self.assert_row_count(project, "model", 3)


class TestEmptyInlineSourceRef(StreamTables, BaseTestEmptyInlineSourceRef):
    def test_run_with_empty(self, project: Any) -> None:
        run_dbt(["seed"])
        run_dbt(["run", "--empty", "--debug"])
        self.assert_row_count(project, "model", 0)

        run_dbt(["run"])
        self.assert_row_count(project, "model", 1)


class TestMetadataWithEmptyFlag(StreamTables, WithoutDroppedColumns, MetadataWithEmptyFlag):
    pass


class TestSampleMode(StreamTables, BaseSampleModeTest):
    @mock.patch.dict(os.environ, {"DBT_EXPERIMENTAL_SAMPLE_MODE": "True"})
    @freezegun.freeze_time("2025-01-03T02:03:0Z")
    def test_sample_mode(self, project: Any) -> None:
        run_dbt(["run"])
        self.assert_row_count(project, "model_that_samples_input_sql", 3)

        run_dbt(["run", "--sample=1 day"])
        self.assert_row_count(project, "model_that_samples_input_sql", 3)
