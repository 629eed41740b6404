"""The catalog in the warehouse: one journal that is only appended to, and views that show it.

Everything an invocation has to say goes into one append, whichever of the published tables it
concerns; Spark could not write several tables at once. The published tables are views of the
newest entry per key, so a half-written catalog cannot exist.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbt_trickle.catalog import capture_views
from dbt_trickle.names import Relation, literal, quote

SCHEMA_VERSION = 7
JOURNAL = "pgt_journal"
STREAM_TABLE, DEPENDENCIES, HISTORY, EVENT, INVOCATION, META, MAINTENANCE, DIAMOND = (
    "stream_table",
    "dependencies",
    "history",
    "event",
    "invocation",
    "meta",
    "maintenance",
    "diamond",
)
# How entries of one key are ordered: by when the server wrote them, and those of one append as they were made. A
# beginning (its `seq` is below zero) comes before any end: one that the server is late with, or that was sent again
# because its answer was lost, would otherwise be news.
ORDER = ("seq >= 0", "at", "seq")
NEWEST = f"max_by(payload, struct({', '.join(ORDER)}))"
# Nobody reads an old version of the journal; at a run a minute it has thousands of commits a day.
PROPERTIES = {
    "delta.logRetentionDuration": "interval 2 days",
    "delta.deletedFileRetentionDuration": "interval 1 days",
}

_FRONTIER = (
    "MAP<STRING, STRUCT<kind: STRING, relation: STRING, table_id: STRING, version: BIGINT, committed_at: STRING>>"
)
STREAM_TABLE_COLUMNS = {
    "pgt_id": "BIGINT",
    "pgt_schema": "STRING",
    "pgt_name": "STRING",
    "dbt_unique_id": "STRING",
    "storage_relation": "STRING",
    "generation": "INT",
    "defining_query": "STRING",
    "original_query": "STRING",
    "fingerprint": "STRING",
    "functions_used": "ARRAY<STRING>",
    "schedule": "STRING",
    "refresh_mode": "STRING",
    "status": "STRING",
    "is_populated": "BOOLEAN",
    "data_timestamp": "TIMESTAMP",
    "frontier": _FRONTIER,
    "batch": "BIGINT",
    "last_refresh_at": "TIMESTAMP",
    "consecutive_errors": "INT",
    "last_error": "STRING",
    "needs_reinit": "BOOLEAN",
    "reinit_reason": "STRING",
    "auto_threshold": "DOUBLE",
    "last_full_ms": "BIGINT",
    "last_diff_ms": "BIGINT",
    "topk_limit": "BIGINT",
    "topk_order_by": "STRING",
    "topk_offset": "BIGINT",
    "diamond_consistency": "STRING",
    "diamond_schedule_policy": "STRING",
    "scc_id": "BIGINT",
    "diamond_group": "STRING",
    "epoch": "BIGINT",
    "created_at": "TIMESTAMP",
    "updated_at": "TIMESTAMP",
}
DEPENDENCY_COLUMNS = {
    "pgt_id": "BIGINT",
    "source": "STRING",
    "source_table_id": "STRING",
    "source_type": "STRING",
    "columns_used": "ARRAY<STRING>",
    "schema_fingerprint": "STRING",
    "cdc_mode": "STRING",
    "cdc_reason": "STRING",
    "confirmed_version": "BIGINT",
    "transition_started_at": "TIMESTAMP",
}
HISTORY_COLUMNS = {
    "refresh_id": "STRING",
    "pgt_id": "BIGINT",
    "invocation_id": "STRING",
    "batch": "BIGINT",
    "data_timestamp": "TIMESTAMP",
    "start_time": "TIMESTAMP",
    "end_time": "TIMESTAMP",
    "action": "STRING",
    "reason": "STRING",
    "rows_inserted": "BIGINT",
    "rows_deleted": "BIGINT",
    "delta_rows": "BIGINT",
    "frontier_from": _FRONTIER,
    "frontier_to": _FRONTIER,
    "phase_ms": "MAP<STRING, BIGINT>",
    "status": "STRING",
    "error_message": "STRING",
    "initiated_by": "STRING",
    "freshness_deadline": "TIMESTAMP",
    "storage_relation": "STRING",
    "storage_version": "BIGINT",
    "staged": "STRING",
}
DIAMOND_COLUMNS = {
    "diamond_group": "STRING",
    "shared": "ARRAY<STRING>",
    "members": "ARRAY<STRING>",
    "convergence_points": "ARRAY<STRING>",
    "epoch": "BIGINT",
    "newest_epoch": "BIGINT",
    "epochs": "MAP<STRING, BIGINT>",
    "diamond_consistency": "STRING",
    "held_back": "ARRAY<STRING>",
}
EVENT_COLUMNS = {"event": "STRING", "pgt_id": "BIGINT", "at": "TIMESTAMP", "payload": "STRING"}


def journal(catalog_schema: str) -> Relation:
    return Relation.of(catalog_schema, JOURNAL)


def create_statements(catalog_schema: str, change_schema: str) -> tuple[str, ...]:
    """Idempotent: what is there stays. The views come last, so a catalog that has them is complete."""
    at = journal(catalog_schema)
    return (
        f"CREATE SCHEMA IF NOT EXISTS {quote(catalog_schema)}",
        f"CREATE SCHEMA IF NOT EXISTS {quote(change_schema)}",
        f"CREATE TABLE IF NOT EXISTS {at.sql} (kind STRING, key STRING, at TIMESTAMP, seq BIGINT, "
        "invocation_id STRING, payload STRING) USING delta PARTITIONED BY (kind) "
        f"TBLPROPERTIES ({_properties()})",
        *(
            # Of two processes that create the catalog at once, the later one must not break readers of the first.
            f"CREATE VIEW IF NOT EXISTS {Relation.of(catalog_schema, name).sql} AS {query}"
            for name, query in views(catalog_schema).items()
        ),
    )


def upgrade_statements(catalog_schema: str) -> tuple[str, ...]:
    """Views are re-made in place (never absent for a reader) when an older version wrote them."""
    return (
        f"ALTER TABLE {journal(catalog_schema).sql} SET TBLPROPERTIES ({_properties()})",
        *(
            f"ALTER VIEW {Relation.of(catalog_schema, name).sql} AS {query}"
            for name, query in views(catalog_schema).items()
        ),
    )


def views(catalog_schema: str) -> dict[str, str]:
    source = journal(catalog_schema).sql
    columns = {**DEPENDENCY_COLUMNS, "retention_seconds": "BIGINT"}
    with_retention = _typed(_newest(source, DEPENDENCIES), columns, array="rows")

    def at(name: str) -> str:
        return Relation.of(catalog_schema, name).sql

    return {
        "pgt_stream_tables": _typed(_newest(source, STREAM_TABLE), STREAM_TABLE_COLUMNS),
        "pgt_dependencies": _typed(_newest(source, DEPENDENCIES), DEPENDENCY_COLUMNS, array="rows"),
        "pgt_refresh_history": _typed(_newest(source, HISTORY), HISTORY_COLUMNS),
        "pgt_events": _typed(_each(source, EVENT), EVENT_COLUMNS),
        "pgt_meta": f"SELECT key, {NEWEST} AS value FROM {source} WHERE kind = {literal(META)} GROUP BY key",
        "pgt_change_tracking": capture_views.change_tracking(at("pgt_dependencies"), at("pgt_stream_tables")),
        "stream_tables_info": "SELECT *, "
        "unix_timestamp(current_timestamp()) - unix_timestamp(data_timestamp) AS staleness_seconds "
        f"FROM {at('pgt_stream_tables')}",
        "pg_stat_stream_tables": _statistics(at("pgt_stream_tables"), at("pgt_refresh_history")),
        "diamond_groups": _typed(_newest(source, DIAMOND), DIAMOND_COLUMNS),
        "cdc_health": capture_views.health(f"({with_retention})", at("pgt_stream_tables")),
    }


def _properties() -> str:
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in PROPERTIES.items())


def _newest(source: str, kind: str) -> str:
    """The newest entry of each key; a dropped stream table's newest has no payload."""
    return (
        f"SELECT payload FROM (SELECT {NEWEST} AS payload FROM {source} "
        f"WHERE kind = {literal(kind)} GROUP BY key) WHERE payload <> ''"
    )


def _each(source: str, kind: str) -> str:
    """Each entry once: an append whose answer was lost is sent again."""
    return f"SELECT payload FROM {source} WHERE kind = {literal(kind)} GROUP BY key, payload"


def _typed(query: str, columns: Mapping[str, str], array: str | None = None) -> str:
    row = ", ".join(f"{quote(name)} {kind}" for name, kind in columns.items())
    if array is None:
        parsed = f"SELECT from_json(payload, {literal(row)}) AS r FROM ({query})"
    else:
        shape = f"{array} ARRAY<STRUCT<{', '.join(f'{n}: {k}' for n, k in columns.items())}>>"
        parsed = f"SELECT explode(from_json(payload, {literal(shape)}).{array}) AS r FROM ({query})"
    return f"SELECT {', '.join(f'r.{quote(name)}' for name in columns)} FROM ({parsed})"


def _statistics(tables: str, history: str) -> str:
    seconds = "unix_millis(h.end_time) - unix_millis(h.start_time)"
    counts = ", ".join(
        f"count_if({condition}) AS {name}"
        for name, condition in (
            # A failed one has the action that was tried.
            *(
                (f"{action.lower()}_refreshes", f"h.action = {literal(action)} AND h.status <> 'FAILED'")
                for action in ("FULL", "DIFFERENTIAL", "NO_DATA")
            ),
            ("failures", "h.status = 'FAILED'"),
        )
    )
    return (
        f"SELECT t.pgt_id, t.pgt_schema, t.pgt_name, count(h.refresh_id) AS total_refreshes, {counts}, "
        "coalesce(sum(h.rows_inserted), 0) AS rows_inserted, coalesce(sum(h.rows_deleted), 0) AS rows_deleted, "
        f"avg({seconds}) AS avg_duration_ms, max({seconds}) AS max_duration_ms, max(h.end_time) AS last_refresh_at "
        f"FROM {tables} t LEFT JOIN {history} h ON h.pgt_id = t.pgt_id AND h.status <> 'RUNNING' "
        "GROUP BY t.pgt_id, t.pgt_schema, t.pgt_name"
    )
