"""`change_buffer: table`: what a refresh changes is staged, brought in from there, and read there, if it counts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from engine_world import World

from dbt_trickle import names
from dbt_trickle.apply import few
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.names import Relation
from dbt_trickle.run import leave, verify
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

pytestmark = [pytest.mark.spark, pytest.mark.in_turn(3)]

TOTALS = "SELECT region, sum(amount) AS total FROM {t} GROUP BY region"
STAGED = "by staged (its refreshes stage what they change)"
GONE = "is not there any more"
# Each is stored, and brought forward, in another way.
UPSTREAM: Mapping[str, tuple[str, dict[str, Any]]] = {
    "groups": (TOTALS, {}),
    "groups anew": ("SELECT region, max(amount) AS total, count(*) AS n FROM {t} GROUP BY region", {}),
    "keyed": ("SELECT id, region, amount AS total FROM {t}", {"primary_key": ("id",)}),
    "bag": ("SELECT region, amount AS total FROM {t}", {}),
    "first": ("SELECT region, amount AS total FROM {t} ORDER BY amount DESC NULLS LAST, region LIMIT 3", {}),
    "window": (
        "SELECT region, amount AS total, row_number() OVER (PARTITION BY region ORDER BY id) AS n FROM {t}",
        {},
    ),
    "distinct": ("SELECT DISTINCT region, amount AS total FROM {t}", {}),
    "bare": ("SELECT region, amount AS total FROM {t}", {"refresh_mode": "full"}),
}


class Dies(RuntimeError):
    """What a process does that is killed: nothing of it is caught."""


class At:
    """A session in which something happens right before a statement, once; `instead` of it where nothing is given."""

    def __init__(self, session: Session, is_it: Callable[[str], bool], then: Callable[[str], None]) -> None:
        self.session, self.is_it, self.then = session, is_it, then
        self.settings: list[str] = []
        self.happened = 0

    def execute(self, sql: str) -> None:
        self._met(sql)
        self.session.execute(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self._met(sql)
        return self.session.query(sql)

    def _met(self, sql: str) -> None:
        if sql.startswith("SET `spark.databricks.delta.commitInfo"):
            self.settings = [sql]
        if self.is_it(sql) and not self.happened:
            self.happened += 1
            self.then(sql)


def die(_: str) -> None:
    raise Dies


def right(world: World, *requests: Request) -> None:
    for request in requests:
        shown, due = world.rows(f"SELECT * FROM {request.public.sql}"), world.rows(request.query)
        assert shown == due, f"{request.name}: missing {due - shown}, surplus {shown - due}"


def verified(world: World, *requests: Request) -> None:
    states, frozen = world.states(), Frozen(world.looking)
    for request in requests:
        found = verify.verify(world.looking, frozen, states[request.pgt_id])
        assert (found.outcome, found.reason) == (verify.OK, ""), found


def told(outcome: Outcome) -> tuple[str, str]:
    return outcome.refresh.action, outcome.refresh.reason


class Chain:
    """A table, a stream table over it, and one over that."""

    def __init__(self, world: World, name: str, kind: str = "groups", **config: Any) -> None:
        self.world, self.t = world, world.relation(f"{name}_t").sql
        world.sql(
            f"CREATE TABLE {self.t} (id INT, region STRING, amount INT) USING delta",
            f"INSERT INTO {self.t} VALUES (1, 'north', 1), (2, 'north', 2), (3, 'south', 3), (4, 'south', 4), "
            "(5, NULL, NULL)",
        )
        query, own = UPSTREAM[kind]
        given = {"change_buffer": "table", "max_change_ratio": 1.0, **own, **config}
        self.up = world.request(f"{name}_up", query.format(t=self.t), **given)
        self.below = self.reader(f"{name}_below")
        world.run(self.up, self.below)

    def reader(self, name: str) -> Request:
        query = f"SELECT region, total FROM {self.up.public.sql}"
        return self.world.request(name, query, refresh_mode="differential")

    @property
    def state(self) -> StreamTable:
        return self.world.states()[self.up.pgt_id]

    @property
    def table(self) -> Relation:
        return names.changes_table(self.world.settings.change_schema, self.up.pgt_id, self.state.generation)

    def staged(self) -> Counter[int]:
        """Attempts of each batch."""
        rows = self.world.looking.query(
            f"SELECT `__pgt_batch` AS batch, count(DISTINCT `__pgt_token`) AS n FROM {self.table.sql} GROUP BY 1"
        )
        return Counter({row["batch"]: row["n"] for row in rows})

    def shown(self) -> Counter[tuple[Any, ...]]:
        view = names.changes_view(self.world.settings.change_schema, self.up.pgt_id).sql
        found = self.world.looking.query(f"SELECT * EXCEPT (version, pk_hash) FROM {view}")
        return Counter(tuple(row.values()) for row in found)

    def is_commit(self, sql: str) -> bool:
        return f"INTO {self.state.storage.sql}" in sql

    def is_staging(self, sql: str) -> bool:
        return sql.startswith(f"INSERT INTO {self.table.sql} ")

    def killed(self, is_it: Callable[[str], bool], then: Callable[[str], None] = die) -> At:
        session = At(self.world.connect(), is_it, then)
        with pytest.raises(Dies):
            self.world.run(self.up, session=session)
        return session

    def change(self, amount: int, region: str = "north") -> None:
        self.world.sql(f"UPDATE {self.t} SET amount = {amount} WHERE region = '{region}'")


class TestChangeTables:
    @pytest.mark.parametrize("expose", ["view", "table"])
    def test_from_the_first_reader_to_the_last(self, world: World, expose: str) -> None:
        chain = Chain(world, f"life_{expose}", expose=expose, refresh_mode="differential")
        assert chain.staged() == Counter()
        chain.change(9)
        up, below = world.run(chain.up, chain.below)
        assert (up.refresh.action, below.refresh.action) == ("DIFFERENTIAL", "DIFFERENTIAL")
        assert "staged before, for those that read it" in up.refresh.reason
        assert STAGED in below.refresh.reason
        assert (up.refresh.rows_inserted, up.refresh.rows_deleted) == (1, 1)
        assert chain.shown() == Counter({(2, "D", "north", 3): 1, (2, "I", "north", 18): 1})
        rows = world.looking.query(f"SHOW TBLPROPERTIES {chain.state.storage.sql}")
        assert "delta.enableChangeDataFeed" not in {row["key"] for row in rows}
        # What has been read goes with the next batch.
        chain.change(7, "south")
        world.run(chain.up)
        assert chain.staged() == Counter({3: 1})
        assert told(world.run(replace(chain.up, full_refresh=True), chain.below)[1])[0] == "DIFFERENTIAL"
        right(world, chain.up, chain.below)
        # Another generation stages in a table of its own.
        altered = replace(chain.up, query=f"{chain.up.query} HAVING sum(amount) > 0")
        assert [each.refresh.action for each in world.run(altered, chain.below)] == ["ALTER", "DIFFERENTIAL"]
        world.sql(f"DELETE FROM {chain.t} WHERE region = 'south'")
        up, below = world.run(altered, chain.below)
        assert (STAGED in below.refresh.reason, chain.staged()) == (True, Counter({up.refresh.batch: 1}))
        right(world, altered, chain.below)
        verified(world, altered, chain.below)
        tables = world.states()
        session = world.connect()
        leave.drop(session, world.settings, tables[chain.below.pgt_id], list(tables.values()), cascade=False, reads={})
        for _ in range(2):
            pattern = names.literal(f"*{chain.up.pgt_id}*")
            there = world.looking.query(f"SHOW TABLES IN {world.settings.change_schema} LIKE {pattern}")
            assert not [row for row in there if "changes" in row["tableName"]]
            assert world.refreshed(altered) == "NO_DATA"
        assert chain.state.buffer is None

    @pytest.mark.parametrize(("kind", "most"), [*((kind, few.MOST) for kind in UPSTREAM), ("groups", 0), ("bag", 0)])
    def test_whatever_happens(self, world: World, monkeypatch: pytest.MonkeyPatch, kind: str, most: int) -> None:
        """Readers of two speeds, and one that comes later."""
        monkeypatch.setattr(few, "MOST", most)
        name = f"random_{kind.replace(' ', '_')}_{most}"
        chain = Chain(world, name, kind)
        readers, slow = [chain.below], chain.reader(f"{name}_slow")
        world.run(slow)
        chance, reasons = random.Random(name), []
        for step in range(5):
            changes = [
                f"INSERT INTO {chain.t} VALUES ({10 + step}, 'west', {step}), ({20 + step}, 'north', 4)",
                f"DELETE FROM {chain.t} WHERE id = {chance.randrange(1, 6)}",
                f"UPDATE {chain.t} SET amount = amount + 1 WHERE region = '{chance.choice(['north', 'south'])}'",
                f"UPDATE {chain.t} SET region = 'west' WHERE id = {chance.randrange(1, 6)}",
            ]
            world.sql(*chance.sample(changes, chance.choice([1, 2])))
            world.run(replace(chain.up, full_refresh=step == 2))
            if step == 1:
                readers.append(chain.reader(f"{name}_late"))
            found = world.run(*readers, *([slow] if step in (1, 4) else []))
            reasons += [each.refresh.reason for each in found]
            right(world, chain.up, *readers)
        right(world, slow)
        verified(world, chain.up, *readers, slow)
        assert sum(STAGED in reason for reason in reasons) >= 4, reasons

    def test_a_run_that_dies_between_staging_and_commit(self, world: World) -> None:
        chain = Chain(world, "dies")
        chain.change(9)
        chain.killed(chain.is_commit)
        assert chain.staged() == Counter({2: 1})
        assert chain.shown() == Counter(), "nobody counts it"
        assert told(world.run(chain.below)[0])[0] == "NO_DATA"
        chain.change(8)
        up, below = world.run(chain.up, chain.below)
        assert (up.refresh.batch, STAGED in below.refresh.reason) == (2, True)
        assert chain.staged() == Counter({2: 1}), "the dead one's are gone"
        assert chain.shown() == Counter({(2, "D", "north", 3): 1, (2, "I", "north", 16): 1})
        right(world, chain.up, chain.below)

    @pytest.mark.parametrize("when", ["before", "after"])
    def test_a_server_completes_a_dead_clients_staging(self, world: World, when: str) -> None:
        """Before the readers of the batch of that number have read it, and after."""
        chain, late = Chain(world, f"late_{when}"), list[str]()

        def hold(sql: str) -> None:
            late.append(sql)
            raise Dies

        chain.change(9)
        session = chain.killed(chain.is_staging, hold)
        late = [*session.settings, *late]

        def deliver() -> None:
            server = world.connect()
            for statement in late:
                server.execute(statement)

        world.run(chain.up)
        if when == "after":
            world.run(chain.below)
        deliver()
        assert chain.staged() == Counter({2: 2}), "both are there"
        if when == "before":
            assert STAGED in told(world.run(chain.below)[0])[1]
        right(world, chain.up, chain.below)
        assert chain.shown() == Counter({(2, "D", "north", 3): 1, (2, "I", "north", 18): 1})
        chain.change(7)
        below = world.run(chain.up, chain.below)[1]
        assert (STAGED in below.refresh.reason, chain.staged()) == (True, Counter({3: 1}))
        right(world, chain.up, chain.below)

    @pytest.mark.parametrize("staged", [True, False])
    def test_two_runs_stage_the_same_batch(self, world: World, staged: bool) -> None:
        """One of them has staged its own when the other one does all of it; or is just about to."""
        chain = Chain(world, f"race_{staged}")
        chain.change(9)
        others = []
        at = chain.is_commit if staged else chain.is_staging
        session = At(world.connect(), at, lambda _: others.extend(world.run(chain.up)))
        mine = world.run(chain.up, session=session)
        assert session.happened == 1
        assert sorted(each.refresh.action for each in (*mine, *others)) == ["DIFFERENTIAL", "NO_DATA"]
        below = world.run(chain.below)[0]
        assert below.refresh.action == "DIFFERENTIAL"
        right(world, chain.up, chain.below)
        chain.change(3)
        below = world.run(chain.up, chain.below)[1]
        assert STAGED in below.refresh.reason
        right(world, chain.up, chain.below)

    def test_what_was_staged_is_deleted_while_it_is_brought_in(self, world: World) -> None:
        """By a run that takes this one for dead: it reads its own all the same, and readers compare versions."""
        chain = Chain(world, "deleted")
        chain.change(9)
        emptied = f"DELETE FROM {chain.table.sql}"
        session = At(world.connect(), chain.is_commit, lambda _: world.sql(emptied))
        assert world.run(chain.up, session=session)[0].refresh.action == "DIFFERENTIAL"
        action, reason = told(world.run(chain.below)[0])
        assert (action, GONE in reason, "difference" in reason) == ("DIFFERENTIAL", True, True), reason
        right(world, chain.up, chain.below)

    def test_somebody_writes_to_the_storage_meanwhile(self, world: World) -> None:
        """And a reader sees that first: a row that was staged to go is gone already, to this one."""
        chain = Chain(world, "foreign_write", "bag")
        chain.change(9)
        write = f"DELETE FROM {chain.state.storage.sql} WHERE total = 1"

        def written(_: str) -> None:
            world.sql(write)
            world.run(chain.below)

        session = At(world.connect(), chain.is_commit, written)
        world.run(chain.up, session=session)
        action, reason = told(world.run(chain.below)[0])
        assert (action, "was staged for an older one than it was brought into" in reason) == ("DIFFERENTIAL", True)
        right(world, chain.below)
        up, _ = world.run(chain.up, chain.below)
        assert up.refresh.action == "REINITIALIZE"
        right(world, chain.up, chain.below)

    def test_the_table_is_dropped_by_hand(self, world: World) -> None:
        chain = Chain(world, "dropped")
        chain.change(9)
        world.run(chain.up)
        world.sql(f"DROP TABLE {chain.table.sql}")
        action, reason = told(world.run(chain.below)[0])
        assert (action, "what was staged cannot be read" in reason) == ("DIFFERENTIAL", True), reason
        chain.change(8)
        assert STAGED in told(world.run(chain.up, chain.below)[1])[1], "it is made again"
        right(world, chain.up, chain.below)

    def test_a_reader_of_another_catalog(self, world: World) -> None:
        """It is not known there, so nobody waits for it: where it comes too late it goes on by the versions."""
        chain = Chain(world, "foreign")
        settings = ProjectSettings(catalog_schema="other_catalog", change_schema="other_changes")
        other = World.create(world.connect, settings)
        reader = other.request("elsewhere", chain.below.query, refresh_mode="differential")
        other.run(reader)
        due = (STAGED, GONE)
        for number, words in enumerate(due):
            for step in range(number + 1):
                chain.change(20 + 10 * number + step)
                world.run(chain.up, chain.below)
            action, reason = told(other.run(reader)[0])
            assert (action, words in reason) == ("DIFFERENTIAL", True), reason
            right(world, chain.below)
            assert other.rows(f"SELECT * FROM {reader.public.sql}") == world.rows(reader.query)

    def test_most_rows_become_others(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(few, "MOST", 2)
        chain = Chain(world, "others", "bare")
        world.sql(f"UPDATE {chain.t} SET amount = id + 10")
        up, below = world.run(chain.up, chain.below)
        assert "most of its rows are others than before" in up.refresh.reason
        assert below.refresh.action == "DIFFERENTIAL"
        assert STAGED not in below.refresh.reason
        right(world, chain.up, chain.below)
        chain.change(1)
        assert STAGED in told(world.run(chain.up, chain.below)[1])[1]
        assert chain.staged() == Counter({3: 1}), "what was staged in vain is gone"
        right(world, chain.up, chain.below)

    def test_from_the_feed_to_a_table_and_back(self, world: World) -> None:
        """Nothing is loaded anew, and what was not read yet is read all the same."""
        chain = Chain(world, "switched", change_buffer="feed", refresh_mode="differential")
        by_table = replace(chain.up, config=replace(chain.up.config, change_buffer="table"))
        seen = []
        for step, asked in enumerate((chain.up, by_table, by_table, chain.up, chain.up)):
            chain.change(10 + step)
            up, below = world.run(asked, chain.below)
            assert (up.refresh.action, below.refresh.action) == ("DIFFERENTIAL", "DIFFERENTIAL")
            seen.append("feed" if "by feed (" in below.refresh.reason else STAGED in below.refresh.reason)
            right(world, chain.up, chain.below)
            if step in (1, 3):  # a batch that is read only when the other way has begun
                chain.change(100 + step)
                world.run(asked)
        assert seen[1:3] == [True, True], seen
        assert seen[4] in ("feed", False), seen
        assert chain.state.generation == 1
