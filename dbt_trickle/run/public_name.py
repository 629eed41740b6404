"""What has a stream table's public name. A name is no proof: what is somebody else's by now is never dropped."""

from __future__ import annotations

from dataclasses import dataclass

from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run import recover, retire
from dbt_trickle.run.session import Session, is_missing


@dataclass(frozen=True)
class Held:
    kind: str | None  # VIEW or TABLE; none: nothing has the name
    ours: bool = False


NOTHING = Held(None)


def held(session: Session, public: Relation, number: int) -> Held:
    """A view is the stream table's if it shows a storage of its; a table, if its properties say so.

    Not a view's properties: they are set after its text, and stay when somebody alters it to show something else.
    """
    try:
        rows = session.query(f"DESCRIBE TABLE EXTENDED {public.sql}")
        text = recover.view_text(rows)
        if text is not None:
            return Held("VIEW", recover.shown(text, number) is not None)
        return Held("TABLE", recover.is_ours(session, public, number))
    except WarehouseError as problem:
        if is_missing(problem):
            return NOTHING
        raise


def drop(session: Session, public: Relation, number: int, expose: str) -> bool:
    """Readers must not meet a view whose storage is gone: this comes before its storages. False: it is not ours."""
    found = held(session, public, number)
    if found.kind is not None and not found.ours:
        return False
    if found.kind == "VIEW":
        session.execute(f"DROP VIEW IF EXISTS {public.sql}")
    elif found.kind == "TABLE" or expose == "table":
        retire.drop(session, public)  # where nothing was found, its folder may be gone, and the name still there
    return True
