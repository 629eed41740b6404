"""The queries behind the `trickle` commands; people can run them as well."""

from __future__ import annotations

from dbt_trickle.catalog import events
from dbt_trickle.names import Relation, literal


def status(catalog_schema: str) -> str:
    tables = Relation.of(catalog_schema, "stream_tables_info").sql
    statistics = Relation.of(catalog_schema, "pg_stat_stream_tables").sql
    return (
        "SELECT t.pgt_schema, t.pgt_name, t.status, t.refresh_mode, t.is_populated, t.batch, t.data_timestamp, "
        "t.staleness_seconds, t.last_refresh_at, t.consecutive_errors, t.last_error, s.total_refreshes, s.failures "
        f"FROM {tables} t JOIN {statistics} s ON s.pgt_id = t.pgt_id ORDER BY t.pgt_schema, t.pgt_name"
    )


def history(catalog_schema: str, pgt_id: int, limit: int) -> str:
    rows = Relation.of(catalog_schema, "pgt_refresh_history").sql
    return (
        "SELECT start_time, end_time, action, status, reason, batch, rows_inserted, rows_deleted, data_timestamp, "
        f"initiated_by, error_message, invocation_id FROM {rows} WHERE pgt_id = {pgt_id} "
        f"ORDER BY start_time DESC LIMIT {limit}"
    )


def lag_events(catalog_schema: str) -> str:
    """Of which lags events have told."""
    rows = Relation.of(catalog_schema, "pgt_events").sql
    names = ", ".join(map(literal, (events.LAG_WARNING, events.LAG_CRITICAL)))
    fields = ", ".join(f"get_json_object(payload, '$.{name}') AS {name}" for name in ("source", "version"))
    return f"SELECT DISTINCT event, pgt_id, {fields} FROM {rows} WHERE event IN ({names})"


def stale_events(catalog_schema: str) -> str:
    """Of which stale data events have told."""
    rows = Relation.of(catalog_schema, "pgt_events").sql
    at = "get_json_object(payload, '$.data_timestamp') AS data_timestamp"
    return f"SELECT DISTINCT pgt_id, {at} FROM {rows} WHERE event = {literal(events.STALE)}"


def find(catalog_schema: str, model: str) -> str:
    """A model by its name, schema.name or unique id."""
    tables = Relation.of(catalog_schema, "pgt_stream_tables").sql
    name = literal(model.lower())
    return (
        f"SELECT pgt_id, pgt_schema, pgt_name FROM {tables} WHERE lower(pgt_name) = {name} "
        f"OR lower(concat(pgt_schema, '.', pgt_name)) = {name} OR lower(dbt_unique_id) = {name}"
    )
