"""What once made a stream table silently wrong: each is recomputed, reloaded or refused, and then right."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_world import World

from dbt_trickle.catalog import store
from dbt_trickle.delta.aggregate.functions import rule
from dbt_trickle.errors import TrickleError
from dbt_trickle.run.request import Request

pytestmark = pytest.mark.spark


def require_right(world: World, request: Request) -> None:
    assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(request.query)


class TestStaysRight:
    def test_a_column_gets_another_type_and_the_output_does_not(self, world: World) -> None:
        """An average is a DOUBLE of INTs and of DOUBLEs alike; what is kept for it is not."""
        t = world.relation("retyped").sql
        world.sql(f"CREATE TABLE {t} (k INT, x INT) USING delta", f"INSERT INTO {t} VALUES (1, 1)")
        request = world.request("averages", f"SELECT k, avg(x) AS a FROM {t} GROUP BY k")
        world.run(request)
        world.sql(
            f"DROP TABLE {t}",
            f"CREATE TABLE {t} (k INT, x DOUBLE) USING delta",
            f"INSERT INTO {t} SELECT 1, 0.4D FROM range(10)",
        )
        assert world.refreshed(request) == "REINITIALIZE"
        require_right(world, request)
        world.sql(f"INSERT INTO {t} VALUES (1, 1D)")
        assert world.refreshed(request) == "DIFFERENTIAL"
        require_right(world, request)

    def test_a_declared_key_that_does_not_tell_the_loaded_rows_apart(self, world: World) -> None:
        t = world.relation("alike").sql
        world.sql(f"CREATE TABLE {t} (id INT, v STRING) USING delta", f"INSERT INTO {t} VALUES (1, 'a'), (1, 'b')")
        request = world.request("keyed", f"SELECT id, v FROM {t}", primary_key=("id",))
        with pytest.raises(TrickleError, match="TRK-311"):
            world.run(request)
        world.sql(f"UPDATE {t} SET id = 2 WHERE v = 'b'")
        assert world.refreshed(request) == "FULL"
        # Most rows change: all are loaded anew, and looked at again.
        world.sql(f"UPDATE {t} SET id = 1")
        with pytest.raises(TrickleError, match="TRK-311"):
            world.run(request)
        assert sum(world.rows(f"SELECT * FROM {request.public.sql}").values()) == 2

    def test_sums_of_doubles_that_decide_what_is_joined(self, world: World) -> None:
        t = world.relation("amounts").sql
        world.sql(f"CREATE TABLE {t} (id INT, d DOUBLE) USING delta", f"INSERT INTO {t} VALUES (1, 0.1D), (1, 0.2D)")
        inner = f"SELECT id, sum(d) AS s FROM {t} GROUP BY id"
        # To take the old row away, the old sum must be told anew: what is stored does not say whose it was.
        joined = f"SELECT g.s > 0.6 AS much FROM ({inner}) AS g JOIN {t} AS x ON x.id = g.id"
        request = world.request("above", joined, max_change_ratio=1.0)
        world.run(request)
        world.sql(f"INSERT INTO {t} VALUES (1, 1D)")
        outcome = world.run(request)[0].refresh
        assert (outcome.action, "a second time" in outcome.reason) == ("FULL", True)
        require_right(world, request)

    def test_the_catalog_names_another_generation_than_readers_see(self, world: World) -> None:
        """Of two runs the one that had begun with the older query has closed last."""
        t = world.relation("generations").sql
        world.sql(f"CREATE TABLE {t} (k INT, x INT) USING delta", f"INSERT INTO {t} VALUES (1, 1)")
        older = world.request("swapped", f"SELECT k, sum(x) AS s FROM {t} GROUP BY k")
        world.run(older)
        before = world.states()[older.pgt_id]
        world.run(world.request("swapped", f"SELECT k, count(*) AS s FROM {t} GROUP BY k"))
        world.sql(store.append(world.settings.catalog_schema, "late", [store.stream_table(before)]))
        world.sql(f"INSERT INTO {t} VALUES (1, 5)")
        shown = next(
            row["data_type"]
            for row in world.looking.query(f"DESCRIBE TABLE EXTENDED {older.public.sql}")
            if row["col_name"] == "View Text"
        )
        assert world.refreshed(replace(older, shown=shown)) == "ALTER"
        require_right(world, older)

    def test_a_view_casts_what_has_got_another_type(self, world: World) -> None:
        t, v = world.relation("cast_below").sql, world.relation("casting").sql
        world.sql(
            f"CREATE TABLE {t} (k INT, x INT) USING delta",
            f"INSERT INTO {t} VALUES (1, 1)",
            f"CREATE VIEW {v} AS SELECT * FROM {t}",
        )
        request = world.request("compensated", f"SELECT k, x FROM {v}")
        world.run(request)
        world.sql(f"CREATE OR REPLACE TABLE {t} (k INT, x STRING) USING delta", f"INSERT INTO {t} VALUES (1, '07')")
        outcome = world.run(request)[0].refresh
        assert (outcome.action, "shows other columns" in outcome.reason) == ("REINITIALIZE", True), outcome.reason
        require_right(world, request)

    def test_a_source_is_defined_otherwise_and_that_is_forbidden(self, world: World) -> None:
        t, v = world.relation("defined_below").sql, world.relation("defined").sql
        world.sql(
            f"CREATE TABLE {t} (k INT, x INT) USING delta",
            f"INSERT INTO {t} VALUES (1, 1), (2, 2)",
            f"CREATE VIEW {v} AS SELECT * FROM {t} WHERE k > 1",
        )
        request = world.request("guarded", f"SELECT k, x FROM {v}", on_source_change="fail")
        world.run(request)
        world.sql(f"ALTER VIEW {v} AS SELECT * FROM {t}")
        with pytest.raises(TrickleError, match="TRK-215"):
            world.run(request)
        assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows("SELECT 2 AS k, 2 AS x"), (
            "the old content serves"
        )
        assert world.refreshed(replace(request, full_refresh=True)) in ("FULL", "REINITIALIZE")
        require_right(world, request)

    @pytest.mark.parametrize("mode", ["auto", "full"])
    def test_a_text_that_is_a_time_of_today(self, world: World, mode: str) -> None:
        t = world.relation(f"times_{mode}").sql
        world.sql(f"CREATE TABLE {t} (k INT, s STRING) USING delta", f"INSERT INTO {t} VALUES (1, '08:00:00')")
        query = f"SELECT k, max(s) AS s FROM {t} WHERE s < TIMESTAMP '2999-01-01' GROUP BY k"
        request = world.request(f"moments_{mode}", query, refresh_mode=mode, max_change_ratio=1.0)
        world.run(request)
        world.sql(f"INSERT INTO {t} VALUES (1, '09:00:00')")
        outcome = world.run(request)[0].refresh
        assert (outcome.action, "another moment tomorrow" in outcome.reason) == ("FULL", True), outcome.reason
        # Nor is it left alone while no source moves: it may be tomorrow by now.
        outcome = world.run(request)[0].refresh
        assert (outcome.action, "another moment tomorrow" in outcome.reason) == ("FULL", True), outcome.reason
        require_right(world, request)

    def test_a_constant_that_is_another_one_tomorrow(self, world: World) -> None:
        """As a text, of which the optimized plan has only the day that it is today."""
        t = world.relation("days").sql
        world.sql(
            f"CREATE TABLE {t} (d DATE, at TIMESTAMP) USING delta", f"INSERT INTO {t} VALUES (current_date(), now())"
        )
        of_today = (
            "d = 'today'", "at > r'10:30'", "at > concat('10', ':30')",
            "datediff(d, 'today') < 3", "d = to_date('today')", "months_between(at, 'now') < 1",
            "length(user) > 0",  # of no column
        )  # fmt: skip
        lasting = (
            "d > '2024-01-01'", "at >= date_sub(date'2024-01-31', 30)", "at > date_trunc('month', date'2024-03-15')",
            "d > date_add(to_date('2024-01-01'), 3)", "at > '2024-01-01 10:30:00'", "d IN ('today', '1')",  # as texts
        )  # fmt: skip
        requests = [
            world.request(f"day_{number}", f"SELECT d, at FROM {t} WHERE {condition}")
            for number, condition in enumerate((*of_today, *lasting))
        ]
        world.run(*requests)
        for condition, outcome in zip((*of_today, *lasting), world.run(*requests), strict=True):
            told = f"{condition}: {outcome.refresh.action}: {outcome.refresh.reason}"
            due = "FULL" if condition in of_today else "NO_DATA"
            reasons = ("another moment later", "a time of today", "is whoever asks")
            said = any(words in outcome.refresh.reason for words in reasons)
            assert (outcome.refresh.action, said) == (due, condition in of_today), told

    def test_a_kept_sum_that_does_not_fit_is_no_zero(self, world: World) -> None:
        """That takes ten billion rows, so what is computed of them is looked at by itself."""
        found = rule("sum", "decimal(27,0)", "decimal(37,0)")
        assert found is not None
        kept, _ = found.parts
        rows, changes = kept.of_rows.format(x="x"), kept.of_changes.format(x="x", w="w")
        value = found.value.format("x", "w")
        most, beyond = "9" * 27, "9" * 38

        def told(text: str, *values: str) -> object:
            given = ", ".join(f"({x}, {w})" for x, w in (value.split(" times ") for value in values))
            (row,) = world.looking.query(f"SELECT {text} AS told FROM VALUES {given} AS t(x, w)")
            return row["told"]

        assert told(rows, f"{most}BD times 1L", "NULL times 1L") == int(most)
        assert told(changes, f"{most}BD times 3L", "1BD times -2L", "NULL times 1L") == int(most) * 3 - 2
        assert told(rows, "CAST(NULL AS DECIMAL(27,0)) times 1L") == 0
        assert told(changes, "CAST(NULL AS DECIMAL(27,0)) times 1L") == 0
        assert told(value, "CAST(NULL AS DECIMAL(37,0)) times 0L") is None
        for text, values in (
            (rows, [f"{beyond}BD times 1L"] * 2),
            (changes, [f"{most}BD times 10000000000L"]),
            (changes, [f"{beyond}BD times 9L"]),
            (value, ["CAST(NULL AS DECIMAL(37,0)) times 1L"]),
        ):
            with pytest.raises(TrickleError, match="TRK-313"):
                told(text, *values)
