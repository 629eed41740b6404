"""What the catalog knows of a stream table, as frozen facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from dbt_trickle.formats.base import Frontier, SourceVersion, frontier_from, frontier_json, packed, unpacked
from dbt_trickle.names import Relation

INITIALIZING, ACTIVE, SUSPENDED, ERROR = "INITIALIZING", "ACTIVE", "SUSPENDED", "ERROR"


@dataclass(frozen=True)
class Column:
    """An output column: its public name and type, and the name that the storage has for it."""

    name: str
    type: str
    stored: str


@dataclass(frozen=True)
class Unversioned:
    """Why a state of what a query reads cannot be named."""

    reason: str
    relation: str = ""  # the source that it is about; none: it is about the query itself

    def __str__(self) -> str:
        return self.reason

    @classmethod
    def from_row(cls, row: str | Mapping[str, str]) -> Unversioned:
        """Once, only the reason was stored: it says itself which relation it is about, but not to a program."""
        return cls(row) if isinstance(row, str) else cls(**row)


@dataclass(frozen=True)
class Experience:
    """What differential refreshes took, so that plan/cost.py can choose."""

    measured: tuple[tuple[int, int], ...] = ()  # of the last ones: ms, and rows touched in sources
    fulls_chosen: int = 0  # full refreshes since then that were chosen although the other was possible
    patience: int = 0  # after how many of them a differential one is tried

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Experience:
        return cls(**{**row, "measured": tuple((int(ms), int(rows)) for ms, rows in row["measured"])})


@dataclass(frozen=True)
class ForeignWrite:
    """A commit to a storage that may have changed rows, and is none of ours."""

    operation: str
    version: int


@dataclass(frozen=True)
class Buffer:
    """A stream table's change feed is on, and a view shows it from a version of the storage on; or its refreshes stage
    their changes in a table, and the view shows that.
    """

    storage: str
    generation: int  # of the stream table: with `expose: table` all have one storage, and other columns
    since: int
    later: int  # the version from which on it shows when it was moved
    moved_at: str
    table: str = ""  # in which changes are staged; none: the feed has them
    left: tuple[int, ...] = ()  # generations whose tables of that kind wait for their last readers


@dataclass(frozen=True)
class HeldBack:
    """What readers are shown of a stream table until all of its diamond have come (plan/atomic.py)."""

    storage: str
    version: int
    columns: tuple[Column, ...]
    data_timestamp: str | None
    since: str

    @property
    def relation(self) -> Relation:
        return Relation(tuple(self.storage.split(".", 1)))

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> HeldBack:
        return cls(**{**row, "columns": tuple(Column(**c) for c in row["columns"])})


@dataclass(frozen=True)
class StreamTable:
    """A row of pgt_stream_tables; the names are the catalog's columns (design, §11)."""

    pgt_id: int
    pgt_schema: str
    pgt_name: str
    dbt_unique_id: str
    storage_relation: str = ""
    generation: int = 0
    defining_query: str = ""
    original_query: str = ""
    fingerprint: str = ""
    functions_used: tuple[str, ...] = ()
    schedule: str | None = None
    refresh_mode: str = "auto"
    status: str = INITIALIZING
    is_populated: bool = False
    data_timestamp: str | None = None
    frontier: Frontier = field(default_factory=dict)
    batch: int = 0
    last_refresh_at: str | None = None
    consecutive_errors: int = 0
    last_error: str | None = None
    needs_reinit: bool = False
    reinit_reason: str | None = None
    auto_threshold: float | None = None
    last_full_ms: int | None = None
    last_diff_ms: int | None = None
    topk_limit: int | None = None
    topk_order_by: str | None = None
    topk_offset: int | None = None
    diamond_consistency: str = "none"
    diamond_schedule_policy: str = "fastest"
    scc_id: int | None = None
    diamond_group: str | None = None
    epoch: int | None = None
    created_at: str | None = None
    updated_at: str | None = None
    # Beyond the published columns: what the next run needs to decide without asking the warehouse.
    project: str = ""
    dbt_target: str = ""  # as run/request.py writes it; none: it was last refreshed before that was recorded
    change_buffer: str = "feed"  # as the model has it
    expose: str = "view"
    layout: str = ""
    docs: str = ""
    columns: tuple[Column, ...] = ()
    rows: int = 0
    origins: Frontier = field(default_factory=dict)  # see Marker
    storage_version: int = -1
    storage_at: str = ""  # when that was committed
    storage_path: str = ""
    seen_version: int = -1  # the storage's newest commit when it was last known that nobody else had written
    seen_at: str = ""
    foreign_version: int = -1  # the newest write of somebody else that an event has told of
    hidden_write: ForeignWrite | None = None  # one below a commit of ours that was made without knowing of it
    unversioned: tuple[Unversioned, ...] = ()
    meaning: Mapping[str, str] = field(default_factory=dict)  # settings that the query has its meaning under
    views: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # texts of those that it reads (run/views.py)
    last_action: str = ""  # of the newest refresh that changed the rows
    suspended_by: str | None = None  # USER or ERRORS
    engine: Mapping[str, Any] = field(default_factory=dict)  # how it is maintained: run/understand.py
    told: Experience = Experience()  # with changes whose sources' histories tell how many rows they touched
    untold: Experience = Experience()  # and with those that they do not tell of
    retired: tuple[tuple[int, str], ...] = ()  # (generation, when its last reader may have opened it)
    buffer: Buffer | None = None  # for as long as other stream tables read it
    held_back: HeldBack | None = None

    @property
    def public(self) -> Relation:
        return Relation.of(self.pgt_schema, self.pgt_name)

    @property
    def key(self) -> str:
        """In the frontiers of those that read it."""
        return f"pgt_{self.pgt_id}"

    @property
    def storage(self) -> Relation:
        """`schema.name`; both parts are ours or were checked, so neither has a dot."""
        return Relation(tuple(self.storage_relation.split(".", 1)))

    @property
    def storage_or_none(self) -> Relation | None:
        return self.storage if self.storage_relation else None

    @property
    def stored_version(self) -> int:
        """Of the storage, with the rows of its last refresh: they may lie in files of a later commit."""
        return max(self.storage_version, self.seen_version)

    def to_row(self) -> dict[str, Any]:
        return {**asdict(self), "frontier": frontier_json(self.frontier), "origins": packed(self.origins)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> StreamTable:
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in row.items() if key in known}
        values["frontier"] = frontier_from(values.get("frontier"))
        values["origins"] = unpacked(values.get("origins"))
        values["columns"] = tuple(Column(**c) for c in values.get("columns", ()))
        values["retired"] = tuple((int(g), str(t)) for g, t in values.get("retired", ()))
        values |= {kind: Experience.from_row(values[kind]) for kind in ("told", "untold") if kind in values}
        if write := values.get("hidden_write"):
            values["hidden_write"] = ForeignWrite(**write)
        if buffer := values.get("buffer"):
            values["buffer"] = Buffer(**{**buffer, "left": tuple(buffer.get("left", ()))})
        if held := values.get("held_back"):
            values["held_back"] = HeldBack.from_row(held)
        values["functions_used"] = tuple(values.get("functions_used") or ())
        values["unversioned"] = tuple(map(Unversioned.from_row, values.get("unversioned") or ()))
        return cls(**values)


@dataclass(frozen=True)
class Dependency:
    """A row of pgt_dependencies."""

    pgt_id: int
    source: str
    source_table_id: str
    source_type: str  # TABLE, STREAM_TABLE or VIEW
    columns_used: tuple[str, ...] = ()
    schema_fingerprint: str = ""
    cdc_mode: str = "NONE"
    cdc_reason: str = ""
    confirmed_version: int | None = None
    transition_started_at: str | None = None
    # Beyond the published columns: what the next run needs of it (capture/transition.py).
    mark: str = ""
    transition_failed: bool = False
    retention_seconds: int | None = None  # from its commit on, so long a version of the source is kept at least

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Dependency:
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in row.items() if key in known}
        return cls(**{**values, "columns_used": tuple(values.get("columns_used") or ())})


@dataclass(frozen=True)
class DiamondGroup:
    """A row of diamond_groups."""

    name: str
    shared: tuple[str, ...]
    members: tuple[str, ...]
    converges: tuple[str, ...]
    epochs: Mapping[str, int]  # of each member
    points: Mapping[str, Mapping[str, SourceVersion]]  # what each has of what is shared
    consistency: str = "none"  # the strictest of its members
    held_back: tuple[str, ...] = ()  # members whose readers are shown what was there before

    def to_row(self) -> dict[str, Any]:
        return {
            "diamond_group": self.name,
            "shared": self.shared,
            "members": self.members,
            "convergence_points": self.converges,
            "epoch": min(self.epochs.values()),
            "newest_epoch": max(self.epochs.values()),
            "epochs": dict(self.epochs),
            "diamond_consistency": self.consistency,
            "held_back": self.held_back,
            "points": {name: packed(found) for name, found in self.points.items()},
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> DiamondGroup:
        return cls(
            row["diamond_group"],
            tuple(row["shared"]),
            tuple(row["members"]),
            tuple(row["convergence_points"]),
            row["epochs"],
            {name: unpacked(found) for name, found in row["points"].items()},
            row.get("diamond_consistency", "none"),
            tuple(row.get("held_back", ())),
        )


@dataclass(frozen=True)
class Refresh:
    """A row of pgt_refresh_history."""

    refresh_id: str
    pgt_id: int
    invocation_id: str
    start_time: str
    action: str
    status: str  # RUNNING, COMPLETED, FAILED or SKIPPED
    reason: str = ""
    batch: int | None = None
    data_timestamp: str | None = None
    end_time: str | None = None
    rows_inserted: int = 0
    rows_deleted: int = 0
    delta_rows: int = 0
    frontier_from: Mapping[str, SourceVersion] = field(default_factory=dict)
    frontier_to: Mapping[str, SourceVersion] = field(default_factory=dict)
    phase_ms: Mapping[str, int] = field(default_factory=dict)
    error_message: str | None = None
    initiated_by: str = "DBT"
    freshness_deadline: str | None = None
    # Its commit: what tells a version's batch.
    storage_relation: str | None = None
    storage_version: int | None = None
    staged: str | None = None  # the token of what it staged

    def to_row(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "action": self.action or None,  # of a running one: it is not decided yet
            "frontier_from": frontier_json(self.frontier_from),
            "frontier_to": frontier_json(self.frontier_to),
        }
