"""What a refresh leaves behind: the catalog's rows, the history, dbt's run_results.json."""

from __future__ import annotations

import json

import pytest
from shop import Shop, model, sources

from dbt.adapters.trickle import impl
from dbt_trickle.catalog import tables

pytestmark = pytest.mark.spark

ANSWER = {"_message", "rows_affected", "action", "reason", "rows_inserted", "rows_deleted", "data_timestamp"}
PUBLISHED = {
    "pgt_stream_tables": list(tables.STREAM_TABLE_COLUMNS),
    "pgt_dependencies": list(tables.DEPENDENCY_COLUMNS),
    "pgt_refresh_history": list(tables.HISTORY_COLUMNS),
    "pgt_change_tracking": ["source", "source_table_id", "cdc_mode", "last_consumed_version", "tracked_by_pgt_ids"],
    "pgt_events": ["event", "pgt_id", "at", "payload"],
    "pgt_meta": ["key", "value"],
}
QUERY = "select region, amount from {{ source('shop', 'orders') }} where amount > 10"


class TestRecords:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "sources.yml": sources("orders"),
            "large.sql": model(QUERY, schedule="5m"),
            "regions.sql": model("select region, count(*) over () as n from {{ ref('large') }}"),
        }

    def test_rows(self, shop: Shop) -> None:
        shop.table("orders")
        orders = f"{shop.schema}.orders"
        shop.run("large", "regions")
        answers = self.answers(shop)
        assert answers["large"] == {**answers["large"], "action": "FULL", "rows_inserted": 1, "rows_affected": 1}
        shop.run("large")
        shop.sql("insert into orders values (3, 'south', 30)")
        shop.run("large", "regions")
        answers = self.answers(shop)
        assert answers["large"] == {
            **answers["large"],
            # Only what differs is written, for what reads it.
            **{"_message": "FULL +1 −0", "rows_inserted": 1, "rows_deleted": 0, "rows_affected": 1},
        }

        state = shop.state("large")
        assert (state.status, state.is_populated, state.batch, state.generation) == ("ACTIVE", True, 2, 1)
        assert (state.schedule, state.refresh_mode, state.consecutive_errors) == ("5m", "auto", 0)
        assert (state.pgt_schema, state.pgt_name) == (shop.schema, "large")
        assert state.original_query == model(QUERY, schedule="5m")
        assert state.defining_query.strip() == shop.compiled("large").strip()
        assert state.frontier[orders].version == 2
        assert state.last_full_ms > 0

        first, quiet, moved = shop.history("large")
        assert [row.action for row in (first, quiet, moved)] == ["FULL", "NO_DATA", "FULL"]
        assert [row.initiated_by for row in (first, quiet, moved)] == ["INITIAL", "DBT", "DBT"]
        assert [(row.rows_inserted, row.rows_deleted) for row in (first, quiet, moved)] == [(1, 0), (0, 0), (1, 0)]
        assert [row.batch for row in (first, quiet, moved)] == [1, 1, 2]
        assert moved.frontier_from[orders].version == 1
        assert moved.frontier_to[orders].version == 2
        assert set(moved.phase_ms) >= {"sources", "decide", "execute", "confirm"}
        assert first.data_timestamp < quiet.data_timestamp < moved.data_timestamp == state.data_timestamp
        assert all(row.end_time >= row.start_time and row.status == "COMPLETED" for row in (first, quiet, moved))
        # A stream table is as old as the one it reads.
        assert shop.state("regions").data_timestamp == state.data_timestamp
        self.check_dependencies(shop, state.pgt_id)

    def test_a_bug_in_a_refresh(self, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its history does not say that something failed before it, and that nothing was touched."""
        shop.run("large")

        def refresh(*_: object) -> None:
            raise KeyError("orders")

        with monkeypatch.context() as patched:
            patched.setattr(impl, "refresh", refresh)
            shop.run("large", ok=False)
        row = shop.history("large")[-1]
        assert (row.status, row.error_message.splitlines()[0]) == ("FAILED", "[TRK-900] KeyError: 'orders'")
        shop.run("large")
        assert shop.history("large")[-1].status == "COMPLETED"

    def answers(self, shop: Shop) -> dict[str, dict[str, object]]:
        results = json.loads((shop.root / "target" / "run_results.json").read_text())["results"]
        answers = {result["unique_id"].split(".")[2]: result["adapter_response"] for result in results}
        assert all(set(answer) == ANSWER for answer in answers.values())
        return answers

    def check_dependencies(self, shop: Shop, number: int) -> None:
        for view, columns in PUBLISHED.items():
            assert [row.col_name for row in shop.sql(f"describe {shop.catalog}.{view}")] == columns
        regions = shop.state("regions").pgt_id
        rows = shop.sql(
            "select pgt_id, source, source_type, confirmed_version "
            f"from {shop.catalog}.pgt_dependencies where pgt_id in ({number}, {regions})"
        )
        assert sorted(tuple(row) for row in rows) == sorted(
            [
                (number, f"{shop.schema}.orders", "TABLE", 2),
                (regions, f"{shop.schema}.large", "STREAM_TABLE", 2),
            ]
        )
        tracked = shop.sql(f"select * from {shop.catalog}.pgt_change_tracking where source = '{shop.schema}.orders'")
        assert [row.tracked_by_pgt_ids for row in tracked] == [[number]]
