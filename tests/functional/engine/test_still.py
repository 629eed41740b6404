"""What is recomputed whenever a source moves is not, where the source moved on without a row."""

from __future__ import annotations

import pytest
from engine_world import World

from dbt_trickle.run.announced import Outcome

pytestmark = pytest.mark.spark


class TestStill:
    def test_nothing_is_computed_for_files_and_properties(self, world: World) -> None:
        t = world.relation("still_t").sql
        world.sql(f"CREATE TABLE {t} (id INT, x INT) USING delta")
        for number in range(3):
            world.sql(f"INSERT INTO {t} VALUES ({number}, {number})")
        rows = world.request("still_rows", f"SELECT id, x FROM {t}", refresh_mode="full")
        files = world.request("still_files", f"SELECT id, _metadata.file_name AS name FROM {t}", refresh_mode="full")
        world.run(rows, files)

        def after(*statements: str) -> tuple[Outcome, ...]:
            world.sql(*statements)
            done = tuple(world.run(rows, files))
            for request in (rows, files):
                assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(request.query)
            return done

        still, moved = after(f"OPTIMIZE {t}", f"ALTER TABLE {t} SET TBLPROPERTIES ('a.note' = 'no row of it')")
        assert still.refresh.action == "NO_DATA"
        assert still.refresh.reason.endswith(", but no row of it changed")
        assert moved.refresh.action == "FULL", "the names of files are others"
        assert [each.refresh.action for each in after()] == ["NO_DATA", "NO_DATA"], "it has moved on with its source"
        insert = f"INSERT INTO {t} VALUES (9, 9)"
        assert [each.refresh.action for each in after(insert, f"OPTIMIZE {t}")] == ["FULL", "FULL"]
