"""What a changed model does to a stream table that has rows: each case by its name, with changes pending meanwhile.

`dbt_integration` is tests/functional/stream_table/test_stream_lifecycle.py, `concurrent_reads`
tests/faults/test_readers.py, `concurrent_refresh` tests/faults/test_races.py: they need dbt, and processes beside.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import turns
from engine_world import World

from dbt_trickle.config import model
from dbt_trickle.errors import ConfigError
from dbt_trickle.run.request import Request

pytestmark = pytest.mark.spark

ROWS = "SELECT id, region, amount FROM {a}"
TOTALS = "SELECT region, sum(amount) AS total FROM {a} GROUP BY region"
NEWEST = f"{ROWS} ORDER BY amount DESC, id LIMIT 2"
BOTH = f"{ROWS} UNION ALL SELECT id, region, amount FROM {{b}}"


@dataclass(frozen=True)
class Case:
    """The texts that follow each other; of those behind the first, what the run says of columns."""

    texts: tuple[str, ...]
    warned: str = ""
    modes: tuple[str, str] = ("differential", "differential")
    sources: tuple[str, ...] = ("a",)  # that the last one reads


EVERY_CASE = {
    "same_schema": Case((f"{ROWS} WHERE amount > 1", f"{ROWS} WHERE amount > 2")),
    "add_column": Case(("SELECT id, region FROM {a}", ROWS)),
    "remove_column": Case((ROWS, "SELECT id, amount FROM {a}")),
    "type_change_compatible": Case((ROWS, "SELECT id, region, CAST(amount AS BIGINT) AS amount FROM {a}")),
    "type_change_incompatible": Case(
        (ROWS, "SELECT id, region, CAST(amount AS STRING) AS amount FROM {a}"), "amount was int and is string"
    ),
    "change_sources": Case((ROWS, BOTH), sources=("a", "b")),
    "remove_source": Case((BOTH, ROWS)),
    "topk_transition": Case((ROWS, NEWEST, ROWS)),
    "aux_count_transition": Case((ROWS, TOTALS, ROWS)),
    "with_mode_change": Case((ROWS, f"{ROWS} WHERE amount > 2"), modes=("full", "differential")),
    "view_inlining": Case((ROWS, "SELECT id, amount FROM {v}")),
    "row_identity_change": Case((TOTALS, "SELECT id % 2 AS odd, sum(amount) AS total FROM {a} GROUP BY id % 2")),
}
CASES = dict(turns.mine(EVERY_CASE.items(), 2))
# What reads those that it can read the same of before and after.
EVERY_READER = {
    "same_schema": "SELECT region, count(*) AS n FROM {it} GROUP BY region",
    "type_change_compatible": "SELECT id, region FROM {it}",
    "change_sources": "SELECT region, sum(amount) AS total FROM {it} GROUP BY region",
    "row_identity_change": "SELECT count(*) AS n, sum(total) AS total FROM {it}",
}
READERS = {name: text for name, text in EVERY_READER.items() if name in CASES}


@dataclass(frozen=True)
class Scene:
    world: World

    def names(self) -> dict[str, str]:
        return {name: self.world.relation(f"alter_{name}").sql for name in ("a", "b", "v")}

    def create(self) -> None:
        names = self.names()
        for name in ("a", "b"):
            self.world.sql(
                f"CREATE TABLE {names[name]} (id INT, region STRING, amount INT) USING delta",
                f"INSERT INTO {names[name]} VALUES (1, 'n', 1), (2, 's', 2), (2, 's', 2), (3, 'n', 3), (4, NULL, 4)",
            )
        self.world.sql(f"CREATE VIEW {names['v']} AS SELECT id, amount FROM {names['a']} WHERE amount IS NOT NULL")

    def change(self, number: int) -> None:
        """Rows that come, go, and are others, in both."""
        for name in ("a", "b"):
            table = self.names()[name]
            self.world.sql(
                f"INSERT INTO {table} VALUES ({number}, 'w', {number}), (2, 's', 2)",
                f"UPDATE {table} SET amount = {number + 3}, region = 's' WHERE id = {number % 4 + 1}",
            )

    def stream_table(self, name: str, step: int) -> Request:
        case = CASES[name]
        text = case.texts[step].format(**self.names())
        return self.world.request(name, text, refresh_mode=case.modes[min(step, 1)])

    def reader(self, name: str) -> Request:
        text = READERS[name].format(it=self.world.relation(name).sql)
        return self.world.request(f"{name}_below", text, refresh_mode="differential")

    def wrong(self, *requests: Request) -> list[str]:
        return [
            each.name
            for each in requests
            if self.world.rows(f"SELECT * FROM {each.public.sql}") != self.world.rows(each.query)
        ]


class TestAlterCases:
    def test_each_case(self, world: World) -> None:
        scene = Scene(world)
        scene.create()
        last = {name: scene.stream_table(name, 0) for name in CASES}
        readers = [scene.reader(name) for name in READERS]
        assert {each.refresh.action for each in world.run(*last.values(), *readers)} == {"FULL"}
        for step in (1, 2):
            scene.change(10 * step)
            asked = {n: c for n, c in CASES.items() if len(c.texts) > step}
            now = {name: scene.stream_table(name, step) for name in asked}
            reading = [scene.reader(name) for name in READERS if name in asked]
            done = world.run(*now.values(), *reading)
            altered = dict(zip(now, done, strict=False))
            assert {name: each.refresh.action for name, each in altered.items()} == dict.fromkeys(now, "ALTER")
            for name, outcome in altered.items():
                told = "\n".join(outcome.warnings)
                assert (asked[name].warned in told, bool(outcome.warnings)) == (True, bool(asked[name].warned)), told
            below = [each.refresh for each in done[len(now) :]]
            assert [(each.action, "loaded anew" in each.reason) for each in below] == [("DIFFERENTIAL", True)] * len(
                below
            )
            last.update(now)
            assert scene.wrong(*now.values(), *reading) == [], "what was pending is lost, or there twice"
        scene.change(31)
        after = world.run(*last.values(), *readers)
        assert {each.refresh.action for each in after} == {"DIFFERENTIAL"}, [each.refresh.reason for each in after]
        assert scene.wrong(*last.values(), *readers) == []
        self.check_captures(world, last)

    def check_captures(self, world: World, last: dict[str, Request]) -> None:
        """Of a source that is not read any more nothing is kept; of one that is, how it was captured."""
        found = world.catalog().dependencies
        for name, case in CASES.items():
            sources = {each.source.rpartition(".")[2] for each in found[last[name].pgt_id]}
            read = {f"alter_{each}" for each in case.sources}
            assert {each for each in sources if each in ("alter_a", "alter_b")} == read, name

    def test_differential_mode(self, world: World) -> None:
        """A mode alone is no other query: what it needs is loaded once, where it is not there."""
        source = world.relation("modes").sql
        world.sql(
            f"CREATE TABLE {source} (region STRING, amount INT) USING delta",
            f"INSERT INTO {source} VALUES ('n', 1), ('s', 2)",
        )
        query = TOTALS.format(a=source)
        due = {"full": "FULL", "differential": "REINITIALIZE", "auto": "DIFFERENTIAL"}
        for mode, action in due.items():
            world.sql(f"INSERT INTO {source} VALUES ('n', 5)")
            request = world.request("mode_alone", query, refresh_mode=mode, max_change_ratio=1.0)
            outcome = world.run(request)[0].refresh
            assert outcome.action == action, outcome.reason
            assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(query)

    def test_immediate_mode(self) -> None:
        with pytest.raises(ConfigError, match=r"TRK-104.*immediate"):
            model.parse("shop.totals", {"refresh_mode": "immediate"})

    def test_cycle_detection(self, world: World) -> None:
        """Over a name that stands in the text, which dbt takes for a table like any other."""
        source = world.relation("circle_source").sql
        world.sql(f"CREATE TABLE {source} USING delta AS SELECT 1 AS id")
        first = world.request("circle_a", f"SELECT id FROM {source}")
        second = world.request("circle_b", f"SELECT id FROM {first.public.sql}")
        world.run(first, second)
        back = world.request("circle_a", f"SELECT id FROM {second.public.sql}")
        code, what = world.attempt([back])[0]
        assert (code, "over " + str(second.public) in what) == ("TRK-210", True), what
        assert world.rows(f"SELECT * FROM {first.public.sql}") == world.rows("SELECT 1")
        other = world.request("circle_b", f"SELECT id + 1 AS id FROM {source}")
        assert [each.refresh.action for each in world.run(other, back)] == ["ALTER", "ALTER"], "turned round"
        assert world.rows(f"SELECT * FROM {first.public.sql}") == world.rows("SELECT 2")

    def test_invalid_query(self, world: World) -> None:
        source = world.relation("valid").sql
        world.sql(f"CREATE TABLE {source} USING delta AS SELECT 1 AS id")
        good = world.request("valid_query", f"SELECT id FROM {source}")
        world.run(good)
        for text in (
            f"SELECT nothing FROM {source}",
            f"SELECT id FROM {world.relation('nowhere').sql}",
        ):
            assert world.attempt([world.request("valid_query", text)])[0][0].startswith("TRK-"), text
            assert world.rows(f"SELECT * FROM {good.public.sql}") == world.rows(good.query)
        world.sql(f"INSERT INTO {source} VALUES (2)")
        assert world.refreshed(good) in ("DIFFERENTIAL", "FULL")
        assert world.rows(f"SELECT * FROM {good.public.sql}") == world.rows(good.query)
