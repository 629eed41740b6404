"""dbt's basic suite over stream tables."""

from __future__ import annotations

from typing import Any

from dbt.tests.adapter.basic import (
    test_base,
    test_ephemeral,
    test_generic_tests,
    test_singular_tests,
    test_singular_tests_ephemeral,
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
