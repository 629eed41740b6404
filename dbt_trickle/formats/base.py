"""What a table format must offer: a version to read at, and commits that carry our marker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dbt_trickle.names import Relation, key_of

# What has no rows of its own: its text stands for a version.
VIEW, FUNCTION = "VIEW", "FUNCTION"


@dataclass(frozen=True)
class SourceVersion:
    """One state of one source: what a frontier is made of."""

    key: str
    kind: str  # TABLE, STREAM_TABLE or VIEW: `source_type` of the catalog; or FUNCTION
    relation: str
    table_id: str
    version: int
    committed_at: str  # tells a re-created table that happens to be at the same version
    # A later commit that changed no row, where there was one: an OPTIMIZE has put the rows into other files, and
    # a VACUUM takes the older ones away. So it is read there, and compared by the commit that changed rows.
    seen_version: int = -1
    seen_at: str = ""

    @property
    def is_text(self) -> bool:
        return self.kind in (VIEW, FUNCTION)

    @property
    def read_version(self) -> int:
        return max(self.version, self.seen_version)

    @property
    def read_at(self) -> str:
        """When the version that is read was committed."""
        return self.seen_at if self.seen_version > self.version else self.committed_at

    @property
    def table(self) -> Relation:
        """What holds its rows: of a stream table its storage, which is what its id names."""
        return Relation.parse(self.table_id if self.kind == "STREAM_TABLE" else self.relation)

    def same_state(self, other: SourceVersion | None) -> bool:
        return other is not None and (self.table_id, self.version, self.committed_at) == (
            other.table_id,
            other.version,
            other.committed_at,
        )


Frontier = dict[str, SourceVersion]


def frontier_json(frontier: Mapping[str, SourceVersion]) -> dict[str, Any]:
    return {key: asdict(version) for key, version in sorted(frontier.items())}


def frontier_from(stored: Mapping[str, Mapping[str, Any]] | None) -> Frontier:
    """Once, keys of paths had lost their case. What they are of says `relation`, so that no state passes for that of
    another path; a source that had lost its own is read for the first time again.
    """
    frontier = {}
    for key, value in (stored or {}).items():
        version = SourceVersion(**value)
        if key == version.relation.lower():
            version = replace(version, key=key_of(version.relation))
            frontier[version.key] = version
        else:
            frontier[key] = version
    return frontier


def packed(origins: Mapping[str, SourceVersion]) -> dict[str, list[Any]]:
    """There may be hundreds, and each commit has them: without what only matters where a version is read."""
    return {key: [v.kind, v.relation, v.table_id, v.version, v.committed_at] for key, v in sorted(origins.items())}


def unpacked(stored: Mapping[str, Sequence[Any]] | None) -> Frontier:
    return {key: SourceVersion(key, *values) for key, values in (stored or {}).items()}


@dataclass(frozen=True)
class Staged:
    """The changes of a commit, in a table beside the storage: the rows of this token, and so many of them.

    Each attempt has a token of its own. So whatever else is staged for the same batch (by a run that died, by one that
    lost a race, or by a server that completes a dead client's statement tomorrow) has another one, and is never read.
    """

    table: str
    token: str
    rows: int
    base: int  # the storage's version that they were worked out for: what somebody else wrote since is not in them


@dataclass(frozen=True)
class Marker:
    """What a commit of ours says of itself. The storage's history of these is the truth about its frontier."""

    pgt_id: int
    batch: int
    generation: int
    action: str
    reason: str
    fingerprint: str
    frontier: Mapping[str, SourceVersion]
    data_timestamp: str
    run: str
    rows_before: int
    definition: Mapping[str, Any] = field(default_factory=dict)
    work: str = "overwrite"  # overwrite, append, merge, bag or replace: how to read the commit's metrics
    moved: tuple[int, int] | None = None  # rows that come and go, where that was known before
    touched: int = 0  # ids of rows that may go, where they were asked for before
    others: bool = False  # most rows are others than before: to who reads it, all of them may as well be
    # Of the stream tables that it read: their versions, and those of all that these were computed from.
    origins: Mapping[str, SourceVersion] = field(default_factory=dict)
    staged: Staged | None = None  # where its changes were staged before

    @property
    def replaces(self) -> bool:
        """Whether nothing of what was stored before is left."""
        return self.work == "overwrite"

    def to_json(self) -> str:
        """In ASCII and without a dollar, which Spark would take for one of its variables."""
        payload = {**asdict(self), "frontier": frontier_json(self.frontier), "origins": packed(self.origins)}
        if self.staged is None:
            del payload["staged"]
        return json.dumps({"trickle": payload}, separators=(",", ":")).replace("$", "\\u0024")

    @classmethod
    def from_json(cls, text: str | None) -> Marker | None:
        """The marker in a commit's metadata, or none: other people's commits carry what they like."""
        if not text or '"trickle"' not in text:
            return None
        try:
            stored = json.loads(text)["trickle"]
            moved = {"moved": tuple(stored["moved"])} if stored.get("moved") else {}
            versions = {"frontier": frontier_from(stored["frontier"]), "origins": unpacked(stored.get("origins"))}
            staged = {"staged": Staged(**stored["staged"])} if stored.get("staged") else {}
            return cls(**{**stored, **versions, **moved, **staged})
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


@dataclass(frozen=True)
class Commit:
    """One entry of a table's history."""

    version: int
    committed_at: str
    operation: str
    marker: Marker | None
    metrics: Mapping[str, str]

    @property
    def rows_written(self) -> int:
        return int(self.metrics.get("numOutputRows", 0))

    def rows_replaced(self, touched: int) -> tuple[int, int]:
        """Rows that an INSERT … REPLACE WHERE brought and took; it also counts those that only got into other files.

        One that wrote nothing counts nothing: then all the groups that were touched went.
        """
        if "numOutputRows" not in self.metrics:
            return 0, touched
        copied, deleted = (int(self.metrics.get(key, 0)) for key in ("numCopiedRows", "numDeletedRows"))
        return self.rows_written - copied, deleted

    @property
    def rows_merged(self) -> tuple[int, int]:
        """Rows that a MERGE inserted and deleted; an updated row is one of each."""
        inserted, updated, deleted = (
            int(self.metrics.get(f"numTargetRows{what}", 0)) for what in ("Inserted", "Updated", "Deleted")
        )
        return inserted + updated, deleted + updated
