"""Writing down what a refresh is to change, before it is brought in: see apply/staged.py.

It counts for nothing until the commit that names its token. So a run may die behind it, and a server may do it after
the client has gone: nobody reads it, and a later refresh takes it out (run/change_table.py).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbt_trickle.apply import staged
from dbt_trickle.apply.base import Applied
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Staged
from dbt_trickle.names import Relation, setting
from dbt_trickle.run.session import Session

# Commits of others that may have come meanwhile; and of runs that died, or found nothing to bring in, before.
_LOOK, _MOST = 20, 20_000
_SAID = re.compile(r"trickle staged \w+ over (\d+)")


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
    session.execute(setting(delta.METADATA, _said(token, base)))
    try:
        session.execute(statement)
    finally:
        session.execute(f"RESET {delta.METADATA}")
    written = _written(session, table, token, base)
    if written is None:
        return Ready(applied, Staged(str(table), token, 0, base), (statement,))
    version, rows = written
    done = Staged(str(table), token, rows, base)
    return Ready(staged.read_there(applied, table, version, token), done, (statement,))


def _written(session: Session, table: Relation, token: str, base: int) -> tuple[int, int] | None:
    """The version that has the rows, and how many they are. Another run may have taken them out since, for a dead
    one's: this version has them. None: there was nothing to write, of which Delta makes no commit.
    """
    look = _LOOK
    while look <= _MOST:
        rows = session.query(delta.history(table, look))
        for row in rows:
            if row.get("userMetadata") == _said(token, base):
                version, count = int(row["version"]), delta.commit_of(row).metrics.get("numOutputRows")
                return version, _counted(session, table, version, token) if count is None else int(count)
            if _is_older(row, base):
                return None
        if len(rows) < look:
            return None
        look *= 10
    raise WarehouseError(
        "TRK-303",
        f"what was staged in {table} is not among its last {_MOST} commits",
        remedy="Nothing is lost: nothing of it counts yet. Run again.",
    )


def _is_older(row: Mapping[str, Any], base: int) -> bool:
    """Whether that was staged for an older version of the storage, and hence before."""
    found = _SAID.fullmatch(row.get("userMetadata") or "")
    return found is not None and int(found.group(1)) < base


def _counted(session: Session, table: Relation, version: int, token: str) -> int:
    """Where the server does not keep what statements have done."""
    found = session.query(f"SELECT count(*) AS staged FROM {staged.those_of(table, version, token)}")
    return int(found[0]["staged"])


def _said(token: str, base: int) -> str:
    return f"trickle staged {token} over {base}"
