"""A full refresh of a stream table that others read writes what differs, and they go on from that."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_world import World

from dbt_trickle.apply import few, whole
from dbt_trickle.run.announced import Outcome
from dbt_trickle.run.request import Request

pytestmark = pytest.mark.spark

# Each is recomputed on every change, and stored in another way: by groups with kept state, by a declared key, as a
# bag with ids, and as a bag without.
UPSTREAM = {
    "groups": ("SELECT region, sum(amount) AS total, count(*) AS n FROM {t} GROUP BY region", {}),
    "keyed": ("SELECT id, region, amount AS total FROM {t}", {"primary_key": ("id",)}),
    "bag": ("SELECT region, amount AS total FROM {t}", {}),
    "bare": ("SELECT region, amount AS total FROM {t}", {"refresh_mode": "full"}),
}
READER = "SELECT region, total FROM {up} WHERE total > 0"


def right(world: World, *requests: Request) -> None:
    for request in requests:
        shown = world.rows(f"SELECT * FROM {request.public.sql}")
        due = world.rows(request.query)
        assert shown == due, f"{request.name}: missing {due - shown}, surplus {shown - due}"


def row(outcome: Outcome) -> tuple[str, int, int]:
    return outcome.refresh.action, outcome.refresh.rows_inserted, outcome.refresh.rows_deleted


def versions(world: World, outcome: Outcome) -> int:
    assert outcome.state is not None
    return int(world.looking.query(f"DESCRIBE HISTORY {outcome.state.storage.sql} LIMIT 1")[0]["version"])


def full(request: Request) -> Request:
    return replace(request, full_refresh=True)


class TestFullWithReaders:
    def chain(self, world: World, kind: str, name: str, **reader: object) -> tuple[str, Request, Request]:
        t = world.relation(f"{name}_{kind}").sql
        world.sql(
            f"CREATE TABLE {t} (id INT, region STRING, amount INT, note STRING) USING delta",
            f"INSERT INTO {t} VALUES (1, 'north', 1, 'a'), (2, 'north', 2, 'a'), (3, 'south', 3, 'a'), "
            "(4, NULL, NULL, 'a'), (5, 'east', 5, 'a'), (6, 'east', 5, 'a'), (7, 'east', 5, 'a')",
        )
        query, config = UPSTREAM[kind]
        upstream = world.request(f"up_{name}_{kind}", query.format(t=t), **config)
        given = {"max_change_ratio": 1.0, **reader}
        below = world.request(f"down_{name}_{kind}", READER.format(up=upstream.public.sql), **given)
        assert [each.refresh.action for each in world.run(upstream, below)] == ["FULL", "FULL"]
        return t, upstream, below

    # Few rows by their ids, and as if they were many.
    @pytest.mark.parametrize(("kind", "most"), [*((kind, few.MOST) for kind in UPSTREAM), ("groups", 0), ("bag", 0)])
    def test_what_differs_is_written(self, world: World, monkeypatch: pytest.MonkeyPatch, kind: str, most: int) -> None:
        monkeypatch.setattr(few, "MOST", most)
        monkeypatch.setattr(whole, "MOST", 1.0)
        t, upstream, below = self.chain(world, kind, f"differs_{most}")
        before = world.rows(upstream.query)
        world.sql(
            f"UPDATE {t} SET amount = 9 WHERE id = 1",
            f"DELETE FROM {t} WHERE id = 6",
            f"INSERT INTO {t} VALUES (8, 'west', NULL, 'a')",
        )
        now = world.rows(upstream.query)
        done = world.run(full(upstream), below)
        assert row(done[0]) == ("FULL", (now - before).total(), (before - now).total()), done[0].refresh.reason
        assert "rows that differ from the stored ones written" in done[0].refresh.reason
        assert done[1].refresh.action == "DIFFERENTIAL", done[1].refresh.reason
        right(world, upstream, below)

    @pytest.mark.parametrize("kind", ["groups", "bare"])
    def test_no_row_differs(self, world: World, kind: str) -> None:
        t, upstream, below = self.chain(world, kind, "same")
        world.sql(f"UPDATE {t} SET note = 'b'", f"OPTIMIZE {t}")
        before = versions(world, world.run(below)[0])
        done = world.run(full(upstream), below)
        assert row(done[0]) == ("FULL", 0, 0)
        assert "none of its rows changed" in done[0].refresh.reason
        assert done[1].refresh.action == "NO_DATA"
        assert versions(world, done[1]) == before
        assert done[0].state is not None
        assert done[0].refresh.batch == 1, "nothing was committed"
        assert world.refreshed(upstream) == "NO_DATA", "what was found out counts"

    def test_most_rows_are_others(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(few, "MOST", 2)
        t, upstream, below = self.chain(world, "bare", "others")
        never = world.request("never_full", below.query, refresh_mode="differential")
        world.run(never)
        world.sql(f"UPDATE {t} SET amount = amount + 1")
        done = world.run(upstream, below, never)
        assert "most of its rows are others than before" in done[0].refresh.reason
        assert row(done[0]) == ("FULL", 7, 7)
        assert done[1].refresh.action == "FULL"
        assert f"most rows of {upstream.name} are others than before" in done[1].refresh.reason
        assert done[2].refresh.action == "DIFFERENTIAL", "its versions can be compared all the same"
        right(world, upstream, below, never)

    def test_without_readers_it_is_overwritten(self, world: World) -> None:
        t, upstream, _ = self.chain(world, "bag", "alone")
        alone = world.request("alone", upstream.query)
        world.run(alone)
        world.sql(f"UPDATE {t} SET note = 'b'")
        assert row(world.run(full(alone))[0]) == ("FULL", 7, 7)

    def test_a_write_of_somebody_elses_below_it_is_found(self, world: World) -> None:
        """What is written does not replace all rows, so what somebody else has put there stays."""
        t, upstream, below = self.chain(world, "bag", "foreign")
        storage = world.states()[upstream.pgt_id].storage.sql
        world.sql(f"UPDATE {t} SET amount = 9 WHERE id = 1")
        session, asked = world.connect(), full(upstream)

        class Writes:
            """Somebody else, right before the commit."""

            done = False

            def execute(self, statement: str) -> None:
                if statement.startswith("INSERT INTO") and "REPLACE WHERE" in statement and not self.done:
                    self.done = True
                    world.sql(f"DELETE FROM {storage} WHERE total = 3")
                session.execute(statement)

            def query(self, statement: str) -> object:
                return session.query(statement)

        world.run(asked, session=Writes())  # type: ignore[arg-type]
        outcome = world.run(upstream, below)
        assert outcome[0].refresh.action == "REINITIALIZE"
        right(world, upstream, below)
