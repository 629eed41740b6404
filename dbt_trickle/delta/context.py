"""What a delta is made from: each source's rows before and after, and what changed in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbt_trickle.names import RESERVED_PREFIX, quote
from dbt_trickle.tree.algebra import Operator, scans

# Beneath this many changed rows the delta is sent to every task, so that the big side of a join stays in place.
SMALL = 100_000
WENT = "[TRK-900] a row went although all sources only grew (this is a bug in dbt-trickle; please report it)"


@dataclass(frozen=True)
class Cte:
    """`recursive`: it names itself."""

    name: str
    sql: str
    recursive: bool = False


@dataclass(frozen=True)
class Source:
    """One source over the window: FROM texts of its two states; its changes, where it moved."""

    old: str
    new: str
    changes: str | None = None  # a SELECT of the columns that scans read, and the weight
    rows: int | None = None  # about how many rows changed; none: nobody knows


@dataclass(frozen=True)
class Context:
    """`recursions`: FROM texts of their two states, which may name `heads`; `grows`: no source lost a row."""

    sources: Mapping[str, Source] = field(default_factory=dict)
    recursions: Mapping[str, Source] = field(default_factory=dict)
    heads: tuple[Cte, ...] = ()
    grows: bool = False

    @property
    def old(self) -> dict[str, str]:
        return {key: source.old for key, source in {**self.sources, **self.recursions}.items()}

    @property
    def new(self) -> dict[str, str]:
        return {key: source.new for key, source in {**self.sources, **self.recursions}.items()}

    def moved(self, operator: Operator) -> bool:
        """Whether anything below can have changed."""
        return any(self.sources[scan.source].changes is not None for scan in scans(operator))

    def is_small(self, operator: Operator) -> bool:
        moved = [self.sources[s.source] for s in scans(operator) if self.sources[s.source].changes is not None]
        return sum(SMALL if source.rows is None else source.rows for source in moved) < SMALL


@dataclass(frozen=True)
class Delta:
    """How an operator's rows change: the last of the CTEs has its columns and a weight.

    It need not be net: a row may come with +1 and −1. Who writes it somewhere nets it first.
    """

    ctes: tuple[Cte, ...]

    @property
    def name(self) -> str:
        return self.ctes[-1].name

    def then(self, name: str, sql: str) -> Delta:
        return Delta((*self.ctes, Cte(name, sql)))


def changes_of(source: str, order: tuple[str, ...]) -> str:
    """The CTE of a source's changes: read once, however many scans there are. What is no source is called as it is."""
    return f"{RESERVED_PREFIX}changes_{order.index(source)}" if source in order else source


def columns_of(operator: Operator) -> str:
    return ", ".join(map(quote, operator.columns))


def source_order(tree: Operator) -> tuple[str, ...]:
    return tuple(dict.fromkeys(scan.source for scan in scans(tree)))


def read_columns(tree: Operator, source: str) -> tuple[tuple[str, str], ...]:
    """The columns of a source that any of its scans reads: names as the source has them, and types."""
    found: dict[str, tuple[str, str]] = {}
    for scan in scans(tree):
        if scan.source == source:
            found.update({f.source_name.lower(): (f.source_name, f.type) for f in scan.fields})
    return tuple(found.values())
