"""The stream tables that the soak wears out, and what may happen to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import yaml
from engine_world import World
from fault_child import Failed, at_once, dies, patiently
from fault_proxy import Keeping
from fault_sessions import Interrupted, Lossy, Mortal
from fault_thrift import ThriftSession, ThriftSessions
from functional.engine import histories

from dbt_trickle.apply import few
from dbt_trickle.catalog import tables
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.names import Relation
from dbt_trickle.run import recover, verify
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

QUERIES = yaml.safe_load(Path(histories.__file__).with_name("queries.yml").read_text("utf-8"))
# Of each way of bringing changes in some; the last one reads another stream table.
NAMES = ("filter", "join", "three_way", "groups", "averages", "extremes", "having", "whole", "join_groups", "doubles")
# The same with less: what `make test` has time for.
SOME = ("filter", "groups", "join", "extremes")
OVER = "select region, total from {groups} where total > 0"
# Each step does this as well, so that there is something to do when a fault comes.
SURE = (
    "insert into {orders} values (7, 1, 'south', 9, 1.00, 'x', 0D)",
    "update {orders} set amount = amount + 1 where id = 7",
)
# More than are brought in as few; what else changes rows does not name their ids, but it may delete them all.
MANY = f"insert into {{orders}} select 1000 + id, 2, 'west', id % 10, 1.25, 'x', 0D from range({few.MOST + 1})"
SOURCES = (
    """create table {orders} (id int, customer int, region string, amount bigint, price decimal(12,2), note string,
       weight double) using delta tblproperties (delta.enableChangeDataFeed = true)""",
    "create table {customers} (customer int, name string, tier string) using delta",
    "insert into {customers} values (1, 'ann', 'a'), (2, 'bob', 'b'), (2, 'bob', 'b'), (null, 'nobody', null)",
    """insert into {orders} values (1, 1, 'north', 10, 1.50, 'x', 0D), (2, 2, 'north', null, 2.00, null, 0D),
       (2, 2, 'north', null, 2.00, null, 0D), (3, 3, null, 7, null, 'y', double('NaN'))""",
)


def run_until(world: World, requests: list[Request], last: int, wire: ThriftSessions, told: Connection) -> None:
    world = replace(world, connect=wire, look=wire.kept)
    world.run(*requests, session=Mortal(wire.kept(), last, told))


@dataclass(frozen=True)
class Fault:
    what: str
    session: Session  # of the run that follows
    happened: Callable[[list[str]], bool] = lambda _: True  # given what that run did


def whole_run(world: World, requests: list[Request]) -> None:
    world.run(*requests, run=world.invocation(wait=patiently))


@dataclass
class Soak:
    world: World
    requests: list[Request]
    names: Sequence[str]
    wire: Keeping
    chance: random.Random
    step: int = -1
    refreshes: int = 0
    runs: int = 0  # those that died, too
    kept: bool = False  # a dead client's last statement is on the wire

    @classmethod
    def of(cls, world: World, wire: Keeping, seed: int, of: Sequence[str]) -> Soak:
        names = {name: f"{world.schema}.{name}" for name in ("orders", "customers", "groups")}
        world.sql(*(statement.format(**names) for statement in SOURCES))
        texts = {name: QUERIES[name]["sql"].format(**names) for name in of}
        texts["over"] = OVER.format(**names)
        requests = [
            # Half of them are never recomputed, the others when that is cheaper.
            world.request(name, text, refresh_mode="differential" if number % 2 else "auto")
            for number, (name, text) in enumerate(texts.items())
        ]
        return cls(world, requests, of, wire, random.Random(seed))

    def change(self) -> list[str]:
        """The sources of the next step."""
        self.step += 1
        names = {name: f"{self.world.schema}.{name}" for name in ("orders", "customers")}
        texts = [*histories.change(self.chance), *SURE, *([MANY] if self.step % 4 == 1 else ())]
        done = [text.format(**names) for text in texts]
        self.world.sql(*done)
        return done

    # --- what may happen ----------------------------------------------------------------------------------------

    @property
    def _kinds(self) -> Sequence[Callable[[], Fault]]:
        return (self.late, self.two, self.alter, self.death, self.lost, self.tidying)

    @property
    def is_first(self) -> bool:
        """Each kind once, then any; the first time it has to happen."""
        return self.step < len(self._kinds)

    def fault(self) -> Fault:
        return (self._kinds[self.step] if self.is_first else self.chance.choice(self._kinds))()

    def _session(self) -> ThriftSession:
        return self.world.connect()

    def _moment(self) -> int:
        """Any of about the statements of a run that count: up to three of each stream table, one before, one after.

        A run has at least five, as some stream tables may have nothing to do, or bring it in by one statement. The one
        that opens it is of less interest than any.
        """
        return self.chance.randint(2, 5 if self.is_first else 3 * len(self.requests) + 2)

    def _die(self) -> str:
        self.runs += 1
        self.wire.expect()
        to = ThriftSessions(self.wire.host, self.wire.port)
        statement = dies(run_until, self.world, self.requests, self._moment(), to)
        self.kept = statement is not None
        return f"death with {statement[:60]!r}" if statement is not None else "death after all was done"

    def _deliver(self) -> None:
        if self.kept:
            self.wire.deliver()
        self.kept = False

    def death(self) -> Fault:
        what, died = self._die(), self.kept
        self._deliver()
        return Fault(what, self._session(), lambda _: died)

    def late(self) -> Fault:
        what, died, at = self._die(), self.kept, self._moment()
        session = Interrupted(self._session(), at, self._deliver)
        return Fault(f"{what}, delivered before statement {at} of the next run", session, lambda _: died)

    def lost(self) -> Fault:
        at = self._moment() // 2  # what opens and closes a run is none of them
        session = Lossy(self._session, self._session(), at)
        return Fault(f"the answer to statement {at} is lost", session, lambda _: session.executed > at)

    def two(self) -> Fault:
        self.runs += 2
        answers = at_once(*[partial(whole_run, self.world, self.requests)] * 2)
        assert not [answer for answer in answers if isinstance(answer, Failed)], answers
        return Fault("two runs at once", self._session())

    def tidying(self) -> Fault:
        at = self.chance.choice([*self.states().values()]).storage.sql
        self.world.sql(f"OPTIMIZE {at}", f"VACUUM {at}", f"OPTIMIZE {self.world.schema}.orders")
        return Fault(f"OPTIMIZE and VACUUM of {at}", self._session())

    def alter(self) -> Fault:
        """Two models swap their queries."""
        one, other = self.chance.sample(range(0, len(self.names), 2), 2)
        a, b = self.requests[one], self.requests[other]
        self.requests[one] = replace(a, query=b.query, original=b.query)
        self.requests[other] = replace(b, query=a.query, original=a.query)
        what = f"{a.public.identifier} and {b.public.identifier} are altered"
        return Fault(what, self._session(), lambda actions: actions.count("ALTER") == 2)

    # --- and what must hold after it ----------------------------------------------------------------------------

    def states(self) -> dict[int, StreamTable]:
        return self.world.states()

    def run(self, session: Session) -> list[str]:
        outcomes = self.world.run(*self.requests, session=session)
        self._deliver()
        self.runs += 1
        self.refreshes += len(outcomes)
        return [outcome.refresh.action for outcome in outcomes]

    def require_right(self, about: str) -> None:
        states, frozen = self.states(), Frozen(self.world.looking)
        for request in self.requests:
            verdict = verify.verify(self.world.looking, frozen, states[request.pgt_id])
            # None of the queries has a column that may come out otherwise: nothing may be left out.
            assert (verdict.outcome, verdict.reason) == (verify.OK, ""), f"{about}\n{verdict}"

    def require_true_history(self) -> set[tuple[str, str]]:
        """Also in which ways each stream table was written."""
        history, ways = self.world.history(), set()
        for state in self.states().values():
            rows = {row["invocation_id"]: row for row in history if row["pgt_id"] == state.pgt_id}
            assert "RUNNING" not in {row["status"] for row in rows.values()}
            commits = recover.marked_commits(self.world.looking, state.storage, state.pgt_id, 1000)
            batches = [marker.batch for _, marker in commits]
            assert len(batches) == len(set(batches)), f"{state.public}: {batches}"
            for commit, marker in commits:
                ways.add((state.pgt_name, marker.work))
                row = rows[marker.run]
                told = (row["status"], row["batch"], row["rows_inserted"])
                assert told == ("COMPLETED", marker.batch, recover.moved_rows(commit, marker)[0]), row
        return ways

    def files(self) -> dict[str, int]:
        """How many files each storage now consists of."""
        return {state.pgt_name: self._files(state.storage) for state in self.states().values()}

    def journal(self) -> dict[str, int]:
        """The rows of the history, which stays for its retention, all other rows, and the files."""
        table = tables.journal(self.world.settings.catalog_schema)
        history = f"count_if(kind = '{tables.HISTORY}')"
        query = f"SELECT {history} AS history, count(*) - {history} AS others FROM {table.sql}"
        return {**self.world.looking.query(query)[0], "files": self._files(table)}

    def _files(self, table: Relation) -> int:
        return int(self.world.looking.query(f"DESCRIBE DETAIL {table.sql}")[0]["numFiles"])
