"""The catalog's views of capture, over rows that are given: no table is read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbt_trickle.catalog import capture_views
from dbt_trickle.names import literal
from dbt_trickle.run.session import Session

pytestmark = pytest.mark.spark

# source, stream table, table id, version, when it was committed
READERS = [
    ("shop.dropped", 1, "before", 100, "2026-01-01T00:00:00.000+00:00"),
    ("SHOP.dropped", 2, "after", 3, "2026-01-03T00:00:00.000+00:00"),
    ("shop.orders", 3, "id", 5, "2026-01-01T00:00:00.000+00:00"),
    ("shop.orders", 4, "id", 7, "2026-01-02T00:00:00.000+00:00"),
    ("delta./lake/Sales", 5, "one", 1, "2026-01-01T00:00:00.000+00:00"),
    ("DELTA./lake/sales", 6, "two", 2, "2026-01-02T00:00:00.000+00:00"),
]


def rows() -> tuple[str, str]:
    dependencies = ", ".join(
        f"({number}, {literal(source)}, {literal(table)}, 'TABLE', 'WAL', 'why', {version}L, 604800L)"
        for source, number, table, version, _ in READERS
    )
    tables = ", ".join(
        f"({number}, 'shop', 'st_{number}', map('k', named_struct('kind', 'TABLE', 'relation', {literal(source)}, "
        f"'table_id', {literal(table)}, 'version', {version}L, 'committed_at', {literal(at)})))"
        for source, number, table, version, at in READERS
    )
    return (
        f"(SELECT * FROM VALUES {dependencies} AS d (pgt_id, source, source_table_id, source_type, cdc_mode, "
        "cdc_reason, confirmed_version, retention_seconds))",
        f"(SELECT * FROM VALUES {tables} AS t (pgt_id, pgt_schema, pgt_name, frontier))",
    )


class TestCaptureViews:
    def test_the_slowest_of_readers_on_different_tables(self, connect: Callable[[], Session]) -> None:
        found = connect().query(
            "SELECT source, slowest_consumer, confirmed_version, newest_version, lag_versions, lag_seconds, "
            f"readable_until IS NOT NULL AS told FROM ({capture_views.health(*rows())})"
        )
        assert sorted(tuple(row.values()) for row in found) == [
            ("DELTA./lake/sales", "shop.st_6", 2, 2, 0, 0, False),
            ("SHOP.dropped", "shop.st_1", 100, 3, None, 2 * 86400, False),
            ("delta./lake/Sales", "shop.st_5", 1, 1, 0, 0, False),
            ("shop.orders", "shop.st_3", 5, 7, 2, 86400, True),
        ]
        found = connect().query(
            "SELECT source, source_table_id, last_consumed_version, tracked_by_pgt_ids "
            f"FROM ({capture_views.change_tracking(*rows())})"
        )
        assert sorted((*tuple(row.values())[:3], list(row["tracked_by_pgt_ids"])) for row in found) == [
            ("DELTA./lake/sales", "two", 2, [6]),
            ("SHOP.dropped", "before", 100, [1, 2]),
            ("delta./lake/Sales", "one", 1, [5]),
            ("shop.orders", "id", 5, [3, 4]),
        ]
