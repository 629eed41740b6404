"""dbt docs generate: the catalog of what was built."""

from __future__ import annotations

from typing import Any

import pytest
from catalogs import GeneratedDocs, References, TableAndView
from dbt.tests.adapter.basic import test_docs_generate
from dbt.tests.adapter.catalog.relation_types import CatalogRelationTypes


class TestDocsGenerate(GeneratedDocs, test_docs_generate.BaseDocsGenerate):
    pass


class TestDocsGenReferences(References, test_docs_generate.BaseDocsGenReferences):
    pass


class TestCatalogRelationTypes(TableAndView, CatalogRelationTypes):
    @pytest.mark.parametrize(
        ("node_name", "relation_type"),
        [("seed.test.my_seed", "table"), ("model.test.my_table", "table"), ("model.test.my_view", "view")],
    )
    def test_relation_types_populate_correctly(self, docs: Any, node_name: str, relation_type: str) -> None:
        super().test_relation_types_populate_correctly(docs, node_name, relation_type)
