"""A write of somebody else's that comes between a refresh's look and its commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from engine_world import World

from dbt_trickle.apply import few
from dbt_trickle.errors import WarehouseError
from dbt_trickle.run.session import Session

pytestmark = pytest.mark.spark

LOST = WarehouseError("TRK-306", "no answer")


class Death(BaseException):
    """The process is gone: nothing may catch this."""


class Meddled:
    """A session beside which somebody writes to the storage, right before the statement that counts.

    `at`: how that begins; `fate`: what becomes of this session once it is done.
    """

    def __init__(self, inner: Session, other: Session, at: str, meddle: str, fate: BaseException | None) -> None:
        self.inner, self.other, self.at, self.meddle, self.fate = inner, other, at, meddle, fate
        self.meddled = 0

    def execute(self, sql: str) -> None:
        self.query(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if not sql.startswith(self.at):
            return self.inner.query(sql)
        self.other.execute(self.meddle)
        self.meddled += 1
        answer = self.inner.query(sql)
        if self.fate is not None:
            raise self.fate
        return answer


class TestForeignWrite:
    @pytest.mark.parametrize(
        ("name", "fate", "most", "mode"),
        [
            ("alive", None, few.MOST, "differential"),
            ("lost", LOST, few.MOST, "auto"),
            ("dead", Death(), few.MOST, "differential"),
            ("merged", LOST, 0, "differential"),
        ],
        ids=["alive", "lost", "dead", "merged"],
    )
    def test_it_is_found_although_a_commit_of_ours_lies_above_it(
        self, world: World, name: str, fate: BaseException | None, most: int, mode: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(few, "MOST", most)
        orders = world.relation(f"orders_{name}").sql
        world.sql(f"CREATE TABLE {orders} (id INT, amount INT) USING delta", f"INSERT INTO {orders} VALUES (1, 1)")
        query = f"SELECT id, sum(amount) AS total FROM {orders} GROUP BY id"
        request = world.request(f"totals_{name}", query, refresh_mode=mode, max_change_ratio=1.0)
        world.run(request)
        storage = world.states()[request.pgt_id].storage.sql
        world.sql(f"INSERT INTO {orders} VALUES (1, 2)")
        meddle = f"INSERT INTO {storage} (id, total) VALUES (9, 9)"
        at = f"INSERT INTO {storage} REPLACE WHERE" if most else f"MERGE INTO {storage}"
        meddled = Meddled(world.connect(), world.connect(), at, meddle, fate)
        if isinstance(fate, Death):
            with pytest.raises(Death):
                world.run(request, session=meddled)
        else:
            (outcome,) = world.run(request, session=meddled)
            assert outcome.refresh.action == "DIFFERENTIAL", outcome.refresh
            assert [event.name for event in outcome.events if not event.is_routine] == ["external_write"]
        assert meddled.meddled == 1
        assert world.rows(f"SELECT * FROM {request.public.sql}") != world.rows(query)
        if mode == "differential":
            ((code, what),) = world.attempt([request])
            assert (code, "somebody else wrote to its storage (WRITE, version " in what) == ("TRK-213", True)
            request = replace(request, full_refresh=True)
        (outcome,) = world.run(request)
        assert outcome.refresh.action == "REINITIALIZE"
        assert "somebody else wrote to its storage (WRITE, version " in outcome.refresh.reason
        events = f"{world.settings.catalog_schema}.pgt_events"
        told = f"SELECT event FROM {events} WHERE pgt_id = {request.pgt_id} AND event = 'external_write'"
        assert len(world.looking.query(told)) == 1
        assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(query)
        assert world.refreshed(replace(request, full_refresh=False)) == "NO_DATA"
