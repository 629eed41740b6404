"""The methods http and odbc: dbt-spark's profiles reach dbt-spark's way to connect, and our wrappers go over it.

What stands in is the driver: PyHive's and Thrift's two entrances, and pyodbc, which is not installed here.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.contracts.connection import Connection, ConnectionState
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.spark import connections
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.trickle import server
from dbt.adapters.trickle.connections import TrickleConnectionManager
from dbt.adapters.trickle.credentials import TrickleCredentials
from dbt.adapters.trickle.server import TrickleOdbcConnection, TrickleServerConnection
from dbt_trickle.errors import EnvironmentProblem

TOKEN = "dapi-secret"
SERVER = {"schema": "s", "host": "spark.example", "port": 443, "token": TOKEN}
HTTP = {**SERVER, "method": "http", "organization": "12", "cluster": "01-abc"}
ODBC = {**SERVER, "method": "odbc", "driver": "/opt/simba.so"}
ANSI_OFF = "SSP_spark.sql.ansi.enabled={false}"


class Cursor:
    """A driver's, of a server that has updated three rows."""

    description = (("num_affected_rows", "bigint", None, None, None, None, None),)

    def __init__(self) -> None:
        self.sent: list[str] = []

    def execute(self, sql: str, *_: Any, **__: Any) -> None:
        self.sent.append(sql)

    def poll(self) -> Any:
        return SimpleNamespace(operationState=connections.ThriftState.FINISHED_STATE, errorMessage=None)

    def fetchall(self) -> list[tuple[int]]:
        return [(3,)]


class Driver:
    """Remembers what it was asked to connect to."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.headers: dict[str, str] = {}
        self.made = Cursor()

    def connect(self, *place: str, **options: Any) -> Any:
        self.asked.append((place, options))
        return SimpleNamespace(cursor=lambda: self.made)

    def transport(self, url: str) -> Any:
        return SimpleNamespace(url=url, setCustomHeaders=self.headers.update)


def opened(profile: dict[str, Any]) -> Connection:
    data = TrickleCredentials.translate_aliases(profile)
    TrickleCredentials.validate(data)
    credentials = TrickleCredentials.from_dict(data)
    return TrickleConnectionManager.open(Connection(type="trickle", name="c", credentials=credentials))


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    driver = Driver()
    pyodbc = SimpleNamespace(connect=driver.connect)
    monkeypatch.setitem(sys.modules, "pyodbc", pyodbc)
    monkeypatch.setattr(connections, "pyodbc", pyodbc)
    monkeypatch.setattr(connections, "hive", driver)
    monkeypatch.setattr(connections, "THttpClient", SimpleNamespace(THttpClient=driver.transport))
    return driver


def test_http(driver: Driver) -> None:
    connection = opened(HTTP)
    assert connection.state == ConnectionState.OPEN
    assert isinstance(connection.handle, TrickleServerConnection)
    [(_, options)] = driver.asked
    assert options["thrift_transport"].url == "https://spark.example:443/sql/protocolv1/o/12/01-abc"
    assert options["configuration"] == {"spark.sql.ansi.enabled": "false"}
    assert driver.headers == {"Authorization": "Basic dG9rZW46ZGFwaS1zZWNyZXQ="}  # of token:dapi-secret
    # Over http the session is opened with the settings; nothing is sent before dbt's first statement.
    assert driver.made.sent == []


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ({"organization": "12", "cluster": "01-abc"}, "HTTPPath=/sql/protocolv1/o/12/01-abc"),
        ({"endpoint": "e1"}, "HTTPPath=/sql/1.0/endpoints/e1"),
        ({"connection_string_suffix": "UID=me;PWD=x", "token": None}, "UID=me;PWD=x"),
    ],
    ids=["cluster", "endpoint", "suffix"],
)
def test_odbc(driver: Driver, place: dict[str, Any], path: str) -> None:
    connection = opened({**ODBC, **place})
    assert connection.state == ConnectionState.OPEN
    assert isinstance(connection.handle, TrickleOdbcConnection)
    [((given,), options)] = driver.asked
    assert given.startswith("DRIVER=/opt/simba.so;HOST=spark.example;PORT=443;")
    assert path in given
    assert ANSI_OFF in given.split(";")
    assert options == {"autocommit": True}


@pytest.mark.parametrize("profile", [HTTP, {**ODBC, "endpoint": "e1"}], ids=["http", "odbc"])
def test_a_statement_goes_over_the_drivers_cursor(driver: Driver, profile: dict[str, Any]) -> None:
    handle = opened(profile).handle
    handle.cursor().execute("update t set a = 1;")
    assert driver.made.sent == ["update t set a = 1"]
    assert handle.rows_affected == 3
    assert handle.fetchall() == [(3,)]


@pytest.mark.parametrize("profile", [HTTP, {**ODBC, "endpoint": "e1"}], ids=["http", "odbc"])
def test_a_server_that_refuses_is_told_without_the_token(driver: Driver, profile: dict[str, Any]) -> None:
    def refuse(*_: str, **__: Any) -> Any:
        raise OSError("401 Unauthorized")

    driver.connect = sys.modules["pyodbc"].connect = refuse  # type: ignore[method-assign]
    where = f"no connection to the Spark server at spark.example:443 .method {profile['method']}.: .*401 Unauthorized"
    with pytest.raises(FailedToConnectError, match=rf"\[TRK-408\] {where}") as failure:
        opened(profile)
    assert TOKEN not in str(failure.value)


def test_without_its_driver_each_method_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyodbc", None)
    monkeypatch.setattr(connections, "hive", None)
    with pytest.raises(DbtRuntimeError, match=r"dbt-spark\[PyHive\]"):
        opened(HTTP)
    with pytest.raises(DbtRuntimeError, match=r"dbt-spark\[ODBC\]"):
        opened(ODBC)


@pytest.mark.parametrize(
    ("value", "told"), [("s3cret", "cannot be … here"), ("", "cannot be s3cret here")], ids=["a value", "none"]
)
def test_a_setting_that_is_refused_is_told_without_its_value(value: str, told: str) -> None:
    class Refusing:
        def cursor(self) -> Any:
            return self

        def execute(self, sql: str) -> None:
            raise DbtRuntimeError("cannot be s3cret here")

    with pytest.raises(EnvironmentProblem) as problem:
        server.apply(Refusing(), {"spark.x": value})  # type: ignore[arg-type]
    assert (problem.value.code, problem.value.what.endswith(told)) == ("TRK-411", True), problem.value
