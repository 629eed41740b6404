"""What an invocation's close tells the history."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from dbt_trickle.catalog import store, tables
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.invocation import Invocation

NOW = "2026-01-01T00:00:00.000+00:00"


class Warehouse:
    def __init__(self) -> None:
        self.done: list[str] = []

    def execute(self, sql: str) -> None:
        self.done.append(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        entry = store.schema_version()
        return [{"kind": entry.kind, "key": entry.key, "payload": entry.payload}]


def test_what_was_not_reached_may_also_have_been_skipped_by_dbt() -> None:
    """dbt skips what is downstream of a failure, in a run that goes on to its end."""
    warehouse, run = Warehouse(), Invocation("i", ProjectSettings(), lambda: NOW)
    run.open(warehouse, [Planned(5, "r", Relation.of("shop", "totals"))])
    run.close(warehouse)
    (row,) = re.findall(rf"'{tables.HISTORY}', 'r', .*, '(.*)'\)", warehouse.done[-1])
    told = json.loads(row)
    assert (told["action"], told["status"]) == ("SKIP", "SKIPPED")
    assert told["reason"] == "not reached: it was skipped, or the run ended before it"


def test_a_run_that_could_not_be_announced_has_no_end_to_tell() -> None:
    """The catalog cannot be written: that is one error, not a second one when the run closes."""

    class ReadOnly:
        def execute(self, sql: str) -> None:
            if sql.startswith("INSERT"):
                raise WarehouseError("TRK-301", "Permission denied", remedy="-")

        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            return []

    run = Invocation("i", ProjectSettings(), lambda: "now")
    for _ in range(2):  # each stream table of the run is told
        with pytest.raises(WarehouseError, match="Permission denied"):
            run.open(ReadOnly(), [Planned(5, "r", Relation.of("shop", "totals"))])
    assert not run.has_news
    assert not run.is_pending(5)


class Away(Warehouse):
    """Fails so many times before each statement is done; an answer may be lost when it was done."""

    def __init__(self, problem: WarehouseError, times: int, lost: bool = False) -> None:
        super().__init__()
        self.problem, self.times, self.lost = problem, times, lost
        self.failed: dict[str, int] = {}

    def execute(self, sql: str) -> None:
        if self.lost:
            super().execute(sql)
        self._fail(sql)
        if not self.lost:
            super().execute(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self._fail(sql)
        return super().query(sql)

    def _fail(self, sql: str) -> None:
        self.failed[sql] = self.failed.get(sql, 0) + 1
        if self.failed[sql] <= self.times:
            raise self.problem


LOST, BUSY = WarehouseError("TRK-306", "no answer"), WarehouseError("TRK-301", "Lock wait timeout exceeded")


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("problem", [LOST, BUSY], ids=["lost", "busy"])
def test_a_run_opens_and_closes_when_the_server_is_back(problem: WarehouseError, lost: bool) -> None:
    waited: list[float] = []
    warehouse = Away(problem, times=3, lost=lost)
    run = Invocation("i", ProjectSettings(), lambda: NOW, wait=lambda seconds: waited.append(seconds) is None)
    run.open(warehouse, [Planned(5, "r", Relation.of("shop", "totals"))])
    run.close(warehouse)
    assert not run.has_news
    appended = [sql for sql in warehouse.done if sql.startswith("INSERT")]
    assert len(set(appended)) == 2, "the same rows each time"
    assert len(appended) == (8 if lost else 2)
    assert len(waited) > 6


def test_what_does_not_pass_ends_the_opening_at_once() -> None:
    denied = Away(WarehouseError("TRK-301", "Permission denied"), times=1)
    run = Invocation("i", ProjectSettings(), lambda: NOW, wait=lambda _: pytest.fail("nothing is waited for"))
    with pytest.raises(WarehouseError, match="Permission denied"):
        run.open(denied, [Planned(5, "r", Relation.of("shop", "totals"))])
