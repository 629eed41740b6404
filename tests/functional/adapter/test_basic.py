"""dbt's basic suite: what every adapter must do. An imported suite runs as it is."""
# ruff: noqa: F401

from __future__ import annotations

from typing import Any

from dbt.tests.adapter.basic.test_adapter_methods import TestBaseCaching
from dbt.tests.adapter.basic.test_base import TestSimpleMaterializations
from dbt.tests.adapter.basic.test_empty import TestEmpty
from dbt.tests.adapter.basic.test_ephemeral import TestEphemeral
from dbt.tests.adapter.basic.test_generic_tests import TestGenericTests
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncrementalBadStrategy,
    TestBaseIncrementalNotSchemaChange,
    Testincremental,
)
from dbt.tests.adapter.basic.test_singular_tests import TestSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import TestSingularTestsEphemeral
from dbt.tests.adapter.basic.test_snapshot_check_cols import TestSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import TestSnapshotTimestamp
from dbt.tests.adapter.basic.test_table_materialization import TestTableMat
from dbt.tests.adapter.basic.test_validate_connection import TestValidateConnection
from dbt.tests.util import run_dbt


class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    def test_incremental_invalid_strategy(self, project: Any) -> None:
        """dbt-spark knows its strategies, and refuses another one before it looks for a macro."""
        run_dbt(["seed"])
        results = run_dbt(["run"], expect_pass=False)
        assert "Invalid incremental strategy provided: bad_strategy" in results.results[0].message
