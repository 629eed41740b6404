"""A commit of a source's log is gone while the source changes over: nothing is lost by that.

Newer commits are there, and a checkpoint: the table itself can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engine_world import World

pytest.register_assert_rewrite("capture_shop")

from capture_shop import TOTALS, Shop, log_of, remove  # noqa: E402 (its assertions are rewritten)

pytestmark = pytest.mark.spark

CHECKPOINTS = "TBLPROPERTIES (delta.enableChangeDataFeed = true, delta.checkpointInterval = 2)"
GONE = "its transaction log is not complete"


class TestLostLog:
    @pytest.mark.parametrize(
        ("name", "lose", "version", "reason"),
        [
            ("gone", remove, 3, GONE),
            ("below_a_checkpoint", remove, 4, GONE),
        ],
    )
    def test_a_commit_that_cannot_be_read(
        self,
        world: World,
        connect: Callable[[], Any],
        tmp_path: Path,
        name: str,
        lose: Callable[[Path], None],
        version: int,
        reason: str,
    ) -> None:
        shop = Shop.of(world, name, CHECKPOINTS, tmp_path).with_tables(TOTALS)
        shop.with_tables(TOTALS, refresh_mode="auto", max_change_ratio=1.0).transitioning()
        strict, auto = shop.requests
        before = world.rows(f"SELECT * FROM {strict.public.sql}")
        for _ in range(3):
            shop.insert()
        lose(log_of(tmp_path, version))
        # Spark keeps what it has read of a log; another process would not have it.
        connect().spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

        (refused, said), full = world.attempt([strict, auto])
        assert (refused, full) == ("TRK-203", ("FULL", f"{shop.source}: {reason}"))
        assert reason in said
        assert world.rows(f"SELECT * FROM {strict.public.sql}") == before
        assert set(shop.modes()) == {"TRANSITIONING"}
        assert shop.events() == []
        shop.requests = (replace(strict, full_refresh=True), auto)
        assert shop.run() == ["FULL", "NO_DATA"], "what the message says to do"

        shop.requests = (strict, auto)
        shop.insert()
        assert shop.run() == ["DIFFERENTIAL", "DIFFERENTIAL"]
        assert set(shop.modes()) == {"WAL"}, "the next window can be compared"
