"""What passes by itself is waited for, not too long; and no commit is made twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.state import Dependency, Experience, ForeignWrite, Refresh, StreamTable
from dbt_trickle.config import ProjectSettings, StreamTableConfig
from dbt_trickle.errors import ModelError, TrickleError, WarehouseError
from dbt_trickle.formats.base import Marker, SourceVersion
from dbt_trickle.names import Relation
from dbt_trickle.plan.cost import Moved, choose
from dbt_trickle.plan.decide import Decision, Work
from dbt_trickle.run import refresh as refreshing
from dbt_trickle.run import retry
from dbt_trickle.run.announced import Outcome, Planned
from dbt_trickle.run.consider import Considered, with_columns
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.pins import PinnedQuery
from dbt_trickle.run.request import Request
from dbt_trickle.run.retry import AWAY, CONFLICT, Backoff

PUBLIC = Relation.of("shop", "totals")
TABLE = StreamTable(
    5, "shop", "totals", "model.shop.totals", "changes.st_5_g1", 1, is_populated=True, status="ACTIVE", batch=3, rows=7
)
REQUEST = Request(5, TABLE.dbt_unique_id, PUBLIC, "select 1", "select 1", StreamTableConfig(), existing="view")
ORDERS = SourceVersion("shop.orders", "TABLE", "shop.orders", "id", 9, "then")
BEATEN = WarehouseError("TRK-303", "another run has committed batch 4 of it first")
OVERTAKEN = WarehouseError("TRK-301", "[DELTA_CONCURRENT_TRANSACTION] It occurs when streams share a checkpoint.")
LOST = WarehouseError("TRK-306", "no answer from the Spark server")
BUSY = WarehouseError("TRK-301", "MetaException(message:A lock could not be obtained within the time requested)")
WRONG = WarehouseError("TRK-301", "[DIVIDE_BY_ZERO] Division by zero.")
TOO_OLD = WarehouseError("TRK-301", "[DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION] Cannot.")
GONE = WarehouseError("TRK-301", "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file.\nPath: …")
NO_FIT = WarehouseError("TRK-301", "[DELTA_METADATA_MISMATCH] A metadata mismatch was detected.\nTable schema: …")


@pytest.mark.parametrize("backoff", [CONFLICT, AWAY])
@pytest.mark.parametrize("chance", [0.0, 0.999])
def test_each_wait_is_longer_and_all_of_them_are_bounded(backoff: Backoff, chance: float) -> None:
    waits = [backoff.wait(failures, chance) for failures in range(1, backoff.attempts)]
    assert waits == sorted(waits)
    assert all(wait is not None and wait <= backoff.longest for wait in waits)
    assert sum(wait or 0 for wait in waits) <= (3.0 if backoff is CONFLICT else 31.0), "docs/operations.md says so"
    assert backoff.wait(backoff.attempts, chance) is None


def test_two_that_met_do_not_meet_again() -> None:
    waits = {retry.pause(BEATEN, 1, f"run {number}") for number in range(20)}
    assert len(waits) == 20
    assert all(wait is not None and 0.1 <= wait <= 0.2 for wait in waits)


@pytest.mark.parametrize(("problem", "passes"), [(BEATEN, True), (LOST, True), (BUSY, True), (WRONG, False)])
def test_what_passes_by_itself(problem: WarehouseError, passes: bool) -> None:
    assert (retry.pause(problem, 1, "run") is not None) == passes


@pytest.mark.parametrize("problem", [LOST, BUSY])
def test_it_says_nothing_of_the_query(problem: WarehouseError) -> None:
    """Or a query would be held to be one that cannot be pinned, and be recomputed from then on."""

    class Away:
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            if "VERSION" in sql:
                raise problem
            return [{"col_name": "a", "data_type": "int"}]

    here = SimpleNamespace(request=REQUEST, session=Away(), pinned=PinnedQuery("select 1 /* VERSION */", {}))
    with pytest.raises(WarehouseError) as raised:
        with_columns(here)  # type: ignore[arg-type]
    assert raised.value is problem


class Warehouse:
    """A view over the first generation, and what the storage says of its commits."""

    def __init__(self) -> None:
        self.markers: list[Marker] = []
        self.foreign: list[int] = []  # versions that somebody else wrote, below ours
        self.knows_settings = True
        self.settings: list[str] = []

    def execute(self, sql: str) -> None:
        """Only the catalog's appends and one setting come here."""
        if sql.startswith("SET "):
            if not self.knows_settings:
                raise WarehouseError("TRK-301", "[CONFIG_NOT_AVAILABLE]")
            self.settings.append(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql.startswith("DESCRIBE TABLE EXTENDED"):
            return [{"col_name": "View Text", "data_type": "SELECT a FROM `changes`.`st_5_g1`"}]
        if sql.startswith("DESCRIBE HISTORY"):
            foreign = {"timestamp": "2026-01-01T00:00:00+00:00", "operation": "WRITE", "operationMetrics": {}}
            below = [{**foreign, "version": version} for version in self.foreign]
            return [
                {
                    "version": marker.batch,
                    "timestamp": "2026-01-01T00:00:00+00:00",
                    "operation": "MERGE",
                    "userMetadata": marker.to_json(),
                    "operationMetrics": {"numTargetRowsInserted": "2", "numTargetRowsDeleted": "1"},
                }
                for marker in reversed(self.markers)
            ] + below
        return []


class Attempts:
    """Refreshes that fail in turn; the last one ends well."""

    def __init__(self, *problems: TrickleError | None) -> None:
        self.problems = list(problems)
        self.requests: list[Request] = []
        self.waits: list[float] = []
        self.warehouse = Warehouse()
        self.goes_on = True
        self.config = StreamTableConfig()
        self.run = Invocation("mine", ProjectSettings(), lambda: "now", wait=self.wait)
        self.run._catalog = store.Catalog(tables.SCHEMA_VERSION, {5: TABLE})
        self.run._states = {5: TABLE}
        self.run.open(self.warehouse, [Planned(5, "r", PUBLIC)])

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return self.goes_on

    def attempt(self, request: Request, session: object, run: Invocation) -> Outcome:
        self.requests.append(request)
        problem = self.problems.pop(0) if self.problems else None
        if problem is not None:
            raise problem
        row = replace(run.running(5), action="FULL", status="COMPLETED", reason="orders moved")
        return Outcome(row, run.state(5))

    def commits(self, run: str, batch: int) -> None:
        marker = Marker(5, batch, 1, "DIFFERENTIAL", "orders moved", "", {"shop.orders": ORDERS}, "then", run, 7)
        self.warehouse.markers.append(
            replace(marker, work="merge", definition={"dbt_unique_id": TABLE.dbt_unique_id, "columns": []})
        )

    def refreshed(self, monkeypatch: pytest.MonkeyPatch) -> Refresh:
        monkeypatch.setattr(refreshing, "_refresh", self.attempt)
        return refreshing.refresh(replace(REQUEST, config=self.config), self.warehouse, self.run).refresh


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (BEATEN, "another run has committed batch 4 of it first"),
        (OVERTAKEN, "another run was faster"),
        (LOST, "no answer from the Spark server"),
        (BUSY, "MetaException(message:A lock could not be obtained within the time requested)"),
    ],
)
def test_it_is_tried_again(problem: WarehouseError, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(problem, problem)
    row = attempts.refreshed(monkeypatch)
    assert (row.status, row.reason) == ("COMPLETED", f"orders moved; tried again, since {why}")
    assert len(attempts.requests) == 3
    assert len(attempts.waits) == 2
    state = attempts.run.state(5)
    assert state is not None
    assert state.consecutive_errors == 0


@pytest.mark.parametrize(("problem", "tries", "counted"), [(BEATEN, 5, 0), (LOST, 6, 0), (BUSY, 6, 0), (WRONG, 1, 1)])
def test_what_does_not_pass_is_told_and_counted(
    problem: WarehouseError, tries: int, counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = Attempts(*[problem] * 9)
    with pytest.raises(WarehouseError, match=problem.code):
        attempts.refreshed(monkeypatch)
    assert len(attempts.requests) == tries
    state = attempts.run.state(5)
    assert state is not None
    assert (state.consecutive_errors, state.needs_reinit) == (counted, False)


def test_what_fails_behind_the_commit_is_left_to_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers see the new rows: to call that a failure would suspend what is right."""
    attempts = Attempts(None)
    refused = WarehouseError("TRK-301", "no right to DROP TABLE st_5_g0")

    def attempt(request: Request, session: object, run: Invocation) -> Outcome:
        run.decided(5, "DIFFERENTIAL")
        attempts.commits("mine", 4)
        raise refused

    monkeypatch.setattr(refreshing, "_refresh", attempt)
    outcome = refreshing.refresh(REQUEST, attempts.warehouse, attempts.run)
    row, state = outcome.refresh, attempts.run.state(5)
    assert (row.status, row.action, row.batch, row.rows_inserted) == ("COMPLETED", "DIFFERENTIAL", 4, 2)
    assert row.reason.endswith("is left to the next run: no right to DROP TABLE st_5_g0")
    assert outcome.warnings == (f"shop.totals: {row.reason.partition('; ')[2]} [TRK-301]",)
    assert state is not None
    assert (state.consecutive_errors, state.last_error, state.batch) == (0, None, 4)


def test_a_connection_that_is_lost_for_good_may_have_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hooks have set is not in another connection, so it is not tried again; but looked at."""
    attempts = Attempts(None)

    def attempt(request: Request, session: object, run: Invocation) -> Outcome:
        run.decided(5, "DIFFERENTIAL")
        attempts.commits("mine", 4)
        raise LOST

    monkeypatch.setattr(refreshing, "_refresh", attempt)
    found = refreshing.refresh(replace(REQUEST, hooked=True), attempts.warehouse, attempts.run)
    assert (found.refresh.status, found.refresh.batch, attempts.waits) == ("COMPLETED", 4, [])


def test_how_sources_are_captured_outlasts_a_lost_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feed that was found wrong would be read again."""
    attempts = Attempts(LOST)
    known = Dependency(5, "shop.orders", "id", "TABLE", ("a",), "x", "WAL", "the feed was wrong", 8, mark="m")
    attempts.run._catalog = store.Catalog(tables.SCHEMA_VERSION, {5: TABLE}, {5: (known,)})
    attempts.commits("mine", 4)
    monkeypatch.setattr(refreshing, "_refresh", attempts.attempt)
    outcome = refreshing.refresh(REQUEST, attempts.warehouse, attempts.run)
    assert outcome.dependencies == (replace(known, confirmed_version=9),)


def test_ctrl_c_ends_the_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(LOST)
    attempts.goes_on = False
    with pytest.raises(WarehouseError, match="TRK-306"):
        attempts.refreshed(monkeypatch)
    assert len(attempts.requests) == 1


def test_what_the_server_has_completed_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(LOST)
    attempts.commits("mine", 4)
    row = attempts.refreshed(monkeypatch)
    assert len(attempts.requests) == 1
    assert (row.status, row.action, row.reason, row.batch) == ("COMPLETED", "DIFFERENTIAL", "orders moved", 4)
    assert (row.rows_inserted, row.rows_deleted, row.frontier_to) == (2, 1, {"shop.orders": ORDERS})
    state = attempts.run.state(5)
    assert state is not None
    assert (state.batch, state.rows, state.frontier) == (4, 8, {"shop.orders": ORDERS})


def test_a_foreign_write_that_its_commit_hides_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(LOST)
    attempts.warehouse.foreign = [3]
    attempts.commits("mine", 4)
    monkeypatch.setattr(refreshing, "_refresh", attempts.attempt)
    outcome = refreshing.refresh(REQUEST, attempts.warehouse, attempts.run)
    told = [event.payload for event in outcome.events if event.name == "external_write"]
    assert told == [{"operation": "WRITE", "version": 3}]
    state = attempts.run.state(5)
    assert state is not None
    assert (state.hidden_write, state.foreign_version, state.needs_reinit) == (ForeignWrite("WRITE", 3), 3, False)
    outcome = refreshing.refresh(replace(REQUEST, existing="view"), attempts.warehouse, attempts.run)
    assert [event.name for event in outcome.events if event.name == "external_write"] == []


def test_it_is_its_own_also_where_another_run_has_gone_on_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(LOST)
    attempts.commits("mine", 4)
    attempts.commits("another", 5)
    assert attempts.refreshed(monkeypatch).batch == 4
    state = attempts.run.state(5)
    assert state is not None
    assert state.batch == 5


def test_from_what_another_run_has_committed_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(BEATEN)
    attempts.commits("another", 4)
    attempts.refreshed(monkeypatch)
    assert len(attempts.requests) == 2
    state = attempts.run.state(5)
    assert state is not None
    assert state.batch == 4
    assert [request.began for request in attempts.requests] == [None, TABLE], "whose definition tells who deploys"


def test_columns_that_do_not_fit_are_loaded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(NO_FIT)
    with pytest.raises(WarehouseError, match="TRK-301"):
        attempts.refreshed(monkeypatch)
    state = attempts.run.state(5)
    assert state is not None
    assert state.needs_reinit
    assert state.reinit_reason == "columns did not fit: [DELTA_METADATA_MISMATCH] A metadata mismatch was detected."


def test_a_try_that_fails_is_not_made_again_by_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts()
    table = replace(TABLE, last_full_ms=1, untold=Experience(fulls_chosen=2))
    choice = choose(table, [Moved("shop.products", None)], 0.15)
    here = SimpleNamespace(before=table)
    decision = Decision("DIFFERENTIAL", choice.reason, Work.DELTA, choice=choice)
    monkeypatch.setattr(refreshing, "passed_over", lambda *_: None)
    found = Considered(here, decision, understood=object(), statement=object())  # type: ignore[arg-type]
    monkeypatch.setattr(refreshing, "consider", lambda *_, **__: found)

    def bring_in(*_: Any) -> None:
        raise WarehouseError("TRK-301", "not enough memory")

    monkeypatch.setattr(refreshing.bring, "changes", bring_in)
    with pytest.raises(WarehouseError, match="not enough memory"):
        refreshing.refresh(REQUEST, attempts.warehouse, attempts.run)
    state = attempts.run.state(5)
    assert state is not None
    assert (state.consecutive_errors, state.untold) == (1, Experience(fulls_chosen=0, patience=4))


def test_an_old_version_is_read_also_beyond_its_retention(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(TOO_OLD)
    assert attempts.refreshed(monkeypatch).status == "COMPLETED"
    (setting,) = attempts.warehouse.settings
    assert "enforceTimeTravelWithinDeletedFileRetentionDuration" in setting
    state = attempts.run.state(5)
    assert state is not None
    assert not state.needs_reinit


@pytest.mark.parametrize("problems", [(GONE,), (TOO_OLD, GONE), (TOO_OLD, TOO_OLD)])
def test_without_its_old_version_it_is_loaded_anew(
    problems: tuple[WarehouseError, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = Attempts(*problems)
    attempts.refreshed(monkeypatch)
    assert len(attempts.requests) == len(problems) + 1
    assert attempts.waits == []
    state = attempts.run.state(5)
    assert state is not None
    assert state.needs_reinit, "the attempt that ended well would have reset it"
    assert str(state.reinit_reason).startswith("an old version cannot be read: [")


def test_a_server_may_not_take_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(TOO_OLD)
    attempts.warehouse.knows_settings = False
    attempts.refreshed(monkeypatch)
    state = attempts.run.state(5)
    assert state is not None
    assert state.needs_reinit


def test_files_that_a_full_refresh_needs_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(GONE, GONE)
    with pytest.raises(WarehouseError, match="FILE_NOT_EXIST"):
        attempts.refreshed(monkeypatch)


def test_to_load_it_anew_may_be_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(GONE)
    attempts.config = StreamTableConfig(refresh_mode="differential")
    with pytest.raises(ModelError, match=r"TRK-203.*an old version cannot be read"):
        attempts.refreshed(monkeypatch)
    assert len(attempts.requests) == 1


def test_what_another_run_is_just_creating_is_waited_for() -> None:
    created = WarehouseError("TRK-301", "[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] Cannot create table")

    class Beaten:
        def __init__(self, *problems: WarehouseError) -> None:
            self.problems = list(problems)

        def execute(self, sql: str) -> None:
            if self.problems:
                raise self.problems.pop()

        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            raise AssertionError(sql)

    waited: list[float] = []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        return True

    retry.despite_others(Beaten(created, created), "CREATE TABLE IF NOT EXISTS a", "run", wait)
    assert len(waited) == 2
    for problems in ([created] * CONFLICT.attempts, [WRONG], [LOST]):
        with pytest.raises(WarehouseError):
            retry.despite_others(Beaten(*problems), "CREATE TABLE IF NOT EXISTS a", "run", wait)
    assert len(waited) == 2 + CONFLICT.attempts - 1, "what does not pass is told at once"
