"""When a run looks after the journal or a storage, what it then does, and that nothing of it can fail the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.state import Buffer, HeldBack, Refresh, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.names import Relation
from dbt_trickle.run import maintain
from dbt_trickle.run.announced import Outcome, Planned
from dbt_trickle.run.invocation import Invocation

NOW = "2026-03-10T12:00:00.000+00:00"
TABLE = StreamTable(5, "shop", "totals", "m", storage_relation="changes.st_5_g1", is_populated=True, batch=200)
OTHER = replace(TABLE, pgt_id=6, pgt_name="other", storage_relation="changes.st_6_g1")
CONFLICT = WarehouseError("TRK-301", "[DELTA_CONCURRENT_APPEND] somebody else was faster")
DENIED = WarehouseError("TRK-301", "permission denied")
LOST = WarehouseError("TRK-306", "the server is away")


class Warehouse:
    """Answers what maintenance asks; `problem` is what a statement that begins with a word ends with."""

    def __init__(
        self, word: str = "", problem: WarehouseError | None = None, properties: Mapping[str, str] | None = None
    ) -> None:
        self.word, self.problem, self.properties = word, problem, properties or {}
        self.sent: list[str] = []
        self.done: list[str] = []
        self.settings = dict.fromkeys(maintain.SETTINGS, "1073741824")

    def execute(self, sql: str) -> None:
        self.sent.append(sql)
        if self.problem is not None and sql.startswith(self.word):
            raise self.problem
        if sql.startswith("SET"):
            key, value = sql.removeprefix("SET ").replace("`", "").split(" = ")
            self.settings[key] = value
        else:
            self.done.append(sql.split("\n")[0])

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql == "SET":
            return [{"key": key, "value": value} for key, value in self.settings.items()]
        return [{"key": key, "value": value} for key, value in self.properties.items()]

    @property
    def tables(self) -> list[str]:
        return [sql for sql in self.done if not sql.startswith("INSERT")]


def ended(*refreshed: StreamTable, closed: int = 0, known: Sequence[StreamTable] = (), **more: Any) -> maintain.Ended:
    catalog = store.Catalog(tables.SCHEMA_VERSION, closed=closed, maintained=more.pop("maintained", {}))
    settings = ProjectSettings(**more.pop("settings", {}))
    warn = more.pop("warned", []).append
    return maintain.Ended("i", settings, catalog, refreshed, [*refreshed, *known], NOW, warn)


@pytest.mark.parametrize(
    ("closed", "maintained", "due"),
    [
        (99, {}, False),
        (100, {}, True),
        (5000, {}, True),  # of a version that did not compact
        (199, {"journal": 100}, False),  # it was tried in vain
        (200, {"journal": 100}, True),
        (99, {"journal": 250}, False),  # another run has done it meanwhile
        (100, {"journal": 250}, True),
    ],
)
def test_the_journal_is_due_by_the_runs_that_have_closed(closed: int, maintained: dict[str, int], due: bool) -> None:
    task = maintain.most_urgent(ended(closed=closed, maintained=maintained))
    assert (task is not None) == due


@pytest.mark.parametrize(
    ("batch", "tried", "due"), [(99, 0, False), (100, 0, True), (199, 100, False), (200, 100, True), (40, 900, False)]
)
def test_a_storage_is_due_by_its_batches(batch: int, tried: int, due: bool) -> None:
    task = maintain.most_urgent(ended(replace(TABLE, batch=batch), maintained={"5": tried}))
    assert (task is not None) == due


def test_one_table_a_run_the_journal_first_then_what_waits_longest() -> None:
    run = ended(TABLE, replace(OTHER, batch=300), closed=100)
    assert [task.key for task in [maintain.most_urgent(run)] if task] == ["journal"]
    run = ended(TABLE, replace(OTHER, batch=300))
    assert [task.key for task in [maintain.most_urgent(run)] if task] == ["6"]
    run = ended(TABLE, replace(OTHER, batch=300), maintained={"6": 250})
    assert [task.key for task in [maintain.most_urgent(run)] if task] == ["5"]
    assert maintain.most_urgent(ended(replace(TABLE, is_populated=False))) is None
    assert maintain.most_urgent(ended(known=[TABLE])) is None  # it is not of this run, or has failed in it


def test_it_can_be_switched_off() -> None:
    assert maintain.most_urgent(ended(TABLE, closed=1000, settings={"maintenance": False})) is None


def test_the_journal_is_compacted_and_the_session_left_as_it_was() -> None:
    warehouse = Warehouse()
    before = dict(warehouse.settings)
    maintain.after(warehouse, ended(closed=100))
    words = [sql.split(" ")[0] for sql in warehouse.done]
    assert words == ["MERGE", "OPTIMIZE", "VACUUM", "INSERT"]
    assert warehouse.settings == before


def test_a_storage_is_optimized_in_files_of_a_bounded_size() -> None:
    class Watching(Warehouse):
        def execute(self, sql: str) -> None:
            if sql.startswith("OPTIMIZE"):
                assert self.settings == {key: str(size) for key, size in maintain.SETTINGS.items()}
            super().execute(sql)

    warehouse = Watching()
    maintain.after(warehouse, ended(TABLE))
    assert warehouse.tables == ["OPTIMIZE `changes`.`st_5_g1`", "VACUUM `changes`.`st_5_g1`"]


def test_what_it_stages_is_tidied_up_with_it() -> None:
    warehouse = Warehouse()
    staging = replace(TABLE, buffer=Buffer("changes.st_5_g1", 1, 1, 1, "", "changes.st_5_g1_changes"))
    maintain.after(warehouse, ended(staging))
    assert warehouse.tables[2:] == ["OPTIMIZE `changes`.`st_5_g1_changes`", "VACUUM `changes`.`st_5_g1_changes`"]


def consumer(committed_at: str) -> StreamTable:
    version = SourceVersion("pgt_5", "STREAM_TABLE", "shop.totals", "changes.st_5_g1", 3, committed_at)
    return replace(OTHER, frontier={"pgt_5": version})


WEEK = {"delta.deletedFileRetentionDuration": "interval 1 week"}
MONTH = {"delta.deletedFileRetentionDuration": "interval 30 days"}


@pytest.mark.parametrize(
    ("committed_at", "properties", "vacuumed"),
    [
        ("2026-03-10T11:00:00.000+00:00", {}, True),
        ("2026-03-03T14:00:00.000+00:00", {}, True),
        ("2026-03-03T12:30:00.000+00:00", {}, False),  # half an hour is left: clocks differ
        ("2026-01-01T00:00:00.000+00:00", WEEK, False),
        ("2026-02-20T00:00:00.000+00:00", MONTH, True),
        ("2026-03-10T11:00:00.000+00:00", {"delta.deletedFileRetentionDuration": "a while"}, False),
    ],
)
def test_no_vacuum_takes_what_a_reader_goes_on_from(
    committed_at: str, properties: Mapping[str, str], vacuumed: bool
) -> None:
    warehouse = Warehouse(properties=properties)
    maintain.after(warehouse, ended(TABLE, known=[consumer(NOW), consumer(committed_at)]))
    assert warehouse.tables[0].startswith("OPTIMIZE")
    assert warehouse.tables[1:] == (["VACUUM `changes`.`st_5_g1`"] if vacuumed else [])


@pytest.mark.parametrize(
    ("since", "vacuumed"), [("2026-03-03T14:00:00.000+00:00", True), ("2026-03-03T12:30:00.000+00:00", False)]
)
def test_no_vacuum_takes_what_readers_are_held_back_with(since: str, vacuumed: bool) -> None:
    """Until then its version was the newest one."""
    warehouse = Warehouse(properties={})
    maintain.after(warehouse, ended(replace(TABLE, held_back=HeldBack("changes.st_5_g1", 3, (), NOW, since))))
    assert warehouse.tables[1:] == (["VACUUM `changes`.`st_5_g1`"] if vacuumed else [])


@pytest.mark.parametrize(
    ("word", "problem", "warns", "noted"),
    [
        ("MERGE", CONFLICT, 0, None),  # the next run tries again
        ("MERGE", DENIED, 1, 100),  # not on every run
        ("MERGE", LOST, 1, None),
        ("OPTIMIZE", CONFLICT, 0, None),
        ("VACUUM", DENIED, 1, 0),  # what counts is done
        ("SET", DENIED, 1, 0),
        ("INSERT", DENIED, 1, None),
    ],
)
def test_what_fails_is_told_and_no_more(word: str, problem: WarehouseError, warns: int, noted: int | None) -> None:
    warned: list[str] = []
    warehouse = Warehouse(word, problem)
    maintain.after(warehouse, ended(closed=100, warned=warned))
    assert len(warned) == warns
    assert all("trickle.pgt_journal could not be compacted" in text for text in warned)
    assert all("the run is not affected" in text for text in warned)
    written = [sql for sql in warehouse.done if sql.startswith("INSERT")]
    assert len(written) == (noted is not None)
    assert f", '{noted}')" in warehouse.sent[-1] or noted is None


def test_what_was_tried_comes_back_from_the_journal() -> None:
    entry, run = store.maintained("5", 300), store.closed("i")
    rows = [{"kind": e.kind, "key": e.key, "payload": e.payload} for e in (entry, run, store.closed("j"))]
    found = store.parse([*rows, {"kind": tables.INVOCATION, "key": "k", "payload": store.opened("k", {}).payload}])
    assert (found.maintained, found.closed, list(found.unclosed)) == ({"5": 300}, 2, ["k"])


class TestClose:
    def run(self, status: str = "COMPLETED", wait: bool = True) -> list[str]:
        warehouse = Warehouse()
        run = Invocation("i", ProjectSettings(), lambda: NOW, wait=lambda _: wait)
        run._catalog = store.Catalog(tables.SCHEMA_VERSION, {5: TABLE})
        run._states = {5: TABLE}
        run.open(warehouse, [Planned(5, "r", Relation.of("shop", "totals"))])
        run.finish(Outcome(Refresh("r", 5, "i", NOW, "DIFFERENTIAL", status), TABLE))
        run.close(warehouse)
        return [sql.split(" ")[0] for sql in warehouse.done]

    def test_after_all_is_written(self) -> None:
        assert self.run() == ["INSERT", "INSERT", "OPTIMIZE", "VACUUM", "INSERT"]

    def test_not_of_a_stream_table_that_failed(self) -> None:
        assert self.run("FAILED") == ["INSERT", "INSERT"]

    def test_not_when_the_run_is_to_end(self) -> None:
        assert self.run(wait=False) == ["INSERT", "INSERT"]
