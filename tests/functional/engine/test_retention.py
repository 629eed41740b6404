"""Versions that Delta refuses by their age: a source that stood still, a storage, and `trickle verify`."""

from __future__ import annotations

from typing import Any

import pytest
from engine_world import World

from dbt_trickle.errors import WarehouseError
from dbt_trickle.run import verify
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import is_too_old

pytestmark = pytest.mark.spark

AT_ONCE = "delta.deletedFileRetentionDuration = 'interval 0 seconds'"


def vacuum(table: str) -> tuple[str, ...]:
    return (
        "SET spark.databricks.delta.retentionDurationCheck.enabled = false",
        f"VACUUM {table} RETAIN 0 HOURS",
        "RESET spark.databricks.delta.retentionDurationCheck.enabled",
    )


class TestRetention:
    """As if every version but the newest were too old."""

    def made(self, world: World, name: str, **config: Any) -> Request:
        source = world.relation(f"{name}_source").sql
        world.sql(
            f"CREATE TABLE {source} (id int, amount int) USING delta TBLPROPERTIES ({AT_ONCE})",
            f"INSERT INTO {source} VALUES (1, 1), (2, 2)",
        )
        return world.request(name, f"SELECT id, sum(amount) AS total FROM {source} GROUP BY id", **config)

    def right(self, world: World, request: Request) -> None:
        assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(request.query)

    def test_delta_refuses_them(self, world: World) -> None:
        """What all of this is about, and that the newest version is none of them."""
        request = self.made(world, "refused")
        source = world.relation("refused_source").sql
        world.rows(f"SELECT * FROM {source} VERSION AS OF 1")
        with pytest.raises(WarehouseError) as problem:
            world.rows(f"SELECT * FROM {source} VERSION AS OF 0")
        assert is_too_old(problem.value)
        assert world.refreshed(request) == "FULL"

    @pytest.mark.parametrize(("mode", "action"), [("differential", "DIFFERENTIAL"), ("full", "FULL")])
    def test_a_source_that_stood_still(self, world: World, mode: str, action: str) -> None:
        request = self.made(world, f"still_{mode}", refresh_mode=mode)
        world.run(request)
        world.sql(f"UPDATE {world.relation(f'still_{mode}_source').sql} SET amount = 3 WHERE id = 1")
        assert world.refreshed(request) == action
        self.right(world, request)
        assert world.refreshed(request) == "NO_DATA"

    def test_a_source_that_moved_on_since_is_verified(self, world: World) -> None:
        request = self.made(world, "verified")
        world.run(request)
        world.sql(f"UPDATE {world.relation('verified_source').sql} SET amount = 3 WHERE id = 1")
        session = world.connect()
        verdict = verify.verify(session, Frozen(session), world.states()[request.pgt_id])
        assert (verdict.outcome, verdict.reason) == (verify.OK, "")

    def test_a_storage_that_was_only_rearranged_since(self, world: World) -> None:
        """Its own rows are read at its last commit, above which an OPTIMIZE may lie."""
        request = self.made(world, "rearranged", refresh_mode="differential")
        world.run(request)
        reader = world.request("reader", f"SELECT total, id FROM {request.public.sql}")
        world.run(request, reader)
        storage = world.states()[request.pgt_id].storage.sql
        source = world.relation("rearranged_source").sql
        world.sql(f"INSERT INTO {source} VALUES (1, 5)")
        world.run(request, reader)
        world.sql(f"ALTER TABLE {storage} SET TBLPROPERTIES ({AT_ONCE})", f"OPTIMIZE {storage}")
        world.sql(f"INSERT INTO {source} VALUES (2, 5), (3, 5)")
        assert [outcome.refresh.action for outcome in world.run(request, reader)] == ["DIFFERENTIAL", "FULL"]
        self.right(world, request)
        self.right(world, reader)
        world.sql(f"OPTIMIZE {storage}", f"ALTER TABLE {storage} SET TBLPROPERTIES (x = 1)", *vacuum(storage))
        again = world.request("another", f"SELECT id, total FROM {request.public.sql}")
        assert world.refreshed(again) == "FULL", "a first load, when the files of the version below are gone"
        self.right(world, again)

    def test_a_storage_whose_older_files_are_gone(self, world: World) -> None:
        """An OPTIMIZE has put its rows into other files, and a VACUUM has taken those of its last commit."""
        request = self.made(world, "vacuumed", refresh_mode="differential")
        source = world.relation("vacuumed_source").sql
        world.run(request)
        world.sql(f"INSERT INTO {source} VALUES (1, 5)")
        world.run(request)
        storage = world.states()[request.pgt_id].storage.sql
        world.sql(f"OPTIMIZE {storage}", *vacuum(storage), f"INSERT INTO {source} VALUES (2, 5), (3, 5)")
        assert world.refreshed(request) == "DIFFERENTIAL"
        self.right(world, request)
