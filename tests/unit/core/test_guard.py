"""A write of somebody else's is told from everything that only looks like one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats.base import Marker
from dbt_trickle.run import guard

START = datetime(2026, 1, 2, 3, 4, 5, 7000)
STATE = StreamTable(
    5,
    "shop",
    "totals",
    "model.shop.totals",
    storage_relation="changes.st_5_g1",
    is_populated=True,
    batch=2,
    storage_version=3,
    storage_seen="2026-01-02T03:07:05.007+00:00",
)


def ours(version: int, action: str = "FULL", number: int = 5) -> dict[str, Any]:
    marker = Marker(number, version, 1, action, "", "f", {}, "t", "run", 0)
    return {**other(version, "WRITE"), "userMetadata": marker.to_json()}


def other(version: int, operation: str) -> dict[str, Any]:
    moment = START + timedelta(minutes=version)
    return {"version": version, "timestamp": moment, "operation": operation, "operationMetrics": {}}


class Warehouse:
    def __init__(self, *commits: dict[str, Any]) -> None:
        self.commits = sorted(commits, key=lambda c: -c["version"])
        self.asked: list[str] = []

    def execute(self, sql: str) -> None:
        raise AssertionError(f"looking must not change anything: {sql}")

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self.asked.append(sql)
        if not self.commits:
            raise WarehouseError("TRK-301", "[TABLE_OR_VIEW_NOT_FOUND] it is not there")
        if sql.startswith("DESCRIBE DETAIL"):
            return [{"lastModified": self.commits[0]["timestamp"]}]
        return self.commits[: int(sql.split()[-1])]


@pytest.mark.parametrize(
    ("later", "foreign"),
    [
        ([], None),
        ([other(4, "SET TBLPROPERTIES")], None),
        ([other(4, "OPTIMIZE"), other(5, "VACUUM START"), other(6, "VACUUM END")], None),
        ([other(4, "WRITE")], 4),
        ([other(4, "DELETE"), other(5, "OPTIMIZE")], 4),
        ([other(4, "MERGE"), other(5, "UPDATE")], 5),
        ([other(4, "RESTORE")], 4),
        ([other(4, "SOMETHING THAT DELTA LEARNED LATER")], 4),
        ([ours(4)], None),
        ([ours(4, "DIFFERENTIAL")], None),
        ([other(4, "DELETE"), ours(5)], None),
        ([other(4, "DELETE"), ours(5, "DIFFERENTIAL")], 4),
        ([ours(4), other(5, "DELETE")], 5),
        ([ours(4, number=6)], 4),
        ([other(v, "OPTIMIZE") for v in range(4, 40)], None),
        ([other(4, "DELETE"), *(other(v, "OPTIMIZE") for v in range(5, 40))], 4),
    ],
)
def test_foreign_writes(later: list[dict[str, Any]], foreign: int | None) -> None:
    found = guard.look(Warehouse(ours(2), ours(3), *later), STATE)
    assert (found.foreign.version if found.foreign else None) == foreign
    assert bool(found.touched) is (foreign is not None)
    assert not found.missing


def test_what_was_not_written_to_costs_one_cheap_question() -> None:
    warehouse = Warehouse(ours(2), ours(3))
    assert guard.look(warehouse, STATE).state == STATE
    assert warehouse.asked == ["DESCRIBE DETAIL `changes`.`st_5_g1`"]


def test_a_changed_property_costs_a_second_question_once() -> None:
    warehouse = Warehouse(ours(3), other(4, "SET TBLPROPERTIES"))
    found = guard.look(warehouse, STATE)
    assert len(warehouse.asked) == 2
    guard.look(warehouse, found.state)
    assert len(warehouse.asked) == 3


def test_another_table_under_the_same_name() -> None:
    for commits in ([other(0, "CREATE TABLE")], [other(v, "WRITE") for v in range(4)], [ours(3, number=6)]):
        assert guard.look(Warehouse(*commits), replace(STATE, storage_seen="before")).foreign is not None
    # Our commit may have gone from the log; it is then what lies behind the last checkpoint.
    assert guard.look(Warehouse(other(9, "OPTIMIZE")), STATE).foreign is None


def test_a_storage_that_is_gone() -> None:
    assert guard.look(Warehouse(), STATE).missing


def test_times_in_whole_seconds_are_not_trusted_at_first() -> None:
    second = replace(STATE, storage_seen="")
    warehouse = Warehouse(ours(3))
    assert guard.look(warehouse, second).state.storage_seen == STATE.storage_seen
    assert len(warehouse.asked) == 2
