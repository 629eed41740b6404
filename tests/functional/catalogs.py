"""The catalog that dbt's suites expect, in Spark's words."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.basic import expected_catalog
from dbt.tests.adapter.catalog import files

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


class References:
    summary_type = "table"

    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> dict[str, Any]:
        catalog = expected_catalog.expected_references_catalog(
            project, role=None, bigint_type="bigint", model_stats=expected_catalog.no_stats(), **TYPES
        )
        catalog["nodes"]["model.test.ephemeral_summary"]["metadata"]["type"] = self.summary_type
        # dbt-spark counts columns from 0, and two nodes share one dictionary of columns here.
        for node in (*catalog["nodes"].values(), *catalog["sources"].values()):
            node["columns"] = {
                name: {**column, "index": column["index"] - 1} for name, column in node["columns"].items()
            }
        return catalog


class TableAndView:
    """Without the materialized view."""

    @pytest.fixture(scope="class", autouse=True)
    def models(self) -> dict[str, str]:
        return {"my_table.sql": files.MY_TABLE, "my_view.sql": files.MY_VIEW}
