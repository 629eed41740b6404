"""Descriptions of models and columns, kept as comments in the catalog."""

from __future__ import annotations

from dbt.tests.adapter.persist_docs import test_persist_docs


class TestPersistDocs(test_persist_docs.BasePersistDocs):
    pass


class TestPersistDocsColumnMissing(test_persist_docs.BasePersistDocsColumnMissing):
    pass


class TestPersistDocsAllColumnsMissing(test_persist_docs.BasePersistDocsAllColumnsMissing):
    pass


class TestPersistDocsQuotedColumnCaseSensitive(test_persist_docs.BasePersistDocsQuotedColumnCaseSensitive):
    pass


class TestPersistDocsQuotedDescriptionNotAppliedOnMismatch(
    test_persist_docs.BasePersistDocsQuotedDescriptionNotAppliedOnMismatch
):
    pass


class TestPersistDocsCommentOnQuotedColumn(test_persist_docs.BasePersistDocsCommentOnQuotedColumn):
    pass
