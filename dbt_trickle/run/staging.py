"""Writing down what a refresh is to change, before it is brought in: see apply/staged.py.

It counts for nothing until the commit that names its token. So a run may die behind it, and a server may do it after
the client has gone: nobody reads it, and a later refresh takes it out (run/change_table.py).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbt_trickle.apply import staged
from dbt_trickle.apply.base import Applied
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Commit, Staged
from dbt_trickle.names import Relation, setting
from dbt_trickle.run.session import Session

_LOOK = 100  # commits of others that may come meanwhile
_SAID = "trickle staged "


@dataclass(frozen=True)
class Ready:
    """`applied`: what is left to do, with the rows where they are now; `sent`: what has been sent for it."""

    applied: Applied
    staged: Staged | None = None  # none: nothing is staged
    sent: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self.staged is not None and self.staged.rows == 0


def stage(session: Session, applied: Applied, table: Relation | None, base: int) -> Ready:
    """`base`: the storage's version that the change is worked out for."""
    if table is None or not applied.stage:
        return Ready(applied)
    token = uuid.uuid4().hex
    statement = applied.stage.replace(staged.ATTEMPT, token)
    newest = _newest(session, table)
    session.execute(setting(delta.METADATA, _said(token)))
    try:
        session.execute(statement)
    finally:
        session.execute(f"RESET {delta.METADATA}")
    written = _written(session, table, token, newest)
    if written is None:
        return Ready(applied, Staged(str(table), token, 0, base), (statement,))
    version, rows = written
    done = Staged(str(table), token, rows, base)
    return Ready(staged.read_there(applied, table, version, token), done, (statement,))


def _newest(session: Session, table: Relation) -> Commit:
    return delta.commit_of(session.query(delta.history(table, 1))[0])


def _written(session: Session, table: Relation, token: str, before: Commit) -> tuple[int, int] | None:
    """The version that has the rows, and how many they are. Another run may have taken them out since, for a dead
    one's: this version has them. None: there was nothing to write, of which Delta makes no commit. `before`: the newest
    commit when it was not sent yet, so that all behind it are looked at.
    """
    commits = [(row, delta.commit_of(row)) for row in session.query(delta.history(table, _LOOK))]
    for row, commit in commits:
        if row.get("userMetadata") == _said(token):
            count = commit.metrics.get("numOutputRows")
            return commit.version, _counted(session, table, commit.version, token) if count is None else int(count)
    later = [(row, commit) for row, commit in commits if commit.version > before.version]
    known = any((commit.version, commit.committed_at) == (before.version, before.committed_at) for _, commit in commits)
    if known and all(_is_of_others(row, commit) for row, commit in later):
        return None
    raise WarehouseError(
        "TRK-303",
        f"whether what was staged in {table} is among its last {_LOOK} commits cannot be told",
        remedy="Nothing is lost: nothing of it counts yet. Run again.",
    )


def _is_of_others(row: Mapping[str, Any], commit: Commit) -> bool:
    """What says of itself whose it is, or takes rows out, or moves none."""
    return str(row.get("userMetadata")).startswith(_SAID) or commit.operation in {"DELETE", *delta.NO_CHANGE}


def _counted(session: Session, table: Relation, version: int, token: str) -> int:
    """Where the server does not keep what statements have done."""
    found = session.query(f"SELECT count(*) AS staged FROM {staged.those_of(table, version, token)}")
    return int(found[0]["staged"])


def _said(token: str) -> str:
    return f"{_SAID}{token}"
