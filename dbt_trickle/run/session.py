"""The seam to the warehouse: all that the engine asks of a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from dbt_trickle.errors import EnvironmentProblem, TrickleError, WarehouseError
from dbt_trickle.names import setting
from dbt_trickle.tree.fingerprint import has_meaning


class Session(Protocol):
    def execute(self, sql: str) -> None:
        """Runs a statement; raises WarehouseError with what a person can act on.

        TRK-301 is what the server answered. TRK-306 is no answer: the next statement is sent over a new
        connection, which knows none of the old one's settings.
        """

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """Runs a query and fetches its (few) rows."""


# With these a file that is missing or broken is passed over, and its rows with it.
_PASSED_OVER = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")


@contextmanager
def own_settings(session: Session) -> Iterator[Callable[[Mapping[str, str]], None]]:
    """Settings for a while: each is as it was before, whatever happens."""
    before: dict[str, str | None] = {}

    def use(settings: Mapping[str, str]) -> None:
        # Those that somebody has set: what is only the default is not to be set to it either.
        given = {str(row["key"]): str(row["value"]) for row in session.query("SET")}
        for key, value in settings.items():
            before.setdefault(key, given.get(key))
            session.execute(setting(key, value))

    try:
        yield use
    finally:
        with suppress(WarehouseError):  # a lost connection has lost them as well, and its error is to be told
            for key, was in before.items():
                session.execute(f"RESET {key}" if was is None else setting(key, was))


def meaning(session: Session) -> Mapping[str, str]:
    """The session's settings that belong to a definition (tree/fingerprint.py)."""
    asked = {str(row["key"]): str(row["value"]) for row in session.query("SET")}
    if lenient := next((key for key in _PASSED_OVER if asked.get(key, "").lower() == "true"), None):
        raise EnvironmentProblem(
            "TRK-413",
            f"{lenient} is true: rows of files that are missing would be left out without a word",
            remedy="Take it out of the profile's `server_side_parameters`, or of the server's settings.",
        )
    zone = session.query("SELECT current_timezone() AS zone")[0]["zone"]
    return {
        **{key: value for key, value in asked.items() if has_meaning(key)},
        "spark.sql.ansi.enabled": asked.get("spark.sql.ansi.enabled", "true").lower(),
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
    "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS",
    "DELTA_TABLE_ALREADY_EXISTS",
    # Its log has no commit yet: the other one is just creating it.
    "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION",
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


def is_conflict(problem: TrickleError) -> bool:
    """Somebody else was faster; what they did is there now, so that looking again helps."""
    return problem.code == "TRK-303" or any(word in problem.what for word in CONFLICTS)


def is_lost(problem: TrickleError) -> bool:
    """The server is away, or was. Whether it has done what it was asked last, its answer does not tell any more."""
    return problem.code == "TRK-306"


# What the databases below a Hive metastore say of a lock that was not to be had in time: Derby, MySQL, PostgreSQL;
# and the client of a metastore that takes no connection.
BUSY = (
    "A lock could not be obtained",
    "Lock wait timeout exceeded",
    "Deadlock found when trying to get lock",
    "deadlock detected",
    "could not serialize access",
    "Could not connect to meta store",
    "Error communicating with the metastore",
)


def is_busy(problem: TrickleError) -> bool:
    return any(word in problem.what for word in BUSY)


# A storage, or a source's feed, has not the columns that a statement was made for.
OTHER_COLUMNS = (
    "DELTA_METADATA_MISMATCH",
    "DELTA_FAILED_TO_MERGE_FIELDS",
    "DELTA_MERGE_INCOMPATIBLE_DATATYPE",
    "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION",
    "DELTA_SCHEMA_NOT_CONSISTENT_WITH_TARGET",
    "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE",
    "INCOMPATIBLE_DATA_FOR_TABLE",
    "INSERT_COLUMN_ARITY_MISMATCH",
)


def is_about_columns(problem: TrickleError) -> bool:
    """To bring in changes would fail again; to load anew would not."""
    return isinstance(problem, WarehouseError) and any(word in problem.what for word in OTHER_COLUMNS)


# What Spark and Delta say when a version's files, or its log, have been removed.
VACUUMED = (
    "FILE_NOT_EXIST",
    "DELTA_FILE_NOT_FOUND",
    "DELTA_CHANGE_DATA_FILE_NOT_FOUND",
    "DELTA_VERSION_NOT_FOUND",
    "DELTA_NO_RECREATABLE_HISTORY",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND",
    "FileNotFoundException",
)


def is_vacuumed(problem: WarehouseError) -> bool:
    return any(word in problem.what for word in VACUUMED)


# Delta refuses a version by its age alone (docs/decisions.md), also where all its files are there. Where they are
# not, reading them fails: nothing is ever left out.
_TOO_OLD = "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND"
_ENFORCED = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"


def passes(problem: WarehouseError) -> bool:
    """Whether it says nothing of the statement: the same one may succeed a moment later."""
    return is_lost(problem) or is_busy(problem)


def is_too_old(problem: WarehouseError) -> bool:
    return _TOO_OLD in problem.what


def read_old_versions(session: Session) -> bool:
    """From now on in this session; false where the server does not take such a setting."""
    try:
        session.execute(setting(_ENFORCED, "false"))
    except WarehouseError:
        return False
    return True


def is_a_view(problem: WarehouseError) -> bool:
    return "EXPECT_TABLE_NOT_VIEW" in problem.what


def is_not_versioned(problem: WarehouseError) -> bool:
    return "DELTA_TABLE_ONLY_OPERATION" in problem.what or "DELTA_ONLY_OPERATION" in problem.what
