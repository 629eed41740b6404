"""Which failures of a refresh pass by themselves, and how long that is waited for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar
from zlib import crc32

from dbt_trickle.errors import TrickleBug, TrickleError, WarehouseError
from dbt_trickle.run.session import Session, is_busy, is_conflict, is_lost

T = TypeVar("T")


@dataclass(frozen=True)
class Backoff:
    """Each wait is twice the one before it, up to the longest; `failures` is one after the first."""

    first: float
    longest: float
    attempts: int

    def wait(self, failures: int, chance: float) -> float | None:
        """Seconds; none when it was tried often enough. Half of it is chance, or two that met would meet again."""
        if failures >= self.attempts:
            return None
        whole = min(self.longest, self.first * 2.0 ** (failures - 1))
        return whole * (0.5 + chance / 2)


# Another run was faster: what it did is there at once.
CONFLICT = Backoff(first=0.2, longest=2.0, attempts=5)
# A server that is started anew, or a metastore under load: half a minute at most.
AWAY = Backoff(first=1.0, longest=16.0, attempts=6)


def passes_by_itself(problem: TrickleError) -> bool:
    return _kind(problem) is not None


def pause(problem: TrickleError, failures: int, who: str) -> float | None:
    """How long to wait before the next attempt; none where another attempt would only fail again.

    `who` stands for chance: two runs that failed together do not wait equally long.
    """
    kind = _kind(problem)
    return kind.wait(failures, crc32(f"{who} {failures}".encode()) / 2**32) if kind is not None else None


def reason(problem: TrickleError) -> str:
    """Why there was another attempt. Delta's words for a conflict speak of streams and checkpoints."""
    if is_conflict(problem) and problem.code != "TRK-303":
        return "another run was faster"
    return problem.what.splitlines()[0]


def _kind(problem: TrickleError) -> Backoff | None:
    if is_conflict(problem):
        return CONFLICT
    return AWAY if is_lost(problem) or is_busy(problem) else None


def despite_others(session: Session, statement: str, who: str, wait: Callable[[float], bool]) -> None:
    """IF NOT EXISTS looks and then creates: of two processes at once one may fail in between, and again until what
    the other one creates is there.
    """
    _until_done(lambda: session.execute(statement), CONFLICT, who, wait)


@dataclass(frozen=True)
class Patient:
    """A session for statements that may be repeated as they are: a server that is away is waited for.

    So may all of the catalog's: what is there is not created again, and of an entry that is appended twice one counts,
    however late the other one is (catalog/tables.py, ORDER).
    """

    inner: Session
    who: str
    wait: Callable[[float], bool]

    def execute(self, sql: str) -> None:
        _until_done(lambda: self.inner.execute(sql), AWAY, self.who, self.wait)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        return _until_done(lambda: self.inner.query(sql), AWAY, self.who, self.wait)


def _until_done(statement: Callable[[], T], kind: Backoff, who: str, wait: Callable[[float], bool]) -> T:
    """As often as failures of this kind are worth it; others are told at once."""
    for failures in count(1):
        try:
            return statement()
        except WarehouseError as problem:
            seconds = pause(problem, failures, who) if _kind(problem) is kind else None
            if seconds is None or not wait(seconds):
                raise
    raise TrickleBug("counting came to an end")
