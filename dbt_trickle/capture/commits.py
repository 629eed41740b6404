"""What each commit of a table's history can have done, judged by what DESCRIBE HISTORY says of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from dbt_trickle.capture.base import CommitFacts, Effect
from dbt_trickle.capture.table import FEED_PROPERTY
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Marker

# CHANGE COLUMN can widen a type: no row moved, but `typeof(x)` or an overflow in the query comes out otherwise.
_NOTHING = delta.NO_CHANGE - {"CHANGE COLUMN", "CHANGE COLUMNS"}
# Operations from Delta's DeltaOperations whose effect does not hang on their parameters.
_EFFECTS = {
    **dict.fromkeys(_NOTHING, Effect.NOTHING),
    **dict.fromkeys(("DELETE", "UPDATE", "TRUNCATE"), Effect.ROWS),
    **dict.fromkeys(("ADD COLUMNS", "CHANGE COLUMN", "CHANGE COLUMNS", "UPDATE SCHEMA"), Effect.SCHEMA),
    **dict.fromkeys(("RENAME COLUMN", "DROP COLUMNS", "REPLACE COLUMNS"), Effect.RENAME),
    **dict.fromkeys(
        ("CREATE TABLE", "CREATE TABLE AS SELECT", "REPLACE TABLE", "REPLACE TABLE AS SELECT",
         "CREATE OR REPLACE TABLE", "CREATE OR REPLACE TABLE AS SELECT", "CLONE", "CONVERT"),
        Effect.REPLACE,
    ),
    "RESTORE": Effect.RESTORE,
    "COPY INTO": Effect.APPEND,
}  # fmt: skip
_WRITTEN = ("numOutputBytes", "numTargetBytesAdded", "numAddedBytes")
_REPLACED = ("numOutputRows", "numCopiedRows", "numDeletedRows")
_MERGED = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


def nothing_changed(commits: Iterable[CommitFacts]) -> bool:
    """Whether no row moved, by the operations alone. Of what is not known, anything must be supposed."""
    return all(commit.effect is Effect.NOTHING for commit in commits)


def replaced_at(commits: Iterable[CommitFacts]) -> str | None:
    """When files of the version before these commits may have gone out of use; a VACUUM itself puts none out of it."""
    return next((c.committed_at for c in commits if not c.operation.startswith("VACUUM")), None)


def commit_facts(row: Mapping[str, Any]) -> CommitFacts:
    operation = str(row["operation"])
    parameters = _map(row.get("operationParameters"))
    metrics = _map(row.get("operationMetrics"))
    committed_at = delta.instant(row["timestamp"])
    effect = _effect(operation, parameters, metrics)
    ours = Marker.from_json(row.get("userMetadata"))
    moved = sum(ours.moved) if ours is not None and ours.moved is not None else None
    return CommitFacts(
        version=int(row["version"]),
        committed_at=committed_at,
        operation=operation,
        effect=effect,
        # A stream table's refresh may know better than its statement: that counts rows that were only put back, too.
        rows=_rows(operation, effect, metrics) if moved is None else moved,
        feed=_feed(operation, parameters),
        removes_files_older_than=_vacuumed(operation, parameters, metrics, committed_at),
        engine=str(row.get("engineInfo") or ""),
        size=next((int(metrics[name]) for name in _WRITTEN if name in metrics), 0),
        others=ours is not None and ours.others,
        staged=ours.staged if ours is not None else None,
    )


def _effect(operation: str, parameters: Mapping[str, Any], metrics: Mapping[str, Any]) -> Effect:
    match operation:
        case "WRITE":
            return Effect.APPEND if parameters.get("mode") == "Append" else Effect.ROWS
        case "STREAMING UPDATE":
            return Effect.APPEND if parameters.get("outputMode") == "Append" else Effect.ROWS
        case "MERGE":
            inserts_only = all(metrics.get(name) == "0" for name in _MERGED[1:])
            return Effect.APPEND if inserts_only else Effect.ROWS
        case _:
            return _EFFECTS.get(operation, Effect.UNKNOWN)


def _rows(operation: str, effect: Effect, metrics: Mapping[str, Any]) -> int | None:
    match operation:
        case "DELETE" | "TRUNCATE":
            names: Sequence[str] = ("numDeletedRows",)
        case "UPDATE":
            names = ("numUpdatedRows",)
        case "MERGE":
            names = _MERGED
        case _ if effect is Effect.APPEND:
            names = ("numOutputRows",)
        case "WRITE" if all(name in metrics for name in _REPLACED):
            # INSERT … REPLACE WHERE, of rows: what only got into another file counts as written, too.
            written, copied, deleted = (int(metrics[name]) for name in _REPLACED)
            return written - copied + deleted
        case _ if effect is Effect.SCHEMA:
            names = ()
        case _:  # an overwrite does not say how many rows went
            return None
    counts = [metrics.get(name) for name in names]
    return None if any(count is None for count in counts) else sum(int(count or 0) for count in counts)


def _feed(operation: str, parameters: Mapping[str, Any]) -> bool | None:
    """What became of the change feed. To unset it is to switch it off."""
    properties = _parsed(parameters.get("properties"))
    if isinstance(properties, Mapping):
        value = {str(key).lower(): value for key, value in properties.items()}.get(FEED_PROPERTY.lower())
        return None if value is None else str(value).lower() == "true"
    unset = operation == "UNSET TBLPROPERTIES" and isinstance(properties, list)
    return False if unset and FEED_PROPERTY.lower() in (str(key).lower() for key in properties) else None


def _vacuumed(
    operation: str, parameters: Mapping[str, Any], metrics: Mapping[str, Any], committed_at: str
) -> str | None:
    """When the files that a VACUUM takes must have gone out of use. Its retention is told in milliseconds."""
    if operation != "VACUUM START" or metrics.get("numFilesToDelete") == "0":
        return None
    retention = parameters.get("specifiedRetentionMillis") or parameters.get("defaultRetentionMillis")
    kept = timedelta(milliseconds=int(retention)) if retention is not None else timedelta()
    return delta.instant(datetime.fromisoformat(committed_at) - kept)


def _map(value: Any) -> Mapping[str, Any]:
    """A thrift server sends maps as JSON."""
    found = _parsed(value)
    return found if isinstance(found, Mapping) else {}


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None
