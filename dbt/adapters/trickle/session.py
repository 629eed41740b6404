"""The session method's connection: one Spark session per dbt thread, rows only fetched when asked."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark.connections import SparkConnectionWrapper

from dbt.adapters.trickle import embedded
from dbt.adapters.trickle.problems import told
from dbt.adapters.trickle.statements import affected_rows, bind, strip_terminator, writes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from dbt.adapters.trickle.credentials import TrickleCredentials


class TrickleSession(SparkConnectionWrapper):
    """What dbt calls a handle, a cursor and a connection; here they are one."""

    def __init__(self, credentials: TrickleCredentials) -> None:
        self._credentials = credentials
        self._session = embedded.new_session(credentials)
        self._frame: DataFrame | None = None
        self._rows: list[Row] | None = None
        self._job_group = f"dbt-trickle-{uuid.uuid4()}"
        self.rows_affected: int | None = None

    def cursor(self) -> TrickleSession:
        self._forget()
        return self

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        self._forget()
        sql = bind(strip_terminator(sql), bindings)
        if writes(sql):
            self._hold_the_warehouse()
        context = self._session.sparkContext
        # Job groups belong to a thread, and dbt may hand a connection to another one: set it each time.
        context.setJobGroup(self._job_group, "dbt", interruptOnCancel=True)
        self._frame = self._session.sql(sql)
        self.rows_affected = affected_rows(self._frame.columns, self._collect)

    def fetchall(self) -> list[Row]:
        # A query runs when its rows are asked for, and there dbt handles no database errors.
        with told():
            return self._collect()

    def _collect(self) -> list[Row]:
        if self._rows is None:
            self._rows = self._frame.collect() if self._frame is not None else []
        return self._rows

    def fetchone(self) -> Row | None:
        rows = self.fetchall()
        return rows[0] if rows else None

    def fetchmany(self, size: int) -> list[Row]:
        """dbt show's --limit: only that many rows leave Spark."""
        if self._rows is None and self._frame is not None:
            with told():
                return self._frame.take(size)
        return (self._rows or [])[:size]

    @property
    def description(self) -> Sequence[tuple[str, Any, int | None, int | None, int | None, int | None, bool]]:
        if self._frame is None:
            return []
        return [
            (field.name, field.dataType.simpleString(), None, None, None, None, field.nullable)
            for field in self._frame.schema.fields
        ]

    def cancel(self) -> None:
        # The rest of the statement's jobs, too: a MERGE runs several, and the next would simply begin.
        context = self._session.sparkContext._jsc
        if context is not None:
            context.sc().cancelJobGroupAndFutureJobs(self._job_group)

    def close(self) -> None:
        self._forget()

    def rollback(self, *_: Any, **__: Any) -> None:
        """Spark has no transaction to roll back; every statement of ours is one atomic commit."""

    def _hold_the_warehouse(self) -> None:
        spark = embedded.running()
        if spark is not None and spark.lock is not None:
            spark.lock.acquire(self._credentials.writer_lock_timeout)

    def _forget(self) -> None:
        self._frame = None
        self._rows = None
        self.rows_affected = None
