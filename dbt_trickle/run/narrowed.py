"""A change of few rows, asked first for the rows that it touches: then only those are read and written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from dbt_trickle.apply import few
from dbt_trickle.apply.base import Applied, Few
from dbt_trickle.errors import WarehouseError
from dbt_trickle.run.session import Session

_STAYED = "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"


@dataclass(frozen=True)
class Narrowed:
    """`sent`: what has been sent for it; `moved`: rows that come and go, where that is known before; `touched`: how
    many may go.
    """

    applied: Applied
    sent: tuple[str, ...] = ()
    moved: tuple[int, int] | None = None
    touched: int = 0
    too_many: bool = False
    is_empty: bool = False


@contextmanager
def narrowed(session: Session, applied: Applied) -> Iterator[Narrowed]:
    """While it lasts, the session has a view of what changed."""
    found = applied.few
    if found is None:
        yield Narrowed(applied)
        return
    sent = (found.keep, found.touched)
    _keep(session, found)
    try:
        touched = few.touched(session.query(found.touched))
        if touched is None and applied.kept:
            moved = few.moved(session.query(found.numbers)[0])
            yield Narrowed(applied, (*sent, found.numbers), moved, too_many=True)
        elif touched is None:
            yield Narrowed(applied, sent, too_many=True)
        elif not found.sql:
            yield Narrowed(applied, sent, touched.moved, is_empty=not touched.ids)
        else:
            ids = touched.ids
            yield Narrowed(few.replaced(found, ids), sent, touched.moved, len(ids), is_empty=not ids)
    finally:
        # What went wrong before is to be told. Mostly the connection is gone then, and the view with it; if it is not,
        # the next refresh in this session finds the view, see `_keep`.
        with suppress(WarehouseError):
            session.execute(found.let_go)


def _keep(session: Session, found: Few) -> None:
    try:
        session.execute(found.keep)
    except WarehouseError as problem:
        if _STAYED not in problem.what:
            raise
        # An earlier refresh could not let go of its own. What it shows is of no use to this one.
        session.execute(found.let_go)
        session.execute(found.keep)
