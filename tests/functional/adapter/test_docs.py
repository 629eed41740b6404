"""dbt docs generate: the catalog of what was built."""

from __future__ import annotations

from typing import Any

import pytest
from catalogs import TYPES, GeneratedDocs
from dbt.tests.adapter.basic import expected_catalog, test_docs_generate
from dbt.tests.adapter.catalog import files
from dbt.tests.adapter.catalog.relation_types import CatalogRelationTypes


class TestDocsGenerate(GeneratedDocs, test_docs_generate.BaseDocsGenerate):
    pass


class TestDocsGenReferences(test_docs_generate.BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> dict[str, Any]:
        catalog = expected_catalog.expected_references_catalog(
            project, role=None, bigint_type="bigint", model_stats=expected_catalog.no_stats(), **TYPES
        )
        # dbt-spark counts columns from 0, and two nodes share one dictionary of columns here.
        for node in (*catalog["nodes"].values(), *catalog["sources"].values()):
            node["columns"] = {
                name: {**column, "index": column["index"] - 1} for name, column in node["columns"].items()
            }
        return catalog


class TestCatalogRelationTypes(CatalogRelationTypes):
    @pytest.fixture(scope="class", autouse=True)
    def models(self) -> dict[str, str]:
        return {"my_table.sql": files.MY_TABLE, "my_view.sql": files.MY_VIEW}

    @pytest.mark.parametrize(
        ("node_name", "relation_type"),
        [("seed.test.my_seed", "table"), ("model.test.my_table", "table"), ("model.test.my_view", "view")],
    )
    def test_relation_types_populate_correctly(self, docs: Any, node_name: str, relation_type: str) -> None:
        super().test_relation_types_populate_correctly(docs, node_name, relation_type)
