"""How dbt opens, uses and closes connections of `type: trickle`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from typing import Any

from dbt.adapters.contracts.connection import (
    AdapterRequiredConfig,
    AdapterResponse,
    Connection,
    ConnectionState,
)
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.spark.connections import SparkConnectionManager, SparkConnectionMethod
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.trickle import embedded, secrets, server
from dbt.adapters.trickle.problems import message_of
from dbt_trickle.errors import EnvironmentProblem, TrickleError

logger = AdapterLogger("Trickle")


class TrickleConnectionManager(SparkConnectionManager):
    TYPE = "trickle"

    def __init__(self, config: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        command = getattr(getattr(config, "args", None), "which", None)
        config.credentials.belongs_to(getattr(config, "project_root", None), command)

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        if connection.state == ConnectionState.OPEN:
            return connection
        credentials = connection.credentials

        def opened(new: Connection) -> Connection:
            return super(TrickleConnectionManager, cls).open(new)

        if credentials.method == SparkConnectionMethod.SESSION:
            from dbt.adapters.trickle.session import TrickleSession

            try:
                connection.handle = TrickleSession(credentials)
            except TrickleError as problem:
                connection.state = ConnectionState.FAIL
                raise FailedToConnectError(str(problem)) from problem
            connection.state = ConnectionState.OPEN
            return connection
        try:
            connection = opened(connection)
        # dbt-spark wraps what it meets, but for the last of several tries.
        except Exception as problem:
            connection.state = ConnectionState.FAIL
            raise FailedToConnectError(str(_unreachable(credentials, problem))) from problem
        connection.handle = server.improved(
            connection.handle,
            lambda: opened(Connection(type=cls.TYPE, name=None, credentials=credentials)).handle,
        )
        if credentials.method == SparkConnectionMethod.THRIFT:
            try:
                server.apply(connection.handle, credentials.server_side_parameters)
            except TrickleError as problem:
                connection.handle.close()
                connection.handle = None  # dbt closes what it finds, and pyhive fails when it is closed twice
                connection.state = ConnectionState.FAIL
                raise FailedToConnectError(str(problem)) from problem
        return connection

    def renew(self) -> None:
        """The thread's connection is broken: its next statement opens another one."""
        broken = self.get_thread_connection()
        try:
            self.close(broken)
        except Exception as problem:  # noqa: BLE001 - whatever a broken connection says when it is closed
            logger.debug(f"The lost connection {broken.name} could not be closed: {secrets.masked(str(problem))}")
        self.clear_thread_connection()
        self.set_connection_name(broken.name)

    @contextmanager
    def exception_handler(self, sql: str) -> Generator[None, None, None]:
        try:
            yield
        except (DbtRuntimeError, TrickleError) as problem:
            # A DbtDatabaseError comes from thrift's poll, with the server's whole stack in it.
            if isinstance(problem, DbtDatabaseError):
                raise DbtDatabaseError(message_of(problem)) from secrets.to_be_shown(problem)
            if isinstance(problem, TrickleError):
                raise DbtRuntimeError(str(problem)) from problem
            problem.msg = secrets.masked(str(problem.msg))
            raise
        except Exception as problem:  # noqa: BLE001 - whatever a driver throws becomes dbt's own exception
            logger.debug(secrets.masked(f"Error while running:\n{sql}\n{problem}"))
            raise DbtDatabaseError(message_of(problem)) from secrets.to_be_shown(problem)

    @classmethod
    def get_response(cls, cursor: Any) -> AdapterResponse:
        rows = getattr(cursor, "rows_affected", None)
        if rows is None:
            return AdapterResponse(_message="OK")
        return AdapterResponse(_message=f"OK {rows} rows", rows_affected=rows)

    def cleanup_all(self) -> None:
        super().cleanup_all()
        spark = embedded.running()
        if spark is not None and spark.lock is not None:
            spark.lock.release()


def _unreachable(credentials: Any, problem: Exception) -> EnvironmentProblem:
    said = message_of(problem).removeprefix("failed to connect: ")
    if said == "failed to connect" and isinstance(problem.__cause__, Exception):
        said = message_of(problem.__cause__)  # dbt-spark 1.9 keeps to itself why
    return EnvironmentProblem(
        "TRK-408",
        f"no connection to the Spark server at {credentials.host}:{credentials.port} "
        f"(method {credentials.method}): {said}",
        remedy="Check host, port, user and password in the profile, and that the server is up; "
        "`trickle doctor` tries each step.",
    )
