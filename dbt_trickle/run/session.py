"""The seam to the warehouse: all that the engine asks of a connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from dbt_trickle.errors import WarehouseError


class Session(Protocol):
    def execute(self, sql: str) -> None:
        """Runs a statement; raises WarehouseError (TRK-301) with what a person can act on."""

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """Runs a query and fetches its (few) rows."""


def meaning(session: Session) -> Mapping[str, str]:
    """The session's settings that belong to a definition (tree/fingerprint.py)."""
    ansi = session.query("SET spark.sql.ansi.enabled")[0]["value"]
    zone = session.query("SELECT current_timezone() AS zone")[0]["zone"]
    return {
        "spark.sql.ansi.enabled": "true" if ansi == "<undefined>" else str(ansi).lower(),
        "spark.sql.session.timeZone": str(zone),
    }


MISSING = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_PATH_DOES_NOT_EXIST",  # its folder was deleted by hand
    "NoSuchTable",
    "PATH_NOT_FOUND",
)


def is_missing(problem: WarehouseError) -> bool:
    return any(word in problem.what for word in MISSING)


CONFLICTS = (
    "DELTA_CONCURRENT",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
    "DELTA_TABLE_ALREADY_EXISTS",
    "TABLE_OR_VIEW_ALREADY_EXISTS",
    "SCHEMA_ALREADY_EXISTS",
    # Each run creates in a folder of its own (location_root): of two, the later one finds a table somewhere else.
    "DELTA_TABLE_LOCATION_MISMATCH",
    "ConcurrentTransactionException",
    "ConcurrentAppendException",
    "ConcurrentDeleteReadException",
    "ConcurrentWriteException",
    "MetadataChangedException",
    "ProtocolChangedException",
)


def is_conflict(problem: WarehouseError) -> bool:
    """Somebody else was faster; what they did is there now, so that looking again helps."""
    return problem.code == "TRK-303" or any(word in problem.what for word in CONFLICTS)


# What Spark and Delta say when a version's files, or its log, have been removed.
VACUUMED = (
    "FILE_NOT_EXIST",
    "DELTA_FILE_NOT_FOUND",
    "DELTA_VERSION_NOT_FOUND",
    "DELTA_NO_RECREATABLE_HISTORY",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND",
    "FileNotFoundException",
)


def is_vacuumed(problem: WarehouseError) -> bool:
    return any(word in problem.what for word in VACUUMED)


def is_a_view(problem: WarehouseError) -> bool:
    return "EXPECT_TABLE_NOT_VIEW" in problem.what


def is_not_versioned(problem: WarehouseError) -> bool:
    return "DELTA_TABLE_ONLY_OPERATION" in problem.what or "DELTA_ONLY_OPERATION" in problem.what
