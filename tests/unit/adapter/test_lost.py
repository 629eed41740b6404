"""Which failures are the connection's, and that the next statement is sent over another one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.exceptions import FailedToConnectError
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.trickle.engine_session import AdapterSession
from dbt.adapters.trickle.lost import is_lost
from dbt_trickle.errors import EnvironmentProblem, WarehouseError


class TTransportException(Exception):
    """As thrift names it."""


class OdbcError(Exception):
    __module__ = "pyodbc"


def told(cause: BaseException) -> DbtDatabaseError:
    """As dbt passes it on."""
    problem = DbtDatabaseError(str(cause))
    problem.__cause__ = cause
    return problem


@pytest.mark.parametrize(
    ("cause", "lost"),
    [
        (BrokenPipeError(32, "Broken pipe"), True),
        (ConnectionResetError(104, "Connection reset by peer"), True),
        (TimeoutError("The read operation timed out"), True),
        (EOFError(), True),
        (TTransportException("TSocket read 0 bytes"), True),
        (FailedToConnectError("[TRK-408] no connection to the Spark server"), True),
        (DbtDatabaseError("Invalid SessionHandle: SessionHandle [a-b-c]"), True),
        (OdbcError("08S01", "[08S01] Communication link failure"), True),
        (OdbcError("42S02", "[42S02] Table or view not found: 08"), False),
        (DbtDatabaseError("[TABLE_OR_VIEW_NOT_FOUND] The table or view `a` cannot be found."), False),
        (DbtRuntimeError("Query exceeded timeout of 5 seconds"), False),
    ],
)
def test_what_a_lost_connection_is(cause: BaseException, lost: bool) -> None:
    assert is_lost(told(cause)) == lost


class Connections:
    """What the engine's session needs of dbt's connections."""

    def __init__(self, problem: Exception, while_fetching: bool) -> None:
        self.problem, self.while_fetching = problem, while_fetching
        self.renewed = 0

    def _add_query_comment(self, sql: str) -> str:
        return sql

    def add_query(self, sql: str, auto_begin: bool) -> tuple[None, Any]:
        if not self.while_fetching:
            raise self.problem
        return None, SimpleNamespace(description=[("a",)], fetchall=self.fetchall)

    def fetchall(self) -> None:
        raise self.problem

    def renew(self) -> None:
        self.renewed += 1


def session(connections: Connections, method: str = "thrift") -> AdapterSession:
    config = SimpleNamespace(credentials=SimpleNamespace(method=method))
    return AdapterSession(SimpleNamespace(connections=connections, config=config))  # type: ignore[arg-type]


@pytest.mark.parametrize("while_fetching", [False, True])
def test_the_connection_is_renewed(while_fetching: bool) -> None:
    connections = Connections(told(BrokenPipeError(32, "Broken pipe")), while_fetching)
    with pytest.raises(WarehouseError) as problem:
        session(connections).query("SELECT 1 AS a")
    assert problem.value.code == "TRK-306"
    assert connections.renewed == 1


def test_what_a_statement_of_ours_raises_has_its_own_code() -> None:
    raised = told(Exception("[USER_RAISED_EXCEPTION] [TRK-311] two rows have the same key SQLSTATE: P0001"))
    with pytest.raises(WarehouseError) as problem:
        session(Connections(raised, False)).execute("MERGE INTO t")
    assert (problem.value.code, problem.value.what) == ("TRK-311", "two rows have the same key")
    assert "`primary_key`" in problem.value.remedy


@pytest.mark.parametrize("while_fetching", [False, True])
def test_what_the_server_refuses_leaves_it_as_it_is(while_fetching: bool) -> None:
    connections = Connections(told(Exception("[DIVIDE_BY_ZERO]")), while_fetching)
    with pytest.raises(WarehouseError) as problem:
        session(connections).query("SELECT 1 / 0 AS a")
    assert (problem.value.code, problem.value.what) == ("TRK-301", "[DIVIDE_BY_ZERO]")
    assert "target/compiled" in problem.value.remedy
    assert connections.renewed == 0


def test_the_embedded_spark_cannot_be_reached_anew() -> None:
    connections = Connections(told(ConnectionRefusedError(111, "Connection refused")), False)
    with pytest.raises(WarehouseError) as problem:
        session(connections, "session").execute("SELECT 1 AS a")
    assert problem.value.code == "TRK-301"
    assert connections.renewed == 0


def test_our_own_errors_stay_what_they_are() -> None:
    busy = EnvironmentProblem("TRK-406", "the warehouse is in use")
    with pytest.raises(EnvironmentProblem, match="TRK-406"):
        session(Connections(told(busy), False), "session").execute("SELECT 1 AS a")
