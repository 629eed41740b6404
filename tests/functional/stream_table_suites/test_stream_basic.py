"""dbt's basic suite over stream tables."""

from __future__ import annotations

import re
from typing import Any

import pytest
from dbt.tests.adapter.basic import (
    test_adapter_methods,
    test_base,
    test_ephemeral,
    test_generic_tests,
    test_singular_tests,
    test_singular_tests_ephemeral,
    test_table_materialization,
)
from dbt.tests.util import check_relation_types, check_relations_equal, run_dbt
from dialect import StreamTables


class TestSimpleMaterializations(StreamTables, test_base.BaseSimpleMaterializations):
    def test_base(self, project: Any) -> None:
        """What is seen of a stream table is a view; a model can turn into another kind and back."""
        stream = {"base": "table", "view_model": "view", "table_model": "view"}
        run_dbt(["seed"])
        for materialized, kind in (("table", "table"), ("stream_table", "view"), ("incremental", "table")):
            results = run_dbt(["run", "--vars", f"materialized_var: {materialized}"])
            assert len(results) == 3
            check_relation_types(project.adapter, {**stream, "swappable": kind})
            check_relations_equal(project.adapter, ["base", "view_model", "table_model", "swappable"])

        catalog = run_dbt(["docs", "generate"])
        assert len(catalog.nodes) == 4
        assert len(catalog.sources) == 1


class TestSingularTests(StreamTables, test_singular_tests.BaseSingularTests):
    pass


class TestSingularTestsEphemeral(StreamTables, test_singular_tests_ephemeral.BaseSingularTestsEphemeral):
    pass


class TestEphemeral(StreamTables, test_ephemeral.BaseEphemeral):
    pass


class TestGenericTests(StreamTables, test_generic_tests.BaseGenericTests):
    pass


class TestTableMaterialization(StreamTables, test_table_materialization.BaseTableMaterialization):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        given = test_table_materialization.model_sql
        plain = re.sub(r"(sort|dist) = 'first_name',?", "", given)
        return {"materialized.sql": plain, "sorted_by_redshift.sql": given}

    def test_table_materialization_sort_dist_no_op(self, project: Any) -> None:
        """dbt-spark's tables pass over Redshift's sort and dist; a stream table refuses what it does not know."""
        run_dbt(["seed"])
        messages = {result.node.name: str(result.message) for result in run_dbt(["run"], expect_pass=False)}
        check_relations_equal(project.adapter, ["seed", "materialized"])
        assert "TRK-101" in messages["sorted_by_redshift"]


class TestAdapterMethods(StreamTables, test_adapter_methods.BaseAdapterMethod):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        """One model drops the schema of the other and makes a view in its place, by hand, while dbt runs: a
        stream table in there would be missed, so that one is none."""
        return {
            "upstream.sql": "{{ config(materialized='incremental') }}" + test_adapter_methods.models__upstream_sql,
            "expected.sql": test_adapter_methods.models__expected_sql,
            "model.sql": test_adapter_methods.models__model_sql,
        }
