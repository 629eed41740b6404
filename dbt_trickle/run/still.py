"""Whether a table has moved on without a row of it: OPTIMIZE, a property, a feed that was switched on.

Its history tells, and no rows are read for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dbt_trickle.capture.commits import commit_facts, nothing_changed
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.run.session import Session

_LATER = 8  # commits that may have come since a table was pinned; where there are more, it is asked again
# Of rows that stand where they stood, these are others when the files are.
_OF_FILES = re.compile(r"\b(?:_metadata|input_file_\w+)\b", re.IGNORECASE)


def same_rows(session: Session, older: SourceVersion, newer: SourceVersion) -> bool:
    """Of one table, by the operations between two versions of it."""
    old, new = older.version, newer.version
    limit = new - old + _LATER
    while True:
        commits = [commit_facts(row) for row in session.query(delta.history(older.table, limit))]
        between = [commit for commit in commits if old < commit.version <= new]
        if len(between) == new - old or len(commits) < limit:
            return len(between) == new - old and nothing_changed(between)
        limit = commits[0].version - old + _LATER


def stands_still(
    session: Session, query: str, before: Mapping[str, SourceVersion], now: Mapping[str, SourceVersion]
) -> bool:
    """Whether all that moved are tables of which no row did."""
    if before.keys() != now.keys() or _OF_FILES.search(query):
        return False
    moved = [(before[key], version) for key, version in now.items() if not version.same_state(before[key])]
    return all(
        new.kind == old.kind == "TABLE" and new.table_id == old.table_id and new.version > old.version
        for old, new in moved
    ) and all(same_rows(session, old, new) for old, new in moved)
