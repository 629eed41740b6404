"""Suspended and resumed by hand. What the model's own configuration says wins over both (plan/decide.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dbt_trickle.catalog import store
from dbt_trickle.catalog.state import ACTIVE, INITIALIZING, SUSPENDED, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.run.session import Session


def suspended(table: StreamTable, now: str) -> StreamTable:
    return replace(table, status=SUSPENDED, suspended_by="USER", updated_at=now)


def resumed(table: StreamTable, now: str) -> StreamTable:
    """A suspension after errors ends as well, and the errors count from the beginning."""
    return replace(
        table,
        status=ACTIVE if table.is_populated else INITIALIZING,
        suspended_by=None,
        consecutive_errors=0,
        last_error=None,
        updated_at=now,
    )


def write(session: Session, settings: ProjectSettings, command: str, tables: Sequence[StreamTable]) -> None:
    entries = [store.stream_table(table) for table in tables]
    session.execute(store.append(settings.catalog_schema, f"trickle {command}", entries))
