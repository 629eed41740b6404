"""The catalog that dbt's suites expect, in Spark's words."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.basic import expected_catalog

TYPES = {
    "id_type": "bigint",
    "text_type": "string",
    "time_type": "timestamp",
    "view_type": "view",
    "table_type": "table",
}


class GeneratedDocs:
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> dict[str, Any]:
        return expected_catalog.base_expected_catalog(
            project, role=None, model_stats=expected_catalog.no_stats(), **TYPES
        )
