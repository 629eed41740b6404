"""Reading and writing the journal: entries to one INSERT, rows back to facts."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dbt_trickle.catalog import tables
from dbt_trickle.catalog.events import Event
from dbt_trickle.catalog.state import Dependency, DiamondGroup, Refresh, StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation, literal

_sequence = itertools.count()
_BEGINNINGS = 2**40  # more than one process ever appends


@dataclass(frozen=True)
class Entry:
    kind: str
    key: str
    payload: str
    begins: bool = False  # whatever is said of its key beside it, is later


@dataclass(frozen=True)
class Catalog:
    """The catalog as one invocation found it."""

    version: int
    stream_tables: Mapping[int, StreamTable] = field(default_factory=dict)
    dependencies: Mapping[int, tuple[Dependency, ...]] = field(default_factory=dict)
    # invocation → its stream tables and their public names
    unclosed: Mapping[str, Mapping[int, Relation]] = field(default_factory=dict)
    closed: int = 0  # invocations that ended since the journal was compacted
    maintained: Mapping[str, int] = field(default_factory=dict)  # run/maintain.py
    diamonds: Mapping[str, DiamondGroup] = field(default_factory=dict)

    @property
    def in_doubt(self) -> Mapping[int, Relation]:
        """Stream tables that an invocation which was never closed may have moved."""
        return {number: public for planned in self.unclosed.values() for number, public in planned.items()}


def read_query(catalog_schema: str) -> str:
    """Everything a run must know, in one query: history and events are not read."""
    states = (tables.STREAM_TABLE, tables.DEPENDENCIES, tables.DIAMOND)
    kinds = ", ".join(map(literal, (*states, tables.INVOCATION, tables.META, tables.MAINTENANCE)))
    return (
        f"SELECT kind, key, {tables.NEWEST} AS payload FROM {tables.journal(catalog_schema).sql} "
        f"WHERE kind IN ({kinds}) GROUP BY kind, key"
    )


def parse(rows: Iterable[Mapping[str, Any]]) -> Catalog:
    version = 0
    stream_tables: dict[int, StreamTable] = {}
    dependencies: dict[int, tuple[Dependency, ...]] = {}
    unclosed: dict[str, Mapping[int, Relation]] = {}
    maintained: dict[str, int] = {}
    diamonds: dict[str, DiamondGroup] = {}
    closed = 0
    for row in rows:
        if not row["payload"]:
            continue  # dropped
        payload = json.loads(row["payload"])
        if row["kind"] == tables.META and row["key"] == "schema_version":
            version = int(payload)
        elif row["kind"] == tables.INVOCATION and payload["state"] == "OPEN":
            unclosed[row["key"]] = {int(n): Relation(tuple(p)) for n, p in payload["stream_tables"].items()}
        elif row["kind"] == tables.INVOCATION:
            closed += 1
        elif row["kind"] == tables.MAINTENANCE:
            maintained[row["key"]] = int(payload)
        elif row["kind"] == tables.STREAM_TABLE:
            table = StreamTable.from_row(payload)
            stream_tables[table.pgt_id] = table
        elif row["kind"] == tables.DEPENDENCIES:
            dependencies[int(row["key"])] = tuple(map(Dependency.from_row, payload["rows"]))
        elif row["kind"] == tables.DIAMOND:
            diamonds[row["key"]] = DiamondGroup.from_row(payload)
    if version > tables.SCHEMA_VERSION:
        raise WarehouseError(
            "TRK-302",
            f"the catalog was written by a newer dbt-trickle (its version is {version}, "
            f"this one knows {tables.SCHEMA_VERSION})",
            remedy="Upgrade dbt-trickle here, or use another `trickle_catalog_schema`.",
        )
    return Catalog(version, stream_tables, dependencies, unclosed, closed, maintained, diamonds)


def append(catalog_schema: str, invocation_id: str, entries: Sequence[Entry]) -> str:
    """One INSERT, hence one commit. `seq` orders entries of one instant, as they were made (tables.ORDER)."""
    rows = ",\n".join(
        f"({literal(e.kind)}, {literal(e.key)}, current_timestamp(), {next(_sequence) - _BEGINNINGS * e.begins}, "
        f"{literal(invocation_id)}, {literal(e.payload)})"
        for e in entries
    )
    return f"INSERT INTO {tables.journal(catalog_schema).sql} VALUES\n{rows}"


def stream_table(table: StreamTable) -> Entry:
    return Entry(tables.STREAM_TABLE, str(table.pgt_id), _json(table.to_row()))


def dropped(number: int) -> tuple[Entry, Entry]:
    """An empty payload: gone from the views, its history stays."""
    return Entry(tables.STREAM_TABLE, str(number), ""), Entry(tables.DEPENDENCIES, str(number), "")


def diamond(name: str, group: DiamondGroup | None) -> Entry:
    """None: its branches meet no more."""
    return Entry(tables.DIAMOND, name, _json(group.to_row()) if group is not None else "")


def dependencies(number: int, rows: Sequence[Dependency]) -> Entry:
    return Entry(tables.DEPENDENCIES, str(number), _json({"rows": [asdict(row) for row in rows]}))


def refresh(row: Refresh) -> Entry:
    return Entry(tables.HISTORY, row.refresh_id, _json(row.to_row()), begins=row.status == "RUNNING")


def opened(invocation_id: str, planned: Mapping[int, Relation]) -> Entry:
    """With the public names: of a stream table that is being created, the catalog knows nothing else."""
    names = {str(number): list(public.parts) for number, public in planned.items()}
    return Entry(tables.INVOCATION, invocation_id, _json({"state": "OPEN", "stream_tables": names}), begins=True)


def closed(invocation_id: str) -> Entry:
    return Entry(tables.INVOCATION, invocation_id, _json({"state": "CLOSED", "stream_tables": {}}))


def schema_version() -> Entry:
    return Entry(tables.META, "schema_version", _json(tables.SCHEMA_VERSION))


def maintained(key: str, count: int) -> Entry:
    return Entry(tables.MAINTENANCE, key, _json(count))


def event(found: Event) -> Entry:
    payload = _json({"relation": found.relation, **found.payload})
    row = {"event": found.name, "pgt_id": found.pgt_id, "at": found.at, "payload": payload}
    return Entry(tables.EVENT, f"{found.pgt_id}/{found.at}/{found.name}", _json(row))


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
