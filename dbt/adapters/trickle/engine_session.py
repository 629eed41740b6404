"""The engine's seam over dbt's connection of the current thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.trickle import secrets
from dbt.adapters.trickle.lost import is_lost
from dbt_trickle.errors import TrickleError, WarehouseError, raised_in_sql

_AWAY = (
    "What was committed is complete, and the next run goes on from there. Look at the server; `trickle doctor` tries "
    "the connection."
)
_REFUSED = (
    "A model's SQL as dbt compiled it is in target/compiled, each statement that was sent in logs/dbt.log; "
    "docs/errors.md says more."
)

if TYPE_CHECKING:
    from dbt.adapters.trickle.impl import TrickleAdapter


class AdapterSession:
    def __init__(self, adapter: TrickleAdapter) -> None:
        self._connections = adapter.connections
        self._embedded = adapter.config.credentials.method == SparkConnectionMethod.SESSION
        self._zone: tzinfo | None = None

    def execute(self, sql: str) -> None:
        self._run(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        names, rows = self._fetch(sql)
        return [dict(zip(names, map(self._aware, row), strict=True)) for row in rows]

    def _fetch(self, sql: str) -> tuple[list[str], Sequence[Any]]:
        cursor = self._run(sql)
        try:
            return [column[0] for column in cursor.description or ()], cursor.fetchall() or ()
        except DbtRuntimeError as problem:
            raise self._told(problem) from problem

    def _run(self, sql: str) -> Any:
        if not sql.startswith(("SET ", "RESET ")):  # Spark takes what follows these words literally
            sql = self._connections._add_query_comment(sql)
        try:
            _, cursor = self._connections.add_query(sql, auto_begin=False)
        except DbtRuntimeError as problem:
            raise self._told(problem) from problem
        return cursor

    def _told(self, problem: DbtRuntimeError) -> TrickleError:
        cause, said = problem.__cause__, secrets.masked(str(problem.msg))
        if not self._embedded and is_lost(problem):
            self._connections.renew()
            return WarehouseError("TRK-306", f"no answer from the Spark server: {said}", remedy=_AWAY)
        if isinstance(cause, TrickleError):
            return cause
        return raised_in_sql(said) or WarehouseError("TRK-301", said, remedy=_REFUSED)

    def _aware(self, value: Any) -> Any:
        """PySpark tells times in this process's zone, a server in its session's; neither says so."""
        if not isinstance(value, datetime) or value.tzinfo is not None:
            return value
        if self._embedded:
            return value.astimezone(timezone.utc)
        if self._zone is None:
            self._zone = _zone(str(self._fetch("SELECT current_timezone()")[1][0][0]))
        return value.replace(tzinfo=self._zone).astimezone(timezone.utc)


def _zone(name: str) -> tzinfo:
    """Spark's zones are names or offsets such as +02:00."""
    if name[:1] in "+-":
        offset = datetime.strptime(name, "%z").utcoffset()
        return timezone(offset) if offset is not None else timezone.utc
    return ZoneInfo(name)
