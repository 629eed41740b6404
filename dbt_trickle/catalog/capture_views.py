"""The catalog's views of how sources are captured.

How far a consumer is, its frontier says: every run moves that, also one that has nothing to write of its sources.
Consumers may stand on different tables of one name (it was dropped and made anew, or replaced), whose versions cannot
be compared: the slowest is who has the oldest commit.
"""

from __future__ import annotations

# What a source's consumers need of it, the most demanding first: while one of them reads the change feed, the
# source is captured by it, and nobody may switch it off.
_NEEDS = "element_at(map('TRIGGER', 3, 'TRANSITIONING', 2, 'WAL', 1, 'NONE', 0), d.cdc_mode)"


def change_tracking(dependencies: str, stream_tables: str) -> str:
    """One row for each source: all that read it, and how far the slowest of them is."""
    return (
        "SELECT min(d.source) AS source, "
        "coalesce(min_by(c.table_id, c.committed_at), max(d.source_table_id)) AS source_table_id, "
        f"max_by(d.cdc_mode, {_NEEDS}) AS cdc_mode, "
        "coalesce(min_by(c.version, c.committed_at), min(d.confirmed_version)) AS last_consumed_version, "
        "sort_array(collect_set(d.pgt_id)) AS tracked_by_pgt_ids "
        f"FROM {dependencies} d {_consumed(stream_tables)} GROUP BY {_key('d.source')}"
    )


def health(dependencies: str, stream_tables: str) -> str:
    """The same with the lag, as far as runs have seen: what the source has had since, `trickle health` asks it."""
    at = "to_timestamp(c.committed_at)"
    oldest, newest = "min_by(c.version, c.committed_at)", "max_by(c.version, c.committed_at)"
    other = "min(c.table_id) <> max(c.table_id)"
    return (
        "SELECT min(d.source) AS source, min(d.source_type) AS source_type, "
        f"max_by(d.cdc_mode, {_NEEDS}) AS cdc_mode, max_by(d.cdc_reason, {_NEEDS}) AS cdc_reason, "
        "sort_array(collect_set(concat(t.pgt_schema, '.', t.pgt_name))) AS consumers, "
        "min_by(concat(t.pgt_schema, '.', t.pgt_name), c.committed_at) AS slowest_consumer, "
        f"{oldest} AS confirmed_version, {newest} AS newest_version, "
        f"CASE WHEN {other} THEN NULL ELSE greatest(0, {newest} - {oldest}) END AS lag_versions, "
        f"unix_timestamp(max({at})) - unix_timestamp(min({at})) AS lag_seconds, "
        f"CASE WHEN {other} THEN NULL WHEN {newest} > {oldest} "
        f"THEN min({at} + make_dt_interval(0, 0, 0, d.retention_seconds)) END AS readable_until "
        f"FROM {dependencies} d JOIN {stream_tables} t ON t.pgt_id = d.pgt_id {_consumed(stream_tables)} "
        f"WHERE d.source_type <> 'VIEW' GROUP BY {_key('d.source')}"
    )


def _consumed(stream_tables: str) -> str:
    return (
        "LEFT JOIN (SELECT pgt_id, f.relation, f.table_id, f.version, f.committed_at FROM "
        f"(SELECT pgt_id, explode(map_values(frontier)) AS f FROM {stream_tables}) WHERE f.kind <> 'VIEW') c "
        f"ON c.pgt_id = d.pgt_id AND {_key('c.relation')} = {_key('d.source')}"
    )


def _key(source: str) -> str:
    """As names.Relation.key has it: a path has case, a name has none."""
    by_path = f"concat(lower(substring_index({source}, '.', 1)), substr({source}, instr({source}, '.')))"
    return f"CASE WHEN instr({source}, '/') > 0 THEN {by_path} ELSE lower({source}) END"
