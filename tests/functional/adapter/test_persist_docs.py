"""Descriptions of models and columns, kept as comments in the catalog."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.persist_docs import test_persist_docs
from dbt.tests.util import run_dbt

INCREMENTAL = "{{ config(materialized='incremental') }} select * from {{ ref('described_seed') }}"
DOCS = "persist_docs: {relation: true, columns: true}"
COLUMNS = 'columns: [{name: id, description: the number}, {name: name, description: "it\'s a name"}]'


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


class TestPersistDocsOfSeedsAndIncrementalModels:
    """dbt's own classes describe tables and views."""

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        described = f"{{name: described_seed, description: a seed, config: {{{DOCS}}}, {COLUMNS}}}"
        return {"described_seed.csv": "id,name\n1,a\n", "seeds.yml": f"seeds: [{described}]"}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        described = f"{{name: described_model, description: a model, config: {{{DOCS}}}, {COLUMNS}}}"
        return {"described_model.sql": INCREMENTAL, "models.yml": f"models: [{described}]"}

    def test_described(self, project: Any) -> None:
        run_dbt(["build"])
        run_dbt(["run"])
        for name, said in (("described_seed", "a seed"), ("described_model", "a model")):
            rows = project.run_sql(f"describe extended {project.test_schema}.{name}", fetch="all")
            told = {row[0]: (row[1], row[2]) for row in rows}
            assert (told["id"][1], told["name"][1], told["Comment"][0]) == ("the number", "it's a name", said), name
