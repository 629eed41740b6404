"""Secrets that a failing statement's message repeats come to no history, event, log or console."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextvars import Context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.contracts.connection import Connection
from dbt.adapters.factory import reset_adapters
from dbt.adapters.spark import connections
from dbt.cli.main import dbtRunner
from dbt_common.exceptions import DbtRuntimeError
from dbt_project import ENVIRONMENT, Project

from dbt.adapters.trickle import bridge, secrets
from dbt.adapters.trickle.connections import TrickleConnectionManager
from dbt.adapters.trickle.credentials import TrickleCredentials
from dbt.adapters.trickle.engine_session import AdapterSession
from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.events import Event
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import TrickleError
from dbt_trickle.names import Relation
from dbt_trickle.run.announced import Planned
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.refresh import fail

TOKEN, PASSWORD, SETTING, OF_DBT = "planted-token", "planted-password", "planted-setting", "planted-variable"
KEY = "spark.hadoop.fs.s3a.secret.key"
PROFILE = {
    "schema": "shop",
    "method": "http",
    "host": "spark.example",
    "port": 443,
    "token": TOKEN,
    "password": PASSWORD,
    "organization": "12",
    "cluster": "01-abc",
    "server_side_parameters": {KEY: SETTING},
}
SAID = (
    f"[FAILED] no access with {TOKEN}, {PASSWORD}, {SETTING} or {OF_DBT} to https://me:planted-uri@store.example/x; "
    "fs.s3a.secret.key=planted-s3; jdbc:postgresql://db/shop?user=me&password=planted-jdbc"
)
MASKED = (
    "[FAILED] no access with ***, ***, *** or *** to https://me:***@store.example/x; "
    "fs.s3a.secret.key=***; jdbc:postgresql://db/shop?user=me&password=***"
)


@pytest.fixture(autouse=True)
def _the_process_knows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(secrets, "_known", set())
    monkeypatch.setenv("DBT_ENV_SECRET_PLANTED", OF_DBT)
    reset_adapters()
    yield
    reset_adapters()


class Refusing:
    """A driver's cursor: of a server that repeats in its answer whatever it was given."""

    description = ()

    def execute(self, sql: str, *_: Any, **__: Any) -> None:
        pass

    def poll(self) -> Any:
        return SimpleNamespace(operationState=connections.ThriftState.ERROR_STATE, errorMessage=SAID)


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    transport = SimpleNamespace(setCustomHeaders=lambda headers: None)
    driver = SimpleNamespace(cursor=Refusing, close=lambda: None)
    monkeypatch.setattr(connections, "hive", SimpleNamespace(connect=lambda **_: driver))
    monkeypatch.setattr(connections, "THttpClient", SimpleNamespace(THttpClient=lambda url: transport))


def failed_statement() -> TrickleError:
    """What the engine is told of it, through dbt's connection."""
    data = TrickleCredentials.translate_aliases(dict(PROFILE))
    credentials = TrickleCredentials.from_dict(data)
    handle = TrickleConnectionManager.open(Connection(type="trickle", name="c", credentials=credentials)).handle
    manager = SimpleNamespace(_add_query_comment=lambda sql: sql)

    def add_query(sql: str, auto_begin: bool) -> Any:
        with TrickleConnectionManager.exception_handler(manager, sql):  # type: ignore[arg-type]
            cursor = handle.cursor()
            cursor.execute(sql)
        return None, cursor

    manager.add_query = add_query
    adapter = SimpleNamespace(connections=manager, config=SimpleNamespace(credentials=credentials))
    with pytest.raises(TrickleError) as problem:
        AdapterSession(adapter).execute("SELECT 1")  # type: ignore[arg-type]
    return problem.value


class Journal:
    def __init__(self) -> None:
        self.appended: list[str] = []

    def execute(self, sql: str) -> None:
        self.appended.append(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        return []


@pytest.mark.usefixtures("refusing")
def test_history_events_and_the_log_of_a_refresh_that_failed() -> None:
    told: list[Event] = []
    journal, known = Journal(), StreamTable(5, "shop", "totals", "model.shop.totals", is_populated=True)
    run = Invocation("i", ProjectSettings(), lambda: "now", told.append)
    run._catalog = store.Catalog(tables.SCHEMA_VERSION, {5: known})
    run._states = {5: known}
    run.open(journal, [Planned(5, "r", Relation.of("shop", "totals"))])
    fail(run, 5, failed_statement())
    run.close(journal)
    [event] = told
    assert event.payload["message"] == MASKED
    state = run.state(5)
    assert state is not None
    assert MASKED in str(state.last_error)
    assert journal.appended[-1].count(json.dumps(MASKED)[1:-1]) == 3, "in the history, the event and the state"
    assert "planted" not in f"{journal.appended} {told} {state}"


@pytest.mark.usefixtures("refusing")
def test_the_stack_of_the_failure_has_none() -> None:
    problem: BaseException | None = failed_statement()
    while problem is not None:
        assert "planted" not in str(problem)
        problem = problem.__cause__


def test_a_cause_that_tells_one_is_left_out() -> None:
    secrets.remember(SimpleNamespace(token=TOKEN), {})
    with (
        pytest.raises(DbtRuntimeError, match=r"access with \*\*\*,") as problem,
        TrickleConnectionManager.exception_handler(None, "SELECT 1"),  # type: ignore[arg-type]
    ):
        raise ValueError(SAID)
    assert problem.value.__cause__ is None


def test_what_tells_no_secret_keeps_its_cause() -> None:
    said = OSError("connection reset")
    with (
        pytest.raises(DbtRuntimeError) as problem,
        TrickleConnectionManager.exception_handler(None, "SELECT 1"),  # type: ignore[arg-type]
    ):
        raise said
    assert problem.value.__cause__ is said


@pytest.mark.usefixtures("refusing")
@pytest.mark.parametrize("form", ["debug", "json"])
def test_the_console_the_logs_and_the_results_of_dbt(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in {**ENVIRONMENT, "DBT_LOG_FORMAT_FILE": form}.items():
        monkeypatch.setenv(name, value)
    model = "{{ config(materialized='stream_table') }} select 1 as a"
    Project.create(tmp_path, {"type": "trickle", **PROFILE}, {"models/one.sql": model})
    place = ["--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path), "--log-path", str(tmp_path / "logs")]
    answer = dbtRunner().invoke(["--debug", "run", *place])
    assert not answer.success
    console = capfd.readouterr()
    texts = [console.out, console.err, *(path.read_text() for path in tmp_path.glob("logs/*"))]
    texts += [path.read_text() for path in tmp_path.glob("target/*.json") if path.name != "manifest.json"]
    assert any("no access with ***" in text for text in texts)
    shown = [line for text in texts for line in text.splitlines() if "planted" in line]
    assert shown == []


def test_a_profile_may_take_them_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for the `trickle` command, which is no command of dbt's."""
    monkeypatch.setenv("PLANTED_HOST", "spark.example")
    profile = {**PROFILE, "host": "{{ env_var('PLANTED_HOST') }}", "token": "{{ env_var('DBT_ENV_SECRET_PLANTED') }}"}
    Project.create(tmp_path, {"type": "trickle", **profile}, {})
    opened = Context().run(bridge.open_project, str(tmp_path), str(tmp_path), None, None)
    assert (opened.credentials.host, opened.credentials.token) == ("spark.example", OF_DBT)
