"""What cost other engines wrong results, trap by trap: trap_scenes.yml has the queries and the changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from engine_world import World, now
from trap_scenes import FEED, SCENES, TRAPS, Lived, live

from dbt_trickle.apply import few
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.run import suspend, understand
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session
from dbt_trickle.tree.build import build

pytestmark = pytest.mark.spark

VACUUM = ("SET spark.databricks.delta.retentionDurationCheck.enabled = false",)


@pytest.fixture(scope="class")
def world(connect: Callable[[], Session]) -> World:
    session = connect()  # one for all questions: there are hundreds
    settings = ProjectSettings(catalog_schema="traps_catalog", change_schema="traps_changes")
    return World.create(connect, settings, lambda: session)


class TestTraps:
    @pytest.fixture(scope="class")
    def lived(self, world: World) -> Lived:
        return live(world)

    @pytest.mark.parametrize("name", TRAPS)
    def test_trap(self, lived: Lived, name: str) -> None:
        scene, spec = TRAPS[name]
        before, then = lived.first[name], spec.get("then", [])
        assert before.did == spec.get("refused", "FULL"), before
        assert "refused" in spec or before.shown == before.wanted, before
        usual = "FULL" if "recomputed" in spec else "DIFFERENTIAL"
        for step, seen in enumerate(lived.after[name]):
            due = then[step] if step < len(then) else usual
            wanted = before.shown if due.startswith("TRK-") else seen.wanted
            about = f"{SCENES[scene]['changes'][step]}\n{seen.did}: {seen.reason}"
            assert wanted is not None, about
            assert seen.shown == wanted, f"{about}\nmissing {wanted - seen.shown}\nsurplus {seen.shown - wanted}"
            assert (seen.did, spec.get("recomputed", "") in seen.reason) == (due, True), about
            before = seen


class TestTrapsByThemselves:
    def test_rows_that_tie_for_the_last_place(self, world: World) -> None:
        """Which of them is among the first is anybody's choice; that as many are there as were asked for is not."""
        t = world.relation("tied").sql
        world.sql(
            f"CREATE TABLE {t} (id INT, x INT) USING delta", f"INSERT INTO {t} VALUES (1, 5), (2, 5), (3, 5), (4, 1)"
        )
        query = f"SELECT id, x FROM {t} ORDER BY x DESC LIMIT 2"
        request = world.request("first_two", query, refresh_mode="auto", max_change_ratio=1.0)
        world.run(request)

        def require(action: str, *changes: str) -> list[int]:
            world.sql(*changes)
            assert world.refreshed(request) == action
            shown = world.rows(f"SELECT id, x FROM {request.public.sql}")
            assert shown <= world.rows(f"SELECT id, x FROM {t}")
            assert Counter(x for _, x in shown.elements()) == Counter(x for _, x in world.rows(query).elements())
            return [id for id, x in shown if x == 5]

        first, _ = require("NO_DATA", f"INSERT INTO {t} VALUES (5, 5)")
        first, _ = require("FULL", f"DELETE FROM {t} WHERE id = {first}")  # who is behind it is not stored
        (_,) = require("DIFFERENTIAL", f"DELETE FROM {t} WHERE id = {first}", f"INSERT INTO {t} VALUES (6, 9)")

    def test_a_merge_that_has_nothing_to_do(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """No commit of its own can say how far it has read; the next refresh begins there all the same."""
        monkeypatch.setattr(few, "MOST", 0)
        t = world.relation("balanced").sql
        world.sql(
            f"CREATE TABLE {t} (k INT, x INT) USING delta {FEED}", f"INSERT INTO {t} VALUES (1, 1), (1, 2), (2, 5)"
        )
        query = f"SELECT b.x FROM (SELECT k, sum(x) AS x FROM {t} GROUP BY k) AS b"
        request = world.request("balance", query, refresh_mode="differential")
        world.run(request)
        world.sql(f"UPDATE {t} SET x = 3 - x WHERE k = 1")
        [(action, reason)] = world.attempt([request])
        assert (action, reason.endswith("none of its rows changed")) == ("NO_DATA", True), reason
        (read,) = world.states()[request.pgt_id].frontier.values()
        (newest,) = world.looking.query(f"DESCRIBE HISTORY {t} LIMIT 1")
        assert read.version == newest["version"] == 2
        assert world.attempt([request])[0] == ("NO_DATA", "no source moved")
        world.sql(f"DELETE FROM {t} WHERE x = 2")
        assert world.refreshed(request) == "DIFFERENTIAL"
        assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(query)

    def test_it_was_understood_otherwise_than_spark_plans_it(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As if the parser had changed a meaning; the guard is asked before anything is believed."""
        t = world.relation("misread").sql
        world.sql(f"CREATE TABLE {t} (k INT, x INT) USING delta", f"INSERT INTO {t} VALUES (1, 1), (2, 2), (3, 3)")
        query, why = f"SELECT k FROM {t} WHERE x > 1", "Spark plans it differently from how it was understood"
        monkeypatch.setattr(understand, "build", lambda text, *more: build(text.replace("x > 1", "x > 2"), *more))
        strict = world.request("misread_strict", query, refresh_mode="differential")
        [(code, reason)] = world.attempt([strict])
        assert (code, why in reason) == ("TRK-203", True), reason
        assert world.kind_of(strict.public) is None
        lenient = world.request("misread_lenient", query, max_change_ratio=1.0)
        world.run(lenient)
        world.sql(f"INSERT INTO {t} VALUES (4, 2)")
        [(action, reason)] = world.attempt([lenient])
        assert (action, why in reason) == ("FULL", True), reason
        assert world.rows(f"SELECT * FROM {lenient.public.sql}") == world.rows(query)

    def test_a_reader_that_was_suspended_and_what_it_has_not_read_is_gone(self, world: World) -> None:
        """What its source has cleaned up meanwhile is told as lost; while it is there it is caught up on."""
        t = world.relation("cleaned").sql
        world.sql(f"CREATE TABLE {t} (k INT, x INT) USING delta {FEED}", f"INSERT INTO {t} VALUES (1, 1), (2, 2)")
        query = f"SELECT k, sum(x) AS s FROM {t} GROUP BY k"
        modes = {"awake": "differential", "early": "differential", "late": "auto", "strict": "differential"}
        readers = {name: world.request(name, query, refresh_mode=mode) for name, mode in modes.items()}
        sleepers = [readers[name] for name in ("early", "late", "strict")]

        def step(*changes: str) -> dict[str, str]:
            world.sql(*changes)
            return dict(zip(readers, [code for code, _ in world.attempt(list(readers.values()))], strict=True))

        def write(command: str, change: Callable[[StreamTable, str], StreamTable], *asked: Request) -> None:
            states = world.states()
            suspend.write(world.looking, world.settings, command, [change(states[r.pgt_id], now()) for r in asked])

        assert set(step().values()) == {"FULL"}
        write("suspend", suspend.suspended, *sleepers)
        before = world.rows(f"SELECT * FROM {readers['strict'].public.sql}")
        told = step(f"UPDATE {t} SET x = x + 10")
        assert told == {"awake": "DIFFERENTIAL", "early": "SKIP", "late": "SKIP", "strict": "SKIP"}
        write("resume", suspend.resumed, readers["early"])
        told = step(f"DELETE FROM {t} WHERE k = 2")
        assert (told["awake"], told["early"]) == ("DIFFERENTIAL", "DIFFERENTIAL")
        world.sql(*VACUUM, f"VACUUM {t} RETAIN 0 HOURS")
        write("resume", suspend.resumed, readers["late"], readers["strict"])
        assert step(f"INSERT INTO {t} VALUES (1, 1)") == {
            "awake": "DIFFERENTIAL", "early": "DIFFERENTIAL", "late": "FULL", "strict": "TRK-203"
        }  # fmt: skip
        for name in ("awake", "early", "late"):
            assert world.rows(f"SELECT * FROM {readers[name].public.sql}") == world.rows(query), name
        assert world.rows(f"SELECT * FROM {readers['strict'].public.sql}") == before
