"""A warehouse that answers what pinning asks, and sources in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run.pins import PinnedQuery, Wanted
from dbt_trickle.run.sources import Sources

MEANING = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}
THEN = datetime(2026, 1, 2, 3, 4, 5)
NOW = "2026-01-03T00:00:00.000+00:00"
LATER = "2026-01-03T01:00:00.000+00:00"


def commit(version: int, operation: str = "WRITE") -> dict[str, Any]:
    return {
        "version": version,
        "timestamp": THEN,
        "operation": operation,
        "userMetadata": None,
        "operationMetrics": {"numOutputRows": "1"},
    }


def view(text: str, columns: Sequence[str], **more: Any) -> list[dict[str, str]]:
    described = {
        "columns": [{"name": name} for name in columns],
        "view_text": text,
        "view_catalog_and_namespace": "spark_catalog.shop",
        "view_query_output_columns": list(columns),
        "view_creation_spark_configuration": MEANING,
        **more,
    }
    return [{"json_metadata": json.dumps(described)}]


class Warehouse:
    """Answers by statement; what it was not told about does not exist."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []

    def execute(self, sql: str) -> None:
        raise AssertionError(f"looking must not change anything: {sql}")

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self.asked.append(sql)
        answer = self.answers.get(sql, "[TABLE_OR_VIEW_NOT_FOUND] it is not there")
        if isinstance(answer, str):
            raise WarehouseError("TRK-301", answer)
        return answer  # type: ignore[no-any-return]


def table(name: str, version: int) -> dict[str, Any]:
    return {
        f"DESCRIBE HISTORY {name} LIMIT 1": [commit(version)],
        f"DESCRIBE DETAIL {name}": [{"id": f"id of {name}"}],
    }


def a_view(name: str, text: str, columns: Sequence[str], **more: Any) -> dict[str, Any]:
    return {
        f"DESCRIBE HISTORY {name} LIMIT 1": "[EXPECT_TABLE_NOT_VIEW] a view",
        f"DESCRIBE TABLE EXTENDED {name} AS JSON": view(text, columns, **more),
    }


def pin(text: str, answers: Mapping[str, Any], *, upstream: StreamTable | None = None) -> PinnedQuery:
    def at(relation: Relation) -> StreamTable | None:
        return upstream if upstream is not None and upstream.public == relation else None

    return Sources(at, lambda: NOW).pin_query(Warehouse(answers), text, Wanted(MEANING, {}))


def reasons(pinned: PinnedQuery) -> list[str]:
    return [str(why) for why in pinned.unversioned]
