"""Sessions that something happens to, or to what they were asked last."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

from fault_thrift import ThriftSession
from listening import is_its_own

from dbt.adapters.trickle.statements import writes
from dbt_trickle.catalog import tables
from dbt_trickle.errors import WarehouseError
from dbt_trickle.run.session import Session

LONGEST = 240.0
DEAD = 9


def counts(sql: str) -> bool:
    """Whether something may happen at this statement: that writes, or that makes the session another one."""
    return writes(sql) or is_its_own(sql)


@dataclass
class Watched:
    """A session in front of whose statements something is done."""

    inner: Session

    def execute(self, sql: str) -> None:
        self.before(sql)
        self.inner.execute(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self.before(sql)
        return self.inner.query(sql)

    def before(self, sql: str) -> None:
        raise NotImplementedError


@dataclass
class Recorder(Watched):
    """What an alive run executes says where there is to die."""

    every: bool = False
    executed: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # all of it

    def before(self, sql: str) -> None:
        self.asked.append(sql)
        if self.every or counts(sql):
            self.executed.append(sql)


@dataclass
class Mortal(Watched):
    """Ends its process with the statement number `last`: sent to the server, and not waited for.

    The server then does it. Who dies with the answer in hand, or anywhere before the next statement that
    counts, leaves the same warehouse behind: what only reads, and a SET, changes nothing that outlives the
    session. So death before a statement is death after the one before it, and every boundary between any two
    statements is one of these. `last` 0: before the first one that counts. `every` counts those that read, too.
    """

    inner: ThriftSession
    last: int
    told: Connection
    every: bool = False
    executed: int = 0

    def before(self, sql: str) -> None:
        if not self.every and not counts(sql):
            return
        self.executed += 1
        if self.executed >= self.last:
            self.told.send(sql)
            if self.last:
                self.inner.send(sql)
            os._exit(DEAD)


@dataclass
class Meeting(Watched):
    """A session that waits for the other one in front of a statement: the `number`th that `at` begins.

    It waits so many `times`: once to go on together, twice to let the other one do something in between.
    """

    at: str
    barrier: Barrier
    number: int = 1
    times: int = 1

    def before(self, sql: str) -> None:
        if sql.startswith(self.at):
            self.number -= 1
            if self.number == 0:
                for _ in range(self.times):
                    self.barrier.wait(LONGEST)

    def require_met(self) -> None:
        """Otherwise a race that did not take place would be won by everybody."""
        assert self.number <= 0, f"no statement number {self.number} began with {self.at}"


@dataclass
class Interrupted(Watched):
    """A session in front of whose statement number `at`, of those that count, something else happens."""

    at: int
    meanwhile: Callable[[], None]
    executed: int = 0

    def before(self, sql: str) -> None:
        if counts(sql):
            self.executed += 1
            if self.executed == self.at:
                self.meanwhile()


@dataclass
class Lossy:
    """Loses the answer of one statement, of those that count; the catalog's, which are sent again as they are, have a
    test of their own.
    """

    connect: Callable[[], Session]
    inner: Session
    at: int
    executed: int = 0

    def execute(self, sql: str) -> None:
        self.inner.execute(sql)
        self._lose(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        answer = self.inner.query(sql)
        self._lose(sql)
        return answer

    def _lose(self, sql: str) -> None:
        if not counts(sql) or tables.JOURNAL in sql:
            return
        self.executed += 1
        if self.executed - 1 == self.at:
            self.inner = self.connect()  # which knows no setting of the old one's
            raise WarehouseError("TRK-306", f"no answer of {sql[:60]}")
