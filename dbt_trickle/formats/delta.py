"""Delta Lake: how its history is read, a version named, and a commit marked and guarded."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from dbt_trickle.formats.base import Commit, Marker, SourceVersion
from dbt_trickle.names import Relation, literal, quote, setting, transaction_app

METADATA = "spark.databricks.delta.commitInfo.userMetadata"
APP = "spark.databricks.delta.write.txnAppId"
BATCH = "spark.databricks.delta.write.txnVersion"
# When this is dynamic (dbt-spark's insert_overwrite sets it and leaves it so), INSERT OVERWRITE keeps the
# partitions that the query has no rows for; INSERT … REPLACE WHERE true does, too (docs/decisions.md).
OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"

_PLAIN_PATH = re.compile(r"[A-Za-z0-9_./:@=+ -]+")

# Operations that leave the rows as they are: comments, properties, layout. From Delta's DeltaOperations. Not FSCK: the
# files that it finds missing are taken out of the table, with their rows.
NO_CHANGE = frozenset(
    (
        "SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "CHANGE COLUMN", "CHANGE COLUMNS", "ADD CONSTRAINT",
        "DROP CONSTRAINT", "OPTIMIZE", "REORG", "VACUUM START", "VACUUM END", "COMPUTE STATS", "CLUSTER BY",
        "UPGRADE PROTOCOL",
    )
)  # fmt: skip


def newest_change(commits: Sequence[Commit]) -> Commit:
    """The newest commit that may have changed rows; of a long run of others, the newest of all."""
    return next((c for c in commits if c.operation not in NO_CHANGE), commits[0])


def at_version(relation_sql: str, version: int) -> str:
    return f"{relation_sql} VERSION AS OF {version}"


def tables(frontier: Mapping[str, SourceVersion]) -> dict[str, SourceVersion]:
    """The sources that have rows of their own: a view is its text, over tables that are there as well."""
    return {key: version for key, version in frontier.items() if not version.is_text}


def read_at(version: SourceVersion) -> str:
    """The FROM text of a source in that state."""
    return at_version(version.table.sql, version.read_version)


def history(relation: Relation, limit: int) -> str:
    return f"DESCRIBE HISTORY {relation.sql} LIMIT {limit}"


def detail(relation: Relation) -> str:
    return f"DESCRIBE DETAIL {relation.sql}"


def commit_file(table_path: str, version: int) -> str:
    return f"{table_path}/_delta_log/{version:020d}.json"


def files_there(folder: str, paths: Sequence[str]) -> str:
    """Which of these files below the folder there are, and their times, out of one listing."""
    names = ",".join(path[len(folder) + 1 :] for path in paths)
    return f"SELECT path, modificationTime FROM binaryFile.{quote(f'{folder}/{{{names}}}')}"


def can_be_listed(path: str) -> bool:
    """Whether a pattern can name this path: braces, stars and the like would mean something else in it."""
    return _PLAIN_PATH.fullmatch(path) is not None


def nested(value: Any) -> Any:
    """A map or an array of an answer: a thrift server sends them as JSON."""
    return json.loads(value) if isinstance(value, str) else value


def commit_of(row: Mapping[str, Any]) -> Commit:
    return Commit(
        version=int(row["version"]),
        committed_at=instant(row["timestamp"]),
        operation=str(row["operation"]),
        marker=Marker.from_json(row.get("userMetadata")),
        metrics=dict(nested(row.get("operationMetrics")) or {}),
    )


def instant(value: datetime | str) -> str:
    """One spelling of a commit's time, whichever connection told it: UTC, to the millisecond."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    moment = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds")


def marked(marker: Marker) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Statements before and after a commit: what it says of itself, and the guard of its batch.

    The transaction version makes a repeat of the batch do nothing, and of two racing ones let one
    win. It would silently skip any other statement with the same version too: hence the resets.
    """
    before = (
        setting(METADATA, marker.to_json()),
        setting(APP, transaction_app(marker.pgt_id)),
        setting(BATCH, str(marker.batch)),
    )
    return before, tuple(f"RESET {key}" for key in (METADATA, APP, BATCH))


def overwrite_mode(mode: str) -> str:
    return setting(OVERWRITE_MODE, mode)


def table_as(
    relation: Relation,
    query: str,
    *,
    columns: Sequence[tuple[str, str]],
    properties: Mapping[str, str],
    partition_by: Sequence[str] = (),
    cluster_by: Sequence[str] = (),
    location: str | None = None,
) -> str:
    """One commit: a new table, or all of an old one replaced. Columns: (name in the table, name in the query)."""
    clauses = [f"CREATE OR REPLACE TABLE {relation.sql}", "USING delta"]
    if partition_by:
        clauses.append(f"PARTITIONED BY ({', '.join(map(quote, partition_by))})")
    if cluster_by:
        clauses.append(f"CLUSTER BY ({', '.join(map(quote, cluster_by))})")
    if location:
        clauses.append(f"LOCATION {literal(location)}")
    if properties:
        rows = ", ".join(f"{literal(k)} = {literal(v)}" for k, v in sorted(properties.items()))
        clauses.append(f"TBLPROPERTIES ({rows})")
    return "\n".join(clauses) + "\nAS " + named(query, columns)


def overwrite(relation: Relation, query: str, columns: Sequence[tuple[str, str]]) -> str:
    return f"INSERT OVERWRITE {relation.sql}\n" + named(query, columns)


def cluster_by(relation: Relation, columns: Sequence[str]) -> str:
    return f"ALTER TABLE {relation.sql} CLUSTER BY ({', '.join(map(quote, columns))})"


def named(query: str, columns: Sequence[tuple[str, str]]) -> str:
    """The user's text as a subquery whose columns get the storage's names, by position.

    The line break keeps a comment on the query's last line from swallowing the parenthesis.
    """
    names = ", ".join(quote(name) for name, _ in columns)
    return f"SELECT * FROM (\n{query}\n) AS {quote('__pgt_query')} ({names})"
