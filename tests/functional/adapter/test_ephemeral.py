"""Ephemeral models become CTEs of what refers to them."""
# ruff: noqa: F401

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbt.tests.adapter.ephemeral import test_ephemeral
from dbt.tests.adapter.ephemeral.test_ephemeral import TestEphemeralErrorHandling
from dbt.tests.util import check_relations_equal, run_dbt


def _ran(project: Any, model: str) -> str:
    text = Path("target/run/test/models", f"{model}.sql").read_text(encoding="utf-8")
    return " ".join(text.replace(project.test_schema, "it").split())


class TestEphemeralMulti(test_ephemeral.BaseEphemeralMulti):
    def test_ephemeral_multi(self, project: Any) -> None:
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        for model in ("dependent", "double_dependent", "super_dependent"):
            check_relations_equal(project.adapter, ["seed", model])
        assert _ran(project, "double_dependent") == (
            "create or replace view it.double_dependent as"
            " with __dbt__cte__base as ( select * from it.seed ),"
            " __dbt__cte__base_copy as ( select * from __dbt__cte__base )"
            " -- base_copy just pulls from base. Make sure the listed"
            " -- graph of CTEs all share the same dbt_cte__base cte"
            " select * from __dbt__cte__base where gender = 'Male'"
            " union all select * from __dbt__cte__base_copy where gender = 'Female'"
        )


class TestEphemeralNested(test_ephemeral.BaseEphemeralNested):
    def test_ephemeral_nested(self, project: Any) -> None:
        assert len(run_dbt(["run"])) == 2
        assert _ran(project, "root_view") == (
            "create or replace view it.root_view as"
            " with __dbt__cte__ephemeral_level_two as ( select * from it.source_table ),"
            " __dbt__cte__ephemeral as ( select * from __dbt__cte__ephemeral_level_two )"
            " select * from __dbt__cte__ephemeral"
        )
