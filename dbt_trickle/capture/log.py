"""The transaction log: where a window's commits only added files, exactly those files are read.

A file is read as plain parquet, behind Delta's back, so all that Delta does for a reader must be known not to
matter: values of partition columns (they are in the path, not in the file), mapped names, deletion vectors,
columns added later, padding of CHAR. Whatever is not known to be the same has a reason here, and the
difference is read instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from dbt_trickle.capture.base import Appended, LogFacts, Unlogged, Window, netted, weighted
from dbt_trickle.capture.types import same
from dbt_trickle.formats import delta
from dbt_trickle.names import quote

MAX_FILES = 16  # each is a relation of its own in the query
MAX_COMMITS = 64
# Spark takes a path for a pattern. Of these signs none means anything in one, in a URL or in quotes.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_./:=@+-]+")
# Files of other writers may have other types, or lack columns.
_WRITER = "Apache-Spark/"
_FOOTER = re.compile(r"(char|varchar)\(", re.IGNORECASE)
_ACTIONS = (
    "add STRUCT<path: STRING, size: BIGINT, dataChange: BOOLEAN, deletionVector: STRUCT<storageType: STRING>>, "
    "remove STRUCT<path: STRING, dataChange: BOOLEAN>, metaData STRUCT<id: STRING>, "
    "protocol STRUCT<minReaderVersion: INT>, commitInfo STRUCT<operation: STRING>"
)
_COMMIT, _ADD, _REMOVE, _DEFINITION = "commit", "add", "remove", "definition"


@dataclass(frozen=True)
class Log:
    appended: Appended

    def changes(self, window: Window) -> str:
        if not self.appended.files:
            nothing = delta.at_version(window.relation.sql, window.new)
            return netted(window, weighted(window, nothing, "1L", condition="false"))
        # Not one path with a pattern of all: of a pattern, a file that is gone is passed over without an error.
        return netted(window, "\nUNION ALL\n".join(weighted(window, _parquet(f), "1L") for f in self.appended.files))


def obstacle(facts: LogFacts, location: str, partitions: Sequence[str]) -> str | None:
    """What is known before the log is read, and makes it useless."""
    window = facts.window
    if len(facts.commits) > MAX_COMMITS:
        return f"more than {MAX_COMMITS} commits"
    if not _PLAIN_PATH.fullmatch(location):
        return "the path of the table has signs that are not plain"
    if facts.properties.get("delta.columnMapping.mode", "none").lower() != "none":
        return "its columns are mapped to other names in its files"
    if foreign := next((c for c in facts.commits if not c.engine.startswith(_WRITER)), None):
        return f"version {foreign.version} was written by {foreign.engine or 'an unknown writer'}"
    read = {name.lower() for name in window.names}
    if used := next((p for p in partitions if p.lower() in read), None):
        return f"column {used} is in the paths of its files"
    if padded := next((name for name, text in window.columns if _FOOTER.search(text)), None):
        return f"column {padded} is of a type with a length"
    return None


def actions(window: Window, location: str) -> str:
    """What the window's commits did to rows, one row each, in scalars: servers send structs as text.

    The schema is given, not inferred, and a line that does not follow it is an error.
    """
    paths = quote(f"{location}/_delta_log/{{{','.join(_log_files(window))}}}")
    kind = (
        f"CASE WHEN a.commitInfo IS NOT NULL THEN '{_COMMIT}' "
        f"WHEN a.metaData IS NOT NULL OR a.protocol IS NOT NULL THEN '{_DEFINITION}' "
        f"WHEN a.add IS NOT NULL AND coalesce(a.add.dataChange, true) THEN '{_ADD}' "
        f"WHEN a.remove IS NOT NULL AND coalesce(a.remove.dataChange, true) THEN '{_REMOVE}' END"
    )
    return (
        "SELECT * FROM (\n"
        f"SELECT file, {kind} AS kind, a.add.path AS path, a.add.size AS size, "
        "a.add.deletionVector IS NOT NULL AS has_vector\n"
        "FROM (SELECT _metadata.file_name AS file, "
        f"from_json(value, '{_ACTIONS}', map('mode', 'FAILFAST')) AS a FROM text.{paths})\n"
        # Of each kind the first ones are enough, and a commit has only one of the others.
        f") WHERE kind IS NOT NULL ORDER BY kind = '{_ADD}' LIMIT {3 * MAX_COMMITS + MAX_FILES + 1}"
    )


def appended(window: Window, location: str, rows: Sequence[Mapping[str, Any]]) -> Appended | Unlogged:
    """The files that hold the window's rows, or why they are not all there is to it."""
    kinds = {row["kind"] for row in rows}
    if _DEFINITION in kinds:
        return Unlogged("its schema, properties or protocol changed")
    if _REMOVE in kinds:
        return Unlogged("a file was removed")
    # A file of the log that is gone is passed over without an error, too.
    if {row["file"] for row in rows if row["kind"] == _COMMIT} != set(_log_files(window)):
        return Unlogged("its transaction log is not complete")
    adds = [row for row in rows if row["kind"] == _ADD]
    if len(adds) > MAX_FILES:
        return Unlogged(f"more than {MAX_FILES} files were added")
    if any(row["has_vector"] for row in adds):
        return Unlogged("a file came with a deletion vector")
    paths = [unquote(str(row["path"])) for row in adds]
    # An absolute one is of a clone: its file belongs to another table.
    if not all(_PLAIN_PATH.fullmatch(path) and ":" not in path and path[0] != "/" for path in paths):
        return Unlogged("a file's path is not plain")
    return Appended(tuple(f"{location}/{path}" for path in paths), sum(int(row["size"]) for row in adds))


def schema(found: Appended) -> str:
    """One file's is every file's: one version of Spark wrote them, for one schema of the table."""
    return f"DESCRIBE QUERY SELECT * FROM {_parquet(found.files[0])}"


def as_written(window: Window, found: Appended, written: Sequence[tuple[str, str]]) -> Appended | Unlogged:
    """The files, if they have the window's columns in the very types of the table."""
    types = {name.lower(): text for name, text in written}
    for name, text in window.columns:
        if not same(types.get(name.lower(), "absent"), text):
            return Unlogged(f"column {name} is {types.get(name.lower(), 'absent')} in its files")
    return found


def _log_files(window: Window) -> list[str]:
    return [f"{version:020d}.json" for version in range(window.old + 1, window.new + 1)]


def _parquet(file: str) -> str:
    return f"parquet.{quote(file)}"
