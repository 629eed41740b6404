"""Sources that are ahead of their readers, as their histories and the catalog tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.state import Dependency, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import EnvironmentProblem, WarehouseError
from dbt_trickle.formats.base import SourceVersion

SETTINGS = ProjectSettings(lag_warning_mb=100, lag_critical_mb=1000)
NOW = "2026-01-06T00:00:00.000+00:00"


def at(day: int) -> datetime:
    return datetime(2026, 1, day, tzinfo=timezone.utc)


def reader(
    number: int, version: int, day: int, mode: str = "TRIGGER", table_id: str = "id", kind: str = "TABLE"
) -> tuple[StreamTable, Dependency]:
    source = SourceVersion(
        "shop.orders", kind, "shop.orders", table_id, version, at(day).isoformat(timespec="milliseconds")
    )
    table = StreamTable(number, "shop", f"st_{number}", f"model.shop.st_{number}", frontier={"shop.orders": source})
    return table, Dependency(number, "shop.orders", table_id, kind, cdc_mode=mode, cdc_reason=f"of {number}")


def catalog(*readers: tuple[StreamTable, Dependency]) -> store.Catalog:
    return store.Catalog(2, {t.pgt_id: t for t, _ in readers}, {t.pgt_id: (row,) for t, row in readers})


def append(version: int, day: int, size: int = 0) -> dict[str, Any]:
    return {
        "version": version,
        "timestamp": at(day),
        "operation": "WRITE",
        "operationParameters": {"mode": "Append"},
        "operationMetrics": {"numOutputBytes": str(size)},
    }


class Source:
    """A session over one source and the journal's events."""

    def __init__(self, *commits: dict[str, Any], properties: Mapping[str, str] | None = None) -> None:
        self.commits, self.properties = list(commits), properties or {}
        self.events: list[dict[str, Any]] = []
        self.journal: list[store.Entry] = []
        self.written: list[str] = []
        self.locked = False

    def execute(self, sql: str) -> None:
        if self.locked:
            raise EnvironmentProblem("TRK-403", "somebody else writes")
        self.written.append(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if "pgt_events" in sql:
            return self.events
        if tables.JOURNAL in sql:
            return [asdict(entry) for entry in self.journal]
        if not self.commits:
            raise WarehouseError("TRK-301", "[TABLE_OR_VIEW_NOT_FOUND]")
        if sql.startswith("DESCRIBE DETAIL"):
            return [{"id": "id", "properties": self.properties, "sizeInBytes": 1}]
        return self.commits[::-1][: int(sql.rpartition("LIMIT ")[2])]
