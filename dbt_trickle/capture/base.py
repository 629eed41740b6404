"""What a capture is: the net changes of one source between two of its versions, as one SELECT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from dbt_trickle.capture.types import Comparison, Incomparable, comparison
from dbt_trickle.errors import TrickleBug
from dbt_trickle.formats.base import Staged
from dbt_trickle.names import RESERVED_PREFIX, Relation, quote

WEIGHT = f"{RESERVED_PREFIX}weight"
# Another name than the sum's: HAVING SUM(w) must not find the alias of the sum.
ROW_WEIGHT = f"{RESERVED_PREFIX}row_weight"


@dataclass(frozen=True)
class Window:
    """The commits (old, new] of a source, and the columns that are read: names as the source has them, types
    as DESCRIBE tells them at the new version. A table that has only a path is Relation(("delta", path)).
    """

    relation: Relation
    old: int
    new: int
    columns: tuple[tuple[str, str], ...]
    was: Relation | None = None  # the table that the old version is of, where it is another one's

    def __post_init__(self) -> None:
        if not 0 <= self.old < (self.new if self.was is None else self.old + 1):
            raise TrickleBug(f"no window of {self.relation}: ({self.old}, {self.new}]")
        names = [name.lower() for name, _ in self.columns]
        if len(set(names)) != len(names):
            raise TrickleBug(f"two columns of one name among {names}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    @property
    def before(self) -> Relation:
        return self.was or self.relation


class Effect(Enum):
    """What a commit can have done, judged by its operation."""

    NOTHING = "no row moved"
    APPEND = "rows were added"
    ROWS = "rows were added, removed or changed"
    SCHEMA = "columns were added or changed"
    RENAME = "columns were renamed or dropped"
    REPLACE = "the table was replaced"
    RESTORE = "an earlier version was restored"
    UNKNOWN = "nobody knows"


@dataclass(frozen=True)
class CommitFacts:
    """One commit as the table's history tells it."""

    version: int
    committed_at: str
    operation: str
    effect: Effect
    rows: int | None = None  # rows inserted, updated or deleted; none: not told
    feed: bool | None = None  # what it set the change feed to; none: it did not
    removes_files_older_than: str | None = None  # a VACUUM's: files that were out of use by then are gone
    engine: str = ""
    size: int = 0  # bytes that it wrote, as far as it says
    others: bool = False  # a stream table's refresh, by which most of its rows have become others
    staged: Staged | None = None  # and where it has staged what it changed


@dataclass(frozen=True)
class Appended:
    """What the transaction log says of a window in which files were only added: their full paths."""

    files: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Unlogged:
    """Why the transaction log cannot be read in place of the table."""

    reason: str


@dataclass(frozen=True)
class Batches:
    """What a stream table's refreshes have staged of a window: the rows of these tokens, in this version of a table."""

    table: str
    tokens: tuple[str, ...]
    version: int = -1  # none: not asked yet


@dataclass(frozen=True)
class NotStaged:
    """Why a window is not read from there, although something of it was staged."""

    reason: str


@dataclass(frozen=True)
class LogFacts:
    """What is known of a window before its rows are read. Commits are in order, oldest first."""

    window: Window
    commits: tuple[CommitFacts, ...]
    later: tuple[CommitFacts, ...] = ()  # after the window: the table may have moved on since it was pinned
    known_at: str = ""  # when the old version was committed, as the frontier has it
    found_at: str | None = None  # and as the table's history has it now; none: the history does not go back so far
    gone: str = ""  # why the history, or the old version although its commit is known, cannot be read; empty: they can
    properties: Mapping[str, str] = field(default_factory=dict)
    size: int | None = None  # bytes of the newest version; none: neither it nor the properties were asked for
    old_columns: tuple[tuple[str, str], ...] | None = None  # none: not asked
    log: Appended | Unlogged | None = None  # none: not asked
    staged: Batches | NotStaged | None = None  # none: nothing of it was staged, or it was not asked

    @property
    def is_whole(self) -> bool:
        """The history passes over a commit whose file is gone, and then nobody knows what that one did."""
        return [commit.version for commit in self.commits] == [*range(self.window.old + 1, self.window.new + 1)]

    @property
    def rows(self) -> int | None:
        """Rows that the window's commits say they touched; none where one of them does not say."""
        counts = [0 if commit.effect is Effect.NOTHING else commit.rows for commit in self.commits]
        return None if any(count is None for count in counts) else sum(count or 0 for count in counts)

    @property
    def written(self) -> int:
        """Bytes that the window's commits wrote where rows moved."""
        return sum(commit.size for commit in self.commits if commit.effect is not Effect.NOTHING)


class Capture(Protocol):
    def changes(self, window: Window) -> str:
        """A SELECT of the window's columns and `__pgt_weight`: rows inserted (+n) or deleted (−n), net."""


def incomparable(window: Window) -> str | None:
    """Why the rows of this window cannot be netted, whichever capture reads them."""
    for name, type_text in window.columns:
        if name.lower() in (WEIGHT, ROW_WEIGHT):
            return f"column {name} has a name that is reserved"
        how = comparison(name, type_text)
        if isinstance(how, Incomparable):
            return how.reason
    return None


def weighted(window: Window, source: str, weight: str, *, condition: str = "") -> str:
    """The window's columns of a source's rows, each row with its weight."""
    columns = ", ".join([*map(quote, window.names), f"{weight} AS {quote(ROW_WEIGHT)}"])
    return f"SELECT {columns}\nFROM {source}" + (f"\nWHERE {condition}" if condition else "")


def netted(window: Window, rows: str) -> str:
    """One row per content, with the sum of its weights; what sums up to nothing did not change.

    So a change of other columns only, a delete with a re-insert and an update back and forth yield no row.
    """
    comparisons = [_comparable(name, type_text) for name, type_text in window.columns]
    total = f"SUM({quote(ROW_WEIGHT)})"
    values = [
        how.value if how.value == quote(name) else f"{how.value} AS {quote(name)}"
        for name, how in zip(window.names, comparisons, strict=True)
    ]
    keys = [key for how in comparisons for key in how.keys]
    select = f"SELECT {', '.join([*values, f'{total} AS {quote(WEIGHT)}'])}\nFROM (\n{rows}\n)"
    # Without columns there is one group, the empty one: its sum is NULL when there are no rows.
    group = f"\nGROUP BY {', '.join(keys)}" if keys else ""
    return f"{select}{group}\nHAVING {total} <> 0"


def _comparable(name: str, type_text: str) -> Comparison:
    how = comparison(name, type_text)
    if isinstance(how, Incomparable):
        raise TrickleBug(f"changes were to be read although {how.reason}")
    return how
