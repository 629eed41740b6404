"""--empty and --sample: plans and types are checked without reading the data.

dbt seed --empty comes with a later dbt-core than this project allows.
"""
# ruff: noqa: F401

from __future__ import annotations

from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmptyInlineSourceRef,
    MetadataWithEmptyFlag,
    TestEmpty,
)
from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest
from emptied import WithoutDroppedColumns


class TestEmptyInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


class TestMetadataWithEmptyFlag(WithoutDroppedColumns, MetadataWithEmptyFlag):
    pass


class TestSampleMode(BaseSampleModeTest):
    pass
