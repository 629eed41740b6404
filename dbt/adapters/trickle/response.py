"""What dbt prints on a stream table's line, and puts into run_results.json."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.contracts.connection import AdapterResponse

from dbt_trickle.run.announced import Outcome


@dataclass
class TrickleResponse(AdapterResponse):
    action: str | None = None
    reason: str | None = None
    rows_inserted: int | None = None
    rows_deleted: int | None = None
    data_timestamp: str | None = None


def response_of(outcome: Outcome) -> TrickleResponse:
    row = outcome.refresh
    changed = row.rows_inserted or row.rows_deleted
    counts = f" +{row.rows_inserted} −{row.rows_deleted}" if changed else ""
    return TrickleResponse(
        _message=f"{row.action}{counts}",
        rows_affected=row.rows_inserted + row.rows_deleted,
        action=row.action,
        reason=row.reason,
        rows_inserted=row.rows_inserted,
        rows_deleted=row.rows_deleted,
        data_timestamp=row.data_timestamp,
    )
