"""The stream tables that the soak wears out, and what may happen to them."""

from __future__ import annotations

import random
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
OVER = "select region, total from {groups} where total > 0"
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


def whole_run(world: World, requests: list[Request]) -> None:
    world.run(*requests, run=world.invocation(wait=patiently))


@dataclass
class Soak:
    world: World
    requests: list[Request]
    wire: Keeping
    chance: random.Random
    refreshes: int = 0
    runs: int = 0  # those that died, too
    kept: bool = False  # a dead client's last statement is on the wire

    @classmethod
    def of(cls, world: World, wire: Keeping, seed: int) -> Soak:
        names = {name: f"{world.schema}.{name}" for name in ("orders", "customers", "groups")}
        world.sql(*(statement.format(**names) for statement in SOURCES))
        texts = {name: QUERIES[name]["sql"].format(**names) for name in NAMES}
        texts["over"] = OVER.format(**names)
        requests = [
            # Half of them are never recomputed, the others when that is cheaper.
            world.request(name, text, refresh_mode="differential" if number % 2 else "auto")
            for number, (name, text) in enumerate(texts.items())
        ]
        return cls(world, requests, wire, random.Random(seed))

    def change(self) -> list[str]:
        names = {name: f"{self.world.schema}.{name}" for name in ("orders", "customers")}
        done = [text.format(**names) for text in histories.change(self.chance)]
        self.world.sql(*done)
        return done

    # --- what may happen: each answers what it was, and the session of the run that follows ---------------------

    def fault(self, step: int) -> tuple[str, Session]:
        """Each once, then any."""
        kinds = (self.late, self.two, self.alter, self.death, self.lost, self.tidying)
        return (kinds[step] if step < len(kinds) else self.chance.choice(kinds))()

    def _session(self) -> ThriftSession:
        return self.world.connect()

    def _moment(self) -> int:
        """Any of about the statements of a run that write: one of each stream table, one before and one after."""
        return self.chance.randint(1, len(self.requests) + 2)

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

    def death(self) -> tuple[str, Session]:
        what = self._die()
        self._deliver()
        return what, self._session()

    def late(self) -> tuple[str, Session]:
        what, at = self._die(), self._moment()
        session = Interrupted(self._session(), at, self._deliver)
        return f"{what}, delivered before statement {at} of the next run", session

    def lost(self) -> tuple[str, Session]:
        at = self._moment()
        return f"the answer to statement {at} is lost", Lossy(self._session, self._session(), at)

    def two(self) -> tuple[str, Session]:
        self.runs += 2
        answers = at_once(*[partial(whole_run, self.world, self.requests)] * 2)
        assert not [answer for answer in answers if isinstance(answer, Failed)], answers
        return "two runs at once", self._session()

    def tidying(self) -> tuple[str, Session]:
        at = self.chance.choice([*self.states().values()]).storage.sql
        self.world.sql(f"OPTIMIZE {at}", f"VACUUM {at}", f"OPTIMIZE {self.world.schema}.orders")
        return f"OPTIMIZE and VACUUM of {at}", self._session()

    def alter(self) -> tuple[str, Session]:
        """Two models swap their queries."""
        one, other = self.chance.sample(range(0, len(NAMES), 2), 2)
        a, b = self.requests[one], self.requests[other]
        self.requests[one] = replace(a, query=b.query, original=b.query)
        self.requests[other] = replace(b, query=a.query, original=a.query)
        return f"{a.public.identifier} and {b.public.identifier} are altered", self._session()

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
            verdict = verify.verify(self.world.looking, frozen, states[request.pgt_id], own_settings=True)
            assert verdict.outcome == verify.OK, f"{about}\n{verdict}"

    def require_true_history(self) -> None:
        history = self.world.history()
        for state in self.states().values():
            rows = {row["invocation_id"]: row for row in history if row["pgt_id"] == state.pgt_id}
            assert "RUNNING" not in {row["status"] for row in rows.values()}
            commits = recover.marked_commits(self.world.looking, state.storage, state.pgt_id, 1000)
            batches = [marker.batch for _, marker in commits]
            assert len(batches) == len(set(batches)), f"{state.public}: {batches}"
            for commit, marker in commits:
                row = rows[marker.run]
                told = (row["status"], row["batch"], row["rows_inserted"])
                assert told == ("COMPLETED", marker.batch, recover.moved_rows(commit, marker)[0]), row

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
