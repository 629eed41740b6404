"""What a stream table's public name shows: the text of its view, made and read.

A view shows its storage as it is; or, while its diamond is published together (plan/atomic.py), a version of it.
Then the text says both, what is shown and what will be, so that one ALTER VIEW moves either, and a run that died leaves
nothing in doubt:

    SELECT `region`, `total` FROM `changes`.`st_5_g1` VERSION AS OF 7 AS `changes.st_5_g2`

The alias is the storage that refreshes go on from: a name that costs a reader nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dbt_trickle.catalog.state import Column, HeldBack
from dbt_trickle.formats import delta
from dbt_trickle.names import Relation, quote

_NAME = r"`((?:[^`]|``)+)`"
_SHOWN = re.compile(
    rf"FROM {_NAME}\.`(st_(\d+)_g\d+)`(?:\s+VERSION\s+AS\s+OF\s+(\d+)\s+AS\s+`((?:[^`]|``)+)\.(st_\3_g\d+)`)?\s*$"
)


@dataclass(frozen=True)
class Showing:
    """What the text of a public view says. `version`: the one it is pinned to; none: it shows the storage as it is."""

    storage: Relation
    version: int | None
    current: Relation  # the storage that refreshes go on from

    @property
    def is_pinned(self) -> bool:
        return self.version is not None

    def is_of(self, held: HeldBack | None) -> bool:
        """Whether that is what the catalog knows."""
        if held is None or self.version is None:
            return held is None and self.version is None
        return (held.relation, held.version) == (self.storage, self.version)


def showing(text: str, number: int) -> Showing | None:
    """None: it is of no storage of this stream table."""
    found = _SHOWN.search(text)
    if found is None or int(found[3]) != number:
        return None
    storage = Relation.of(_plain(found[1]), found[2])
    if found[4] is None:
        return Showing(storage, None, storage)
    return Showing(storage, int(found[4]), Relation.of(_plain(found[5]), found[6]))


def text_of(columns: Iterable[Column], storage: Relation, held: HeldBack | None = None) -> str:
    """Of the public view over this storage; of one that is held back, what readers are shown meanwhile."""
    if held is None:
        return view_query(columns, storage.sql)
    shown = delta.at_version(held.relation.sql, held.version)
    return f"{view_query(held.columns, shown)} AS {quote(str(storage))}"


def view_query(columns: Iterable[Column], storage: str) -> str:
    chosen = ", ".join(
        quote(c.stored) if c.stored == c.name else f"{quote(c.stored)} AS {quote(c.name)}" for c in columns
    )
    return f"SELECT {chosen} FROM {storage}"


def _plain(name: str) -> str:
    return name.replace("``", "`")
