"""What of dbt's suite of macros under --empty holds on Delta."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.empty import _models
from dbt.tests.util import run_dbt


class WithoutDroppedColumns:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        """Without the removal of columns, which dbt-spark refuses."""
        return {
            "schema.yml": _models.SCHEMA,
            "control.sql": _models.CONTROL,
            "get_columns_in_relation.sql": _models.GET_COLUMNS_IN_RELATION,
            "alter_column_type.sql": _models.ALTER_COLUMN_TYPE.replace("varchar", "string"),
            "alter_relation_comment.sql": _models.ALTER_RELATION_COMMENT,
            "alter_column_comment.sql": _models.ALTER_COLUMN_COMMENT,
            "truncate_relation.sql": _models.TRUNCATE_RELATION,
        }

    @pytest.mark.parametrize(
        "model",
        [
            "control",
            "get_columns_in_relation",
            "alter_column_type",
            "alter_relation_comment",
            "alter_column_comment",
            "truncate_relation",
        ],
    )
    def test_run(self, project: Any, model: str) -> None:
        run_dbt(["run", "--empty", "--select", model])
