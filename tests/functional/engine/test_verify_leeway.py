"""`trickle verify` where Spark may give another result of the same rows: that is no difference, and it is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_world import World

from dbt_trickle.errors import ModelError
from dbt_trickle.run import compared, verify
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.request import Request
from dbt_trickle.run.verify import Verdict

pytestmark = pytest.mark.spark

NUMBERED = "SELECT id, grp, row_number() OVER (PARTITION BY grp ORDER BY amount) AS n FROM {}"
OTHERWISE = "UPDATE {} SET n = 3 - n WHERE grp = 1"  # of two rows that ORDER BY leaves equal the other one is first


class TestLeeway:
    def made(self, world: World, name: str, query: str) -> Request:
        request = world.request(name, query.format(self.source(world, name)))
        world.run(request)
        return request

    def source(self, world: World, name: str) -> str:
        table = f"{world.schema}.{name}_source"
        rows = "SELECT * FROM VALUES (1, 1, 5), (2, 1, 5), (3, 2, 1) t(id, grp, amount)"
        world.sql(f"CREATE TABLE {table} USING delta AS {rows}")
        return table

    def verified(self, world: World, request: Request, change: str) -> Verdict:
        state = world.states()[request.pgt_id]
        world.sql(change.format(state.storage.sql))
        return verify.verify(world.looking, Frozen(world.looking), state)

    def test_other_values_of_a_column(self, world: World) -> None:
        request = self.made(world, "values_only", NUMBERED)
        found = self.verified(world, request, OTHERWISE)
        assert (found.outcome, found.reason) == (verify.OK, "but for n: row_number() may give other values each time")
        found = self.verified(world, request, "UPDATE {} SET id = 9 WHERE id = 3")
        assert (found.outcome, found.missing, found.surplus) == (verify.DIFFERENT, 1, 1)
        assert [dict(row.values) for row in found.surplus_rows] == [{"id": "9", "grp": "2"}]

    def test_the_dbt_test_sees_no_more(self, world: World) -> None:
        request = self.made(world, "tested", NUMBERED)
        self.verified(world, request, OTHERWISE)
        state = world.states()[request.pgt_id]
        prepared = compared.prepare(world.looking, Frozen(world.looking), state, None)
        assert len(world.looking.query(prepared.rows)) == 4
        assert len(world.looking.query(verify.differing_rows(world.looking, Frozen(world.looking), state))) == 0

    def test_where_no_column_is_certain_the_rows_count(self, world: World) -> None:
        request = self.made(world, "uncertain", "SELECT n AS a, n * 10 AS b FROM (" + NUMBERED + ") q")
        assert self.verified(world, request, "UPDATE {} SET b = 99").outcome == verify.OK
        found = self.verified(world, request, "DELETE FROM {} WHERE a = 2")
        assert (found.outcome, found.missing, found.surplus) == (verify.DIFFERENT, 1, 0)

    def test_other_rows(self, world: World) -> None:
        request = self.made(world, "rows_too", "SELECT id, grp FROM (" + NUMBERED + ") q WHERE n = 1")
        found = self.verified(world, request, "UPDATE {} SET id = 3 - id WHERE grp = 1")
        assert found.outcome == verify.NOT_VERIFIABLE
        assert found.reason == "1 rows missing, 1 surplus, and row_number() may give other rows each time"
        with pytest.raises(ModelError, match="TRK-212"):
            verify.differing_rows(world.looking, Frozen(world.looking), world.states()[request.pgt_id])
        assert self.verified(world, request, "DELETE FROM {}").outcome == verify.DIFFERENT

    def test_a_row_that_comes_first_in_no_order(self, world: World) -> None:
        """As many rows as there should be, and one that no tie is an excuse for."""
        request = self.made(world, "no_tie", "SELECT id, grp FROM (" + NUMBERED + ") q WHERE n = 1")
        found = self.verified(world, request, "UPDATE {} SET id = 3 WHERE grp = 1")
        assert (found.outcome, found.missing, found.surplus) == (verify.DIFFERENT, 0, 1)
        assert [dict(row.values) for row in found.surplus_rows] == [{"id": "3", "grp": "1"}]
        state = world.states()[request.pgt_id]
        rows = world.looking.query(verify.differing_rows(world.looking, Frozen(world.looking), state))
        assert [(row["id"], row["grp"]) for row in rows] == [(3, 1)]

    @pytest.mark.parametrize("mode", ["auto", "full"])
    def test_of_a_query_that_is_not_understood(self, world: World, mode: str) -> None:
        table = self.source(world, f"words_{mode}")
        text = (
            f"SELECT id, first(amount) OVER (PARTITION BY grp ORDER BY amount) AS n FROM {table} ORDER BY id OFFSET 0"
        )
        request = world.request(f"words_{mode}", text, refresh_mode=mode)
        world.run(request)
        for _ in range(2):  # what is remembered of it is remembered by the next one as well
            found = self.verified(world, request, "UPDATE {} SET n = 6 WHERE id = 1")
            assert (found.outcome, "first() may give other rows" in found.reason) == (verify.NOT_VERIFIABLE, True)
            world.run(replace(request, full_refresh=True))
        assert self.verified(world, request, "DELETE FROM {} WHERE id = 1").outcome == verify.DIFFERENT

    def test_of_first_rows_what_they_are_ordered_by_is_certain(self, world: World) -> None:
        table = self.source(world, "first")
        request = world.request("first", f"SELECT id, amount FROM {table} ORDER BY amount DESC LIMIT 1")
        world.run(request)
        assert self.verified(world, request, "UPDATE {} SET id = 3 - id").outcome == verify.OK
        assert self.verified(world, request, "UPDATE {} SET amount = 6").outcome == verify.DIFFERENT
