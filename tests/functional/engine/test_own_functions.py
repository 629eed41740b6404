"""Stream tables that call functions of the user's own: while these stand as they were, and when they change."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from engine_world import World

from dbt_trickle.errors import ModelError
from dbt_trickle.run import verify
from dbt_trickle.run.explain import explained
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.request import Request

pytestmark = pytest.mark.spark

QUERY = "select {lib}.label(region) as l, sum({lib}.taxed(amount)) as s, count(*) as n from {t} group by 1"
TAXED = "CREATE OR REPLACE FUNCTION {lib}.taxed(x DECIMAL(10, 2)) RETURNS DECIMAL(12, 2) RETURN x * {lib}.rate()"
RATE = "CREATE OR REPLACE FUNCTION {lib}.rate() RETURNS DECIMAL(4, 2) COMMENT 'percent' RETURN {rate}"
LABEL = "CREATE OR REPLACE FUNCTION {lib}.label(x STRING) RETURNS STRING DETERMINISTIC RETURN coalesce(upper(x), '-')"


class TestOwnFunctions:
    @pytest.fixture
    def made(self, world: World, request: pytest.FixtureRequest) -> Callable[..., Request]:
        """A table and functions of a test's own, and a stream table over them."""
        name = request.node.name.removeprefix("test_")
        names = {"lib": f"{world.schema}_{name}", "t": f"{world.schema}_{name}.t"}
        statements = (
            "CREATE SCHEMA {lib}",
            "CREATE TABLE {t} (region string, amount decimal(10, 2), day string) USING delta",
            "INSERT INTO {t} VALUES ('a', 10, '2024-01-01'), ('A', 5.5, null), ('b', null, ''), (null, 1, 'x')",
        )
        world.sql(*(text.format(**names) for text in statements))
        self.function(world, names["lib"], LABEL, RATE, TAXED)

        def made(query: str = QUERY, **more: object) -> Request:
            return world.request(name, query.format(**names), **more)

        return made

    def function(self, world: World, lib: str, *texts: str, rate: str = "1.20") -> None:
        world.sql(*(text.format(lib=lib, rate=rate) for text in texts))

    def lib(self, request: Request) -> str:
        return request.query.split("select ")[1].split(".")[0]

    def agrees(self, world: World, request: Request) -> None:
        assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(request.query)

    def test_maintained(self, world: World, made: Callable[..., Request]) -> None:
        request = made(refresh_mode="differential")
        lib = self.lib(request)
        world.run(request)
        for change in (
            "INSERT INTO {t} VALUES ('c', 3, null), ('a', 1, null)",
            "UPDATE {t} SET region = 'B' WHERE region = 'a'",
            "DELETE FROM {t} WHERE region IS NULL",
        ):
            world.sql(change.format(t=f"{lib}.t"))
            [outcome] = world.run(request)
            assert outcome.refresh.action == "DIFFERENTIAL", outcome.refresh.reason
            self.agrees(world, request)
        state = world.states()[request.pgt_id]
        assert {f"{lib}.label", f"{lib}.taxed", f"{lib}.rate", "sum", "count"} <= set(state.functions_used)
        assert verify.verify(world.looking, Frozen(world.looking), state).outcome == verify.OK
        told = explained(request, world.connect(), world.invocation())
        assert {f"{lib}.label()", f"{lib}.rate()"} <= {
            each.relation for each in told.sources if each.kind == "FUNCTION"
        }

    def test_made_anew(self, world: World, made: Callable[..., Request]) -> None:
        """With the same text it is the same; with another one all rows are computed anew, whatever called it."""
        request = made(refresh_mode="differential")
        lib = self.lib(request)
        world.run(request)
        self.function(world, lib, LABEL, RATE, TAXED)
        assert world.refreshed(request) == "NO_DATA"
        self.function(world, lib, RATE, rate="1.50")
        state = world.states()[request.pgt_id]
        verdict = verify.verify(world.looking, Frozen(world.looking), state)
        assert (verdict.outcome, verdict.reason) == (
            verify.NOT_VERIFIABLE,
            f"the function {lib}.rate() has changed since its last refresh",
        )
        [outcome] = world.run(request)
        assert outcome.refresh.action == "REINITIALIZE"
        assert f"{lib}.rate() was replaced" in outcome.refresh.reason
        self.agrees(world, request)
        assert world.refreshed(request) == "NO_DATA"

    def test_made_under_other_settings(self, world: World, made: Callable[..., Request]) -> None:
        """Its text is as it was, and a cast that gave NULL is an error now: Spark evaluates it as it was made."""
        request = made("select {lib}.days(day) as d, count(*) as n from {t} group by 1", refresh_mode="differential")
        lib = self.lib(request)
        days = f"CREATE OR REPLACE FUNCTION {lib}.days(x STRING) RETURNS DATE RETURN cast(x AS DATE)"
        world.sql(days)
        world.run(request)
        self.agrees(world, request)
        session = world.connect()
        session.execute("SET spark.sql.ansi.enabled = true")
        session.execute(days)
        with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
            world.run(request)
        world.sql(days)
        assert world.refreshed(request) == "NO_DATA"

    def test_dropped(self, world: World, made: Callable[..., Request]) -> None:
        request = made(max_change_ratio=1.0)
        lib = self.lib(request)
        world.run(request)
        before = world.rows(f"SELECT * FROM {request.public.sql}")
        world.sql(f"DROP FUNCTION {lib}.rate", f"INSERT INTO {lib}.t VALUES ('d', 1, null)")
        with pytest.raises(ModelError, match=r"TRK-202.*rate\(\), which it calls, does not exist"):
            world.run(request)
        assert world.rows(f"SELECT * FROM {request.public.sql}") == before
        self.function(world, lib, RATE)
        assert world.refreshed(request) == "DIFFERENTIAL"
        self.agrees(world, request)

    def test_forbidden_to_change(self, world: World, made: Callable[..., Request]) -> None:
        request = made(on_source_change="fail")
        world.run(request)
        self.function(world, self.lib(request), RATE, rate="2")
        with pytest.raises(ModelError, match="TRK-215"):
            world.run(request)

    def test_below_a_view(self, world: World, made: Callable[..., Request]) -> None:
        request = made("select {lib}.rate() as r, v.* from {lib}.v", refresh_mode="differential")
        lib = self.lib(request)
        world.sql(f"CREATE VIEW {lib}.v AS SELECT {lib}.label(region) AS l, amount FROM {lib}.t")
        world.run(request)
        world.sql(f"INSERT INTO {lib}.t VALUES ('d', 1, null)")
        assert world.refreshed(request) == "DIFFERENTIAL"
        self.agrees(world, request)
        self.function(world, lib, LABEL.replace("'-'", "'none'"))
        assert world.refreshed(request) == "REINITIALIZE"
        self.agrees(world, request)

    def test_volatile(self, world: World, made: Callable[..., Request]) -> None:
        lib = self.lib(made())
        self.function(
            world,
            lib,
            "CREATE FUNCTION {lib}.any(x DOUBLE) RETURNS DOUBLE RETURN x + rand()",
            "CREATE FUNCTION {lib}.told(x DOUBLE) RETURNS DOUBLE NOT DETERMINISTIC RETURN x",
            "CREATE FUNCTION {lib}.claimed(x DOUBLE) RETURNS DOUBLE DETERMINISTIC RETURN x + rand()",
            "CREATE FUNCTION {lib}.aged(x DATE DEFAULT current_date()) RETURNS INT RETURN year(x)",
        )
        for call in ("any(amount)", "told(amount)", "claimed(amount)", "aged()"):
            request = made(f"select {{lib}}.{call} as v from {{t}}")
            with pytest.raises(ModelError, match=rf"TRK-204.*{lib}\.{call.split('(')[0]}\(\)"):
                world.run(request)
        request = made("select {lib}.told(amount) as v from {t}", volatile_functions="full")
        for _ in range(2):
            [outcome] = world.run(request)
            assert outcome.refresh.action == "FULL"
        assert "told() is volatile" in outcome.refresh.reason

    def test_of_which_nothing_is_known(self, world: World, made: Callable[..., Request]) -> None:
        lib = self.lib(made())
        self.function(
            world,
            lib,
            "CREATE FUNCTION {lib}.most() RETURNS DECIMAL(10, 2) RETURN (SELECT max(amount) FROM {lib}.t)",
        )
        request = made("select {lib}.most() as v, region from {t}")
        for _ in range(2):
            [outcome] = world.run(request)
            assert outcome.refresh.action == "FULL"
            self.agrees(world, request)
        assert f"{lib}.most() has a query" in outcome.refresh.reason
