"""A write of somebody else's is told from everything that only looks like one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from dbt_trickle.catalog.state import ForeignWrite, StreamTable
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.errors import ModelError, WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Marker
from dbt_trickle.plan.decide import Facts, decide
from dbt_trickle.run import guard, recover

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
    storage_path="file:/w/changes.db/st_5_g1",
    seen_version=3,
    seen_at="2026-01-02T03:07:05.007+00:00",
)


def ours(version: int, work: str = "overwrite", number: int = 5) -> dict[str, Any]:
    marker = Marker(number, version - 1, 1, "FULL", "", "f", {}, "t", "run", 0, work=work)
    return {**other(version, "WRITE"), "userMetadata": marker.to_json()}


def other(version: int, operation: str) -> dict[str, Any]:
    moment = START + timedelta(minutes=version)
    return {"version": version, "timestamp": moment, "operation": operation, "operationMetrics": {}}


def told(version: int) -> str:
    return delta.instant(START + timedelta(minutes=version))


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
        if sql.startswith("DESCRIBE TABLE EXTENDED"):
            return [{"col_name": "Location", "data_type": STATE.storage_path + "/"}]
        if sql.startswith("SELECT path"):
            folder, names = sql.split("`")[1].rstrip("}").split("/{")
            paths = {f"{STATE.storage_path}/_delta_log/{c['version']:020d}.json": c for c in self.commits}
            there = [
                paths[f"{folder}/{name}"] | {"path": f"{folder}/{name}"}
                for name in names.split(",")
                if f"{folder}/{name}" in paths
            ]
            if not there:
                raise WarehouseError("TRK-301", "[PATH_NOT_FOUND] it is not there")
            return [{"path": c["path"], "modificationTime": c["timestamp"]} for c in there]
        return self.commits[: int(sql.split()[-1])]


def look(warehouse: Warehouse, state: StreamTable = STATE) -> guard.Storage:
    return guard.look(warehouse, state, guard.list_commits(warehouse, [state]).get(5, {}))


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
        ([ours(4, "merge")], None),
        ([other(4, "DELETE"), ours(5)], None),
        ([other(4, "DELETE"), ours(5, "merge")], 4),
        ([ours(4), other(5, "DELETE")], 5),
        ([ours(4, number=6)], 4),
        ([other(v, "OPTIMIZE") for v in range(4, 40)], None),
        ([other(4, "DELETE"), *(other(v, "OPTIMIZE") for v in range(5, 40))], 4),
    ],
)
def test_foreign_writes(later: list[dict[str, Any]], foreign: int | None) -> None:
    found = look(Warehouse(ours(2), ours(3), *later))
    assert (found.foreign.version if found.foreign else None) == foreign
    assert bool(found.touched) is (foreign is not None)
    assert not found.missing


def test_what_was_not_written_to_costs_one_listing_for_all() -> None:
    warehouse = Warehouse(ours(2), ours(3))
    others = [replace(STATE, pgt_id=n, storage_path=f"file:/w/changes.db/st_{n}_g1") for n in range(10, 30)]
    listed = guard.list_commits(warehouse, [STATE, *others])
    assert guard.look(warehouse, STATE, listed[5]).state == STATE
    assert len(warehouse.asked) == 1
    assert sorted(listed) == [5]


def test_a_listing_keeps_the_address_of_the_store() -> None:
    paths = [delta.commit_file("s3a://bucket/wh/st_5_g1", version) for version in (3, 4)]
    assert delta.files_there("s3a://bucket/wh", paths) == (
        "SELECT path, modificationTime FROM binaryFile.`s3a://bucket/wh/"
        "{st_5_g1/_delta_log/00000000000000000003.json,st_5_g1/_delta_log/00000000000000000004.json}`"
    )


def test_a_changed_property_costs_a_second_question_once() -> None:
    warehouse = Warehouse(ours(3), other(4, "SET TBLPROPERTIES"))
    found = look(warehouse)
    assert (found.state.seen_version, found.state.storage_version) == (4, 3)
    assert len(warehouse.asked) == 2
    assert look(warehouse, found.state).state == found.state
    assert len(warehouse.asked) == 3


def test_one_that_a_commit_of_ours_hides_is_found_like_any_other() -> None:
    """This run had looked at version 3; its own commit is version 5."""
    warehouse = Warehouse(ours(2), ours(3), other(4, "DELETE"), ours(5, "merge"))
    after = replace(STATE, batch=4, storage_version=5, seen_version=5, seen_at=told(5))
    state = guard.doubted(warehouse, STATE, after)
    assert (state.needs_reinit, state.hidden_write) == (False, ForeignWrite("DELETE", 4))
    assert StreamTable.from_row(state.to_row()) == state
    found = look(warehouse, state)
    assert found.touched == "somebody else wrote to its storage (DELETE, version 4)"
    facts = Facts(StreamTableConfig(refresh_mode="differential"), state, "", "", {}, storage_touched=found.touched)
    with pytest.raises(ModelError, match=r"(?s)TRK-213.*--full-refresh"):
        decide(replace(facts, config=StreamTableConfig(refresh_mode="differential")))
    for config, full_refresh in (("auto", False), ("full", False), ("differential", True)):
        decision = decide(replace(facts, config=StreamTableConfig(refresh_mode=config), full_refresh=full_refresh))
        assert (decision.action, decision.reason) == ("REINITIALIZE", found.touched)
    # A newer one, that nothing hides, is told first; a commit that replaces all rows ends it.
    newer = Warehouse(*warehouse.commits, other(6, "WRITE"))
    assert look(newer, state).foreign == ForeignWrite("WRITE", 6)
    assert look(Warehouse(*warehouse.commits, other(6, "OPTIMIZE")), state).foreign == ForeignWrite("DELETE", 4)
    for work, left in (("merge", state.hidden_write), ("replace", state.hidden_write), ("overwrite", None)):
        commit = delta.commit_of(ours(6, work))
        assert commit.marker is not None
        marker = replace(commit.marker, definition={"columns": []})
        assert recover.apply_marker(state, state.storage, commit, marker).hidden_write == left


def test_what_nobody_wrote_to_is_not_doubted() -> None:
    for commits in ([other(4, "OPTIMIZE")], [other(4, "DELETE"), ours(5)]):
        warehouse = Warehouse(ours(3), *commits, ours(6, "merge"))
        after = replace(STATE, storage_version=6)
        assert guard.doubted(warehouse, STATE, after) == after
    after = replace(STATE, storage_version=4)
    assert guard.doubted(Warehouse(), STATE, after) == after, "nothing is asked: nothing lies between the two"


def test_another_table_under_the_same_name() -> None:
    anew = {**ours(3, number=6), "timestamp": START}
    for commits in ([other(0, "CREATE TABLE")], [other(v, "WRITE") for v in range(5)], [anew]):
        assert look(Warehouse(*commits)).foreign is not None
    # Our commit may have gone from the log; it is then what lies behind the last checkpoint.
    assert look(Warehouse(other(9, "OPTIMIZE"))).foreign is None


def test_a_storage_that_is_gone() -> None:
    assert look(Warehouse()).missing


@pytest.mark.parametrize("path", ["", "file:/w/{a,b}.db/st_5_g1", "file:/w/ch*.db/st_5_g1", "file:/w/`/st_5_g1"])
def test_a_path_that_no_pattern_can_name_is_not_listed(path: str) -> None:
    warehouse = Warehouse(ours(3))
    assert guard.list_commits(warehouse, [replace(STATE, storage_path=path)]) == {}
    assert warehouse.asked == []
    found = look(warehouse, replace(STATE, storage_path=""))
    assert found.state.storage_path == STATE.storage_path, "and where it is not known yet, it is from then on"


def test_times_that_the_listing_tells_otherwise_than_the_history_are_remembered_as_listed() -> None:
    warehouse = Warehouse(ours(3))
    found = look(warehouse, replace(STATE, seen_at="another"))
    assert found.state == STATE
    assert len(warehouse.asked) == 2


def test_the_catalog_may_be_behind() -> None:
    """Of two runs the one that closed last had begun first: the batch of the other one is not in the catalog."""
    assert look(Warehouse(ours(3), ours(4))).behind
    assert look(Warehouse(ours(3), ours(4), other(5, "OPTIMIZE"))).behind
    for commits in ([ours(3)], [ours(3), other(4, "OPTIMIZE")], [ours(3), other(4, "WRITE")], [other(9, "OPTIMIZE")]):
        assert not look(Warehouse(*commits)).behind
