"""Descriptions and the catalog of stream tables: they show the view that is seen, not what is stored."""

from __future__ import annotations

from typing import Any

import pytest
from catalogs import GeneratedDocs, References, TableAndView
from dbt.tests.adapter.basic import test_docs_generate
from dbt.tests.adapter.catalog.relation_types import CatalogRelationTypes
from dbt.tests.adapter.persist_docs import test_persist_docs
from dialect import StreamTables


class TestDocsGenerate(StreamTables, GeneratedDocs, test_docs_generate.BaseDocsGenerate):
    pass


class TestDocsGenReferences(StreamTables, References, test_docs_generate.BaseDocsGenReferences):
    summary_type = "view"


class TestCatalogRelationTypes(StreamTables, TableAndView, CatalogRelationTypes):
    @pytest.mark.parametrize(
        ("node_name", "relation_type"),
        [("seed.test.my_seed", "table"), ("model.test.my_table", "view"), ("model.test.my_view", "view")],
    )
    def test_relation_types_populate_correctly(self, docs: Any, node_name: str, relation_type: str) -> None:
        super().test_relation_types_populate_correctly(docs, node_name, relation_type)


class TestPersistDocs(StreamTables, test_persist_docs.BasePersistDocs):
    pass


class TestPersistDocsColumnMissing(StreamTables, test_persist_docs.BasePersistDocsColumnMissing):
    pass


class TestPersistDocsAllColumnsMissing(StreamTables, test_persist_docs.BasePersistDocsAllColumnsMissing):
    pass


class TestPersistDocsQuotedColumnCaseSensitive(
    StreamTables, test_persist_docs.BasePersistDocsQuotedColumnCaseSensitive
):
    pass


class TestPersistDocsCommentOnQuotedColumn(StreamTables, test_persist_docs.BasePersistDocsCommentOnQuotedColumn):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        """Without `materialized: table`, which stands closer to the model than StreamTables' word."""
        return {"models": {"test": {"+persist_docs": {"relation": True, "columns": True}}}}
