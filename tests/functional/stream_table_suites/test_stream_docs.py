"""Descriptions and the catalog of stream tables: they show the view that is seen, not what is stored."""

from __future__ import annotations

from catalogs import GeneratedDocs
from dbt.tests.adapter.basic import test_docs_generate
from dbt.tests.adapter.persist_docs import test_persist_docs
from dialect import StreamTables


class TestDocsGenerate(StreamTables, GeneratedDocs, test_docs_generate.BaseDocsGenerate):
    pass


class TestPersistDocs(StreamTables, test_persist_docs.BasePersistDocs):
    pass


class TestPersistDocsColumnMissing(StreamTables, test_persist_docs.BasePersistDocsColumnMissing):
    pass
