"""Whether a stream table is what it promises: its defining query over its sources at its frontier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.errors import TrickleError, WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.plan import compare
from dbt_trickle.run.compared import Comparison, OtherColumns, OtherView, prepare
from dbt_trickle.run.frozen import Frozen, Unverifiable, unverifiable
from dbt_trickle.run.session import Session, is_vacuumed, own_settings

OK, DIFFERENT, NOT_VERIFIABLE, FAILED = "ok", "DIFFERENT", "not verifiable", "FAILED"


@dataclass(frozen=True)
class Row:
    """A row that differs, as text, and how often it is there too often or too rarely."""

    copies: int
    values: Mapping[str, str | None]


@dataclass(frozen=True)
class Verdict:
    relation: Relation
    outcome: str
    reason: str = ""
    missing: int = 0
    surplus: int = 0
    missing_rows: tuple[Row, ...] = ()
    surplus_rows: tuple[Row, ...] = ()
    data_timestamp: str | None = None


def verify(session: Session, frozen: Frozen, table: StreamTable) -> Verdict:
    """One line of `trickle verify`: whatever one stream table meets, the others are verified."""
    try:
        # The next one has a definition of its own.
        with own_settings(session) as use:
            found = prepare(session, frozen, table, use)
            return _verdict(session, found)
    except Unverifiable as problem:
        return Verdict(table.public, NOT_VERIFIABLE, problem.reason)
    except (OtherColumns, OtherView) as problem:
        return Verdict(table.public, DIFFERENT, problem.what)
    except TrickleError as problem:
        if isinstance(problem, WarehouseError) and is_vacuumed(problem):
            return Verdict(table.public, NOT_VERIFIABLE, f"files of a source's version are gone: {problem.what}")
        return Verdict(table.public, FAILED, problem.what)


def _verdict(session: Session, found: Comparison) -> Verdict:
    table, certain = found.table, found.certain
    same = Verdict(table.public, OK, data_timestamp=table.data_timestamp)
    rows = session.query(found.report)
    if not rows:
        return same
    if told := _other_rows(found, rows):
        beyond = _beyond(session, found)
        if not beyond:
            return replace(same, outcome=NOT_VERIFIABLE, reason=told)
        return replace(_different(found, beyond), missing=0)  # it is right to lack rows that tie
    if certain is not found:
        rows = session.query(certain.report)
        if not rows:
            names, whys = ", ".join(sorted(found.uncertain)), found.uncertain.values()
            told = f"but for {names}: {_otherwise(*whys)} other values each time"
            return replace(same, reason=told)
        found = certain
    return _different(found, rows)


def _beyond(session: Session, found: Comparison) -> Sequence[Mapping[str, object]]:
    """Of what it has too many: rows that its query gives in no order, for which no tie is an excuse."""
    if found.possible is None:
        return ()
    return [row for row in session.query(found.possible.report) if int(str(row[compare.COPIES])) > 0]


def _different(found: Comparison, rows: Sequence[Mapping[str, object]]) -> Verdict:
    table = found.table
    samples: dict[bool, list[Row]] = {True: [], False: []}
    for row in rows:
        values = {c.name: _text(row[f"__pgt_{i}"]) for i, (c, _) in enumerate(found.columns)}
        copies = int(str(row[compare.COPIES]))
        samples[copies > 0].append(Row(abs(copies), values))
    return Verdict(
        table.public,
        DIFFERENT,
        missing=int(str(rows[0][compare.MISSING])),
        surplus=int(str(rows[0][compare.SURPLUS])),
        missing_rows=tuple(samples[False]),
        surplus_rows=tuple(samples[True]),
        data_timestamp=table.data_timestamp,
    )


def differing_rows(session: Session, frozen: Frozen, table: StreamTable) -> str:
    """The SQL of the rows that differ, for dbt's test; an error where it cannot be told whether they may."""
    found = prepare(session, frozen, table, None)
    if found.other_rows and (told := _other_rows(found, session.query(found.report))):
        if found.possible is not None and _beyond(session, found):
            return found.possible.surplus
        raise unverifiable(told)
    return found.certain.rows


def _other_rows(found: Comparison, rows: Sequence[Mapping[str, object]]) -> str:
    """Other rows in their places, but not more and not fewer."""
    if not found.other_rows or not rows:
        return ""
    missing, surplus = rows[0][compare.MISSING], rows[0][compare.SURPLUS]
    if missing != surplus:
        return ""
    return f"{missing} rows missing, {surplus} surplus, and {_otherwise(found.other_rows)} other rows each time"


def _otherwise(*whys: str) -> str:
    return f"{', '.join(sorted(set(whys)))} may give"


def _text(value: object) -> str | None:
    return None if value is None else str(value)
