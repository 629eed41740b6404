"""Grants."""
# ruff: noqa: F401

from __future__ import annotations

from dbt.tests.adapter.grants.test_incremental_grants import TestIncrementalGrants
from dbt.tests.adapter.grants.test_invalid_grants import TestInvalidGrants
from dbt.tests.adapter.grants.test_model_grants import TestModelGrants
from dbt.tests.adapter.grants.test_seed_grants import TestSeedGrants
from dbt.tests.adapter.grants.test_snapshot_grants import TestSnapshotGrants
