"""The thrift, http and odbc methods: dbt-spark's wrappers, without the five seconds between polls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dbt.adapters.spark.connections import PyhiveConnectionWrapper, PyodbcConnectionWrapper

from dbt.adapters.trickle import secrets
from dbt.adapters.trickle.problems import message_of, told
from dbt.adapters.trickle.statements import affected_rows, bind, writes
from dbt_trickle.errors import EnvironmentProblem
from dbt_trickle.names import setting

FIRST_POLL_SECONDS = 0.02
POLL_GROWTH = 1.5
# Of the profile; dbt-spark knows them since 1.10. Before that it polled without sleeping, and asked nothing twice.
_POLLING = ("poll_interval", "query_timeout", "query_retries")


class _Metrics:
    """Remembers the one row of metrics that a DML statement answers, and lets others read it, too."""

    rows_affected: int | None = None
    _fetched: list[Any] | None = None

    def execute(self, sql: str, bindings: list[Any] | None = None) -> None:
        self._fetched = None
        self.rows_affected = None
        super().execute(sql, bindings)  # type: ignore[misc]
        description = self.description or ()  # type: ignore[attr-defined]
        self.rows_affected = affected_rows([column[0] for column in description], self._collect)

    def fetchall(self) -> list[Any]:
        # dbt handles no database errors while it fetches.
        with told():
            return self._collect()

    def _collect(self) -> list[Any]:
        if self._fetched is None:
            self._fetched = list(super().fetchall() or ())  # type: ignore[misc]
        return self._fetched

    def fetchone(self) -> Any:
        rows = self.fetchall()
        return rows[0] if rows else None

    def fetchmany(self, size: int) -> Sequence[Any]:
        return self.fetchall()[:size]


class TrickleServerConnection(_Metrics, PyhiveConnectionWrapper):
    """dbt-spark sleeps poll_interval (5 s) after every statement that is not done at once.

    A refresh is a dozen short statements, so polls start at 20 ms and grow up to poll_interval.
    """

    _next_poll = FIRST_POLL_SECONDS
    _longest_poll = 5.0
    reopen: Callable[[], PyhiveConnectionWrapper] | None = None

    @property
    def poll_interval(self) -> float:  # type: ignore[override]
        interval = self._next_poll
        self._next_poll = min(interval * POLL_GROWTH, self._longest_poll)
        return interval

    @poll_interval.setter
    def poll_interval(self, seconds: float) -> None:
        self._longest_poll = float(seconds)

    def cursor(self) -> TrickleServerConnection:
        super().cursor()
        poll = self._cursor.poll

        def masked(*args: Any, **kwargs: Any) -> Any:
            """dbt-spark writes a failed statement's answer into dbt's log as it came."""
            answer = poll(*args, **kwargs)
            if answer.errorMessage:
                answer.errorMessage = secrets.masked(answer.errorMessage)
            return answer

        self._cursor.poll = masked
        return self

    def execute(self, sql: str, bindings: list[Any] | None = None) -> None:
        self._next_poll = FIRST_POLL_SECONDS
        sql = bind(sql, bindings)
        retries = getattr(self, "query_retries", 0)
        if writes(sql):
            # The statement may have been done, only the answer was lost: once more could write twice.
            self.query_retries = 0
        try:
            super().execute(sql)
        finally:
            self.query_retries = retries

    def cancel(self) -> None:
        """Over a connection of its own.

        Ctrl-C comes in another thread, while the statement's own is waiting in a poll that the server
        answers after up to five seconds: two threads would read each other's answers from one socket.
        """
        running = self._cursor and self._cursor._operationHandle
        if not running or self.reopen is None:
            return
        fresh = self.reopen()
        try:
            cursor = fresh.handle.cursor()
            cursor._operationHandle = running
            cursor.cancel()
            cursor._operationHandle = None  # closing the cursor would close the other one's operation
        finally:
            fresh.handle.close()


class TrickleOdbcConnection(_Metrics, PyodbcConnectionWrapper):
    pass


def apply(handle: TrickleServerConnection, settings: dict[str, str]) -> None:
    """What the profile asks of the session.

    dbt-spark sends server_side_parameters along when it opens the session, and Spark's thrift server
    ignores them there without a word (it only reads names that begin with `set:hiveconf:`), ANSI mode too.
    """
    for key, value in settings.items():
        try:
            handle.cursor().execute(setting(key, value))
        except Exception as problem:
            # The name only: a value may be a password.
            said = message_of(problem)
            said = said.replace(value, "…") if value else said
            raise EnvironmentProblem(
                "TRK-411",
                f"the Spark server does not take the setting {key}: {said}",
                remedy="Take it out of server_side_parameters in the profile; settings that count only when "
                "Spark starts belong to the server.",
            ) from problem


def improved(handle: Any, reopen: Callable[[], PyhiveConnectionWrapper]) -> Any:
    """dbt-spark's handle with ours in its place, over the same open connection."""
    if isinstance(handle, PyodbcConnectionWrapper):
        return TrickleOdbcConnection(handle.handle)
    if isinstance(handle, PyhiveConnectionWrapper):
        polling = {name: getattr(handle, name) for name in _POLLING if hasattr(handle, name)}
        ours = TrickleServerConnection(handle.handle, **polling)
        ours.reopen = reopen
        return ours
    return handle
