"""What a stream table is compared with: its defining query over its sources at its frontier.

The query that is compared with is the user's own text; only names get versions. Nothing of what refreshes
use to get there (rewrites, deltas, keys) is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dbt_trickle.catalog.state import Column, HeldBack, StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.names import Relation, literal, quote
from dbt_trickle.plan import canonical, compare
from dbt_trickle.plan.canonical import Type
from dbt_trickle.plan.public_view import showing, view_query
from dbt_trickle.run import recover
from dbt_trickle.run.columns import described
from dbt_trickle.run.frozen import Frozen, unverifiable
from dbt_trickle.run.session import Session, meaning, own_settings, read_old_versions
from dbt_trickle.tree import winners

Use = Callable[[Mapping[str, str]], None]

SAMPLE = 5
_ROWS = Column("rows", "int", "rows")
_TYPE_LENGTH = "spark.sql.debug.maxToStringFields"


@dataclass(frozen=True)
class Comparison:
    """Both sides as queries, and what both have for columns."""

    table: StreamTable
    has: str
    should: str
    columns: tuple[tuple[Column, Type], ...]

    @property
    def uncertain(self) -> Mapping[str, str]:
        """The columns that Spark may give otherwise each time, and why."""
        return dict(self.table.engine.get("leeway", {}).get("columns", {}))

    @property
    def other_rows(self) -> str:
        """Why it may give other rows each time; nothing, where it may not."""
        return str(self.table.engine.get("leeway", {}).get("rows", ""))

    @property
    def certain(self) -> Comparison:
        """Without the columns that Spark may give otherwise each time; if that is all of them, only the rows count."""
        kept = [i for i, (column, _) in enumerate(self.columns) if column.name not in self.uncertain]
        if len(kept) == len(self.columns):
            return self
        names = ", ".join(f"c{i}" for i in range(len(self.columns)))
        chosen = ", ".join(f"c{i}" for i in kept) or "1"
        columns = tuple(self.columns[i] for i in kept) or ((_ROWS, canonical.parse(_ROWS.type)),)
        has, should = (f"SELECT {chosen} FROM (\n{text}\n) AS t ({names})" for text in (self.has, self.should))
        return replace(self, has=has, should=should, columns=columns)

    @property
    def possible(self) -> Comparison | None:
        """With all rows that Spark may give, where a query can tell them: it is right to lack some of these."""
        wider = winners.with_all_that_tie(self.should) if self.other_rows == "row_number()" else None
        return replace(self, should=wider) if wider is not None else None

    @property
    def report(self) -> str:
        return compare.report(self.has, self.should, [(c.name, t) for c, t in self.columns], SAMPLE)

    @property
    def rows(self) -> str:
        return compare.differing_rows(self.has, self.should, [(c.stored, t) for c, t in self.columns])

    @property
    def surplus(self) -> str:
        return f"SELECT * FROM (\n{self.rows}\n) WHERE {quote(compare.DIFFERENCE)} = {literal('surplus')}"


class OtherColumns(WarehouseError):
    """The storage and the query do not even have the same columns."""


class OtherView(WarehouseError):
    """Readers get something else than the storage has."""


def prepare(session: Session, frozen: Frozen, table: StreamTable, use: Use | None) -> Comparison:
    """What is to be compared. `use`: the session is ours, and may get the definition's settings."""
    if not table.is_populated:
        raise unverifiable("it was not loaded yet")
    current, version = as_stored(session, table)
    if current.unversioned:
        raise unverifiable("; ".join(map(str, current.unversioned)))
    read_old_versions(session)
    should = frozen.query(current, _settings(session, current, use))
    has = view_query(current.columns, delta.at_version(current.storage.sql, version))
    types = _types(session, has), _types(session, should)
    if types[0] != types[1]:
        has_, should_ = (", ".join(f"{name} {kind}" for name, kind in side) for side in types)
        raise OtherColumns(
            "TRK-305", f"it has the columns ({has_}), its query gives ({should_})", remedy="Run it with --full-refresh."
        )
    columns = tuple(
        (column, canonical.parse(kind)) for column, (_, kind) in zip(current.columns, types[0], strict=True)
    )
    for column, kind in columns:
        if canonical.not_comparable(kind):
            raise unverifiable(f"Spark cannot compare the column {column.name} of type {column.type}")
    return Comparison(current, has, should, columns)


def as_stored(session: Session, table: StreamTable) -> tuple[StreamTable, int]:
    """What readers get now, as its storage tells it, and that storage's newest version.

    A refresh may have committed since the catalog was read: its own marker has the frontier then. A NO_DATA
    run moves the frontier without a commit: of one batch the catalog knows the later one.
    """
    storage, text = recover.serving(session, table.public, table.pgt_id)
    if storage is None:
        raise WarehouseError(
            "TRK-307", "what has its name is not this stream table", remedy="`dbt run` puts it there again."
        )
    shown = showing(text, table.pgt_id) if text is not None else None
    if text is not None and shown is not None and shown.version is not None:
        return _held_back(session, table, text, shown.storage, shown.version)
    commits = [delta.commit_of(row) for row in session.query(delta.history(storage, recover.HISTORY_DEPTH))]
    for commit in commits:
        if commit.marker is None or commit.marker.pgt_id != table.pgt_id:
            continue
        if (commit.marker.batch, storage) != (table.batch, table.storage):
            table = recover.apply_marker(table, storage, commit, commit.marker)
        _require_as_is(text, table, storage)
        return table, commits[0].version
    raise unverifiable(f"{storage} has no commit of this stream table any more")


def _held_back(
    session: Session, table: StreamTable, text: str, storage: Relation, version: int
) -> tuple[StreamTable, int]:
    """Readers get an older version, until all of its diamond have come: that is what is compared."""
    found = recover.marked_until(session, storage, table.pgt_id, version)
    if found is None:
        raise unverifiable(f"{storage} has no commit of this stream table any more")
    commit, marker = found
    held = HeldBack(str(storage), version, recover.columns_of(marker), marker.data_timestamp, "")
    if (marker.batch, storage) != (table.batch, table.storage):
        table = recover.apply_marker(table, storage, commit, marker)
    _require_as_is(text, table, storage, held)
    return table, version


def _require_as_is(text: str | None, table: StreamTable, storage: Relation, held: HeldBack | None = None) -> None:
    current = showing(text, table.pgt_id) if text is not None else None
    if text is None or current is None or recover.shows(text, table.columns, current.current, held):
        return
    raise OtherView(
        "TRK-307",
        f"its view does not show {storage} as it is: {text}",
        remedy="Somebody has altered the view. `dbt run` puts it right again.",
    )


def _settings(session: Session, table: StreamTable, use: Use | None) -> Mapping[str, str]:
    """The settings that the definition has its meaning under."""
    if use is not None:
        use(table.meaning)
    current = meaning(session)
    # Of what was made before settings were recorded nothing is known.
    for key in sorted({*current, *table.meaning}) if table.meaning else ():
        made, has = table.meaning.get(key), current.get(key)
        if (made or "").lower() != (has or "").lower():
            raise unverifiable(f"it was made with {key}={made}, the session has {has}")
    return current


def _types(session: Session, query: str) -> tuple[tuple[str, str], ...]:
    """Names and types as Spark tells them, in full: it cuts those of wide structs unless asked not to."""
    found = described(session, query)
    if any(canonical.TRUNCATED in kind for _, kind in found):
        with own_settings(session) as use:
            use({_TYPE_LENGTH: "100000"})
            found = described(session, query)
    return found
