"""What a stream table's refreshes have staged (`change_buffer: table`): for each commit, what came and what went.

Which rows count say the commits of the storage: those that have their tokens. They are counted before they are read,
because rows that everybody known had consumed are deleted, and not everybody who reads is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbt_trickle.capture.base import Batches, CommitFacts, Effect, NotStaged, Window, netted, weighted
from dbt_trickle.formats.delta import at_version
from dbt_trickle.names import RESERVED_PREFIX, Relation, literal, quote

TOKEN, BATCH, ACTION = f"{RESERVED_PREFIX}token", f"{RESERVED_PREFIX}batch", f"{RESERVED_PREFIX}action"
CAME, WENT = "I", "D"
MOST = 500  # tokens that a statement names


@dataclass(frozen=True)
class ByTable:
    staged: Batches

    def changes(self, window: Window) -> str:
        return netted(window, weighted(window, _rows(self.staged), sign(), condition=_which(self.staged)))


def question(staged: Batches) -> str:
    """How many rows each token has."""
    token = quote(TOKEN)
    return f"SELECT {token} AS token, count(*) AS staged FROM {_rows(staged)} WHERE {_which(staged)} GROUP BY {token}"


def sign() -> str:
    """By name, and anything else is an error."""
    action = quote(ACTION)
    return (
        f"CASE {action} WHEN {literal(CAME)} THEN 1L WHEN {literal(WENT)} THEN -1L "
        f"ELSE raise_error(concat('[TRK-900] a change of the unknown kind ', {action})) END"
    )


def batches(commits: Sequence[CommitFacts], old: int) -> Batches | NotStaged | None:
    """What the commits of a window from `old` on say of themselves; none: nothing of it was staged."""
    moved = [commit for commit in commits if commit.effect is not Effect.NOTHING]
    found = [commit.staged for commit in moved if commit.staged is not None]
    if not found:
        return None
    other = next((commit for commit in moved if commit.staged is None), None)
    if other is not None:
        return NotStaged(f"version {other.version} was not staged")
    for commit, before in zip(moved, [old, *(commit.version for commit in moved)], strict=False):
        if commit.staged is not None and commit.staged.base < before:
            # Rows that are to go may have gone before, to who has read what was written in between.
            return NotStaged(f"version {commit.version} was staged for an older one than it was brought into")
    if len({each.table for each in found}) > 1:
        return NotStaged("its changes were staged in several tables")
    if len(found) > MOST:
        return NotStaged(f"more than {MOST} batches were staged")
    return Batches(found[0].table, tuple(each.token for each in found))


def missing(commits: Sequence[CommitFacts], counted: Mapping[str, int]) -> NotStaged | None:
    """Why the table does not have what the commits say was staged; none: it has. `counted`: rows by token."""
    for commit in commits:
        if commit.staged is not None and counted.get(commit.staged.token, 0) != commit.staged.rows:
            return NotStaged(f"what was staged for version {commit.version} is not there any more")
    return None


def _rows(staged: Batches) -> str:
    return at_version(Relation.parse(staged.table).sql, staged.version)


def _which(staged: Batches) -> str:
    return f"{quote(TOKEN)} IN ({', '.join(map(literal, staged.tokens))})"
