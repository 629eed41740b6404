"""Snapshots: updates, deletions, revivals, new columns, names of the columns that dbt adds."""
# ruff: noqa: F401

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from dbt.tests.adapter.simple_snapshot import (
    fixtures,
    new_record_check_mode,
    new_record_dbt_valid_to_current,
    new_record_timestamp_mode,
    test_ephemeral_snapshot_hard_deletes,
    test_various_configs,
)
from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot, TestSnapshotCheck
from dbt.tests.util import check_relations_equal, run_dbt
from dialect import InSpark


class TestSnapshot(BaseSimpleSnapshot):
    def add_fact_column(self, column: str | None = None, definition: str | None = None) -> None:
        """Delta adds no column with a default to a table that was made without that feature."""
        super().add_fact_column(column, "string")


class TestSnapshotColumnNames(InSpark, test_various_configs.BaseSnapshotColumnNames):
    pass


class TestSnapshotColumnNamesFromProject(InSpark, test_various_configs.BaseSnapshotColumnNamesFromDbtProject):
    pass


class TestSnapshotInvalidColumnNames(InSpark, test_various_configs.BaseSnapshotInvalidColumnNames):
    pass


class TestSnapshotDbtValidToCurrent(InSpark, test_various_configs.BaseSnapshotDbtValidToCurrent):
    def test_valid_to_current(self, project: Any) -> None:
        """The suite's own reads the rows in the order in which they were inserted; Spark keeps none."""
        for sql in (
            fixtures.create_seed_sql,
            fixtures.create_snapshot_expected_sql,
            fixtures.seed_insert_sql,
            fixtures.populate_snapshot_expected_valid_to_current_sql,
        ):
            project.run_sql(sql)
        assert len(run_dbt(["snapshot"])) == 1
        current = datetime(2099, 12, 31)
        assert self._valid_to(project, 10) == [current]

        project.run_sql(fixtures.invalidate_sql)
        project.run_sql(fixtures.update_with_current_sql)
        assert len(run_dbt(["snapshot"])) == 1
        assert self._valid_to(project, 1) == [current]
        assert self._valid_to(project, 10) == [datetime(2016, 8, 20, 16, 44, 49), current]
        check_relations_equal(project.adapter, ["snapshot_actual", "snapshot_expected"])

    def _valid_to(self, project: Any, number: int) -> list[datetime]:
        query = f"select test_valid_to from {{schema}}.snapshot_actual where id = {number} order by 1"
        return [row[0] for row in project.run_sql(query, fetch="all")]


class TestSnapshotMultiUniqueKey(InSpark, test_various_configs.BaseSnapshotMultiUniqueKey):
    pass


class TestNewRecordTimestampMode(InSpark, new_record_timestamp_mode.BaseSnapshotNewRecordTimestampMode):
    pass


class TestNewRecordCheckMode(InSpark, new_record_check_mode.BaseSnapshotNewRecordCheckMode):
    pass


class TestNewRecordDbtValidToCurrent(InSpark, new_record_dbt_valid_to_current.BaseSnapshotNewRecordDbtValidToCurrent):
    pass


class _AlteredSource(InSpark):
    @pytest.fixture(scope="class")
    def source_alter_sql(self) -> str:
        return "alter table {schema}.src_customers add column dummy_column varchar(50)"


class TestEphemeralHardDeletes(_AlteredSource, test_ephemeral_snapshot_hard_deletes.BaseSnapshotEphemeralHardDeletes):
    pass


class TestNewColumnTimestampStrategy(
    _AlteredSource, test_ephemeral_snapshot_hard_deletes.BaseSnapshotNewColumnTimestampStrategy
):
    pass


class TestNewColumnSpecificCheckCols(
    _AlteredSource, test_ephemeral_snapshot_hard_deletes.BaseSnapshotNewColumnSpecificCheckCols
):
    pass


class TestNewColumnWithDeletes(_AlteredSource, test_ephemeral_snapshot_hard_deletes.BaseSnapshotNewColumnWithDeletes):
    pass
