"""The thrift, http and odbc methods: dbt-spark's wrappers, without the five seconds between polls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dbt.adapters.spark.connections import PyhiveConnectionWrapper, PyodbcConnectionWrapper

from dbt.adapters.trickle.statements import affected_rows

FIRST_POLL_SECONDS = 0.02
POLL_GROWTH = 1.5


class _Metrics:
    """Remembers the one row of metrics that a DML statement answers, and lets others read it, too."""

    rows_affected: int | None = None
    _fetched: list[Any] | None = None

    def execute(self, sql: str, bindings: list[Any] | None = None) -> None:
        self._fetched = None
        self.rows_affected = None
        super().execute(sql, bindings)  # type: ignore[misc]
        description = self.description or ()  # type: ignore[attr-defined]
        self.rows_affected = affected_rows([column[0] for column in description], self.fetchall)

    def fetchall(self) -> list[Any]:
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

    @property
    def poll_interval(self) -> float:  # type: ignore[override]
        interval = self._next_poll
        self._next_poll = min(interval * POLL_GROWTH, self._longest_poll)
        return interval

    @poll_interval.setter
    def poll_interval(self, seconds: float) -> None:
        self._longest_poll = float(seconds)

    def execute(self, sql: str, bindings: list[Any] | None = None) -> None:
        self._next_poll = FIRST_POLL_SECONDS
        super().execute(sql, bindings)


class TrickleOdbcConnection(_Metrics, PyodbcConnectionWrapper):
    pass


def improved(handle: Any) -> Any:
    """dbt-spark's handle with ours in its place, over the same open connection."""
    if isinstance(handle, PyodbcConnectionWrapper):
        return TrickleOdbcConnection(handle.handle)
    if isinstance(handle, PyhiveConnectionWrapper):
        return TrickleServerConnection(
            handle.handle,
            poll_interval=handle.poll_interval,
            query_timeout=handle.query_timeout,
            query_retries=handle.query_retries,
        )
    return handle
