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


MISSING = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
    "DELTA_TABLE_NOT_FOUND",
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


def is_a_view(problem: WarehouseError) -> bool:
    return "EXPECT_TABLE_NOT_VIEW" in problem.what


def is_not_versioned(problem: WarehouseError) -> bool:
    return "DELTA_TABLE_ONLY_OPERATION" in problem.what or "DELTA_ONLY_OPERATION" in problem.what
