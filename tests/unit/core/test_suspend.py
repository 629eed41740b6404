"""Suspended and resumed by hand: what the catalog is told."""

from __future__ import annotations

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.run import suspend

TABLE = StreamTable(5, "shop", "totals", "model.shop.totals", is_populated=True, status="ACTIVE", batch=3)


def test_suspended_by_the_user() -> None:
    found = suspend.suspended(TABLE, "now")
    assert (found.status, found.suspended_by, found.updated_at) == ("SUSPENDED", "USER", "now")


def test_resumed_from_both_kinds_of_suspension() -> None:
    failed = StreamTable(
        **{**vars(TABLE), "status": "ERROR", "suspended_by": "ERRORS", "consecutive_errors": 3, "last_error": "x"}
    )
    for before in (failed, suspend.suspended(TABLE, "then")):
        found = suspend.resumed(before, "now")
        assert (found.status, found.suspended_by, found.consecutive_errors, found.last_error) == (
            "ACTIVE",
            None,
            0,
            None,
        )
        assert found.batch == 3
    assert suspend.resumed(StreamTable(5, "shop", "totals", "model.shop.totals"), "now").status == "INITIALIZING"
