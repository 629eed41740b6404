"""The engine's seam over dbt's connection of the current thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

from dbt_trickle.errors import TrickleError, WarehouseError

if TYPE_CHECKING:
    from dbt.adapters.trickle.impl import TrickleAdapter


class AdapterSession:
    def __init__(self, adapter: TrickleAdapter) -> None:
        self._connections = adapter.connections

    def execute(self, sql: str) -> None:
        self._run(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        cursor = self._run(sql)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall() or ()]

    def _run(self, sql: str) -> Any:
        if not sql.startswith(("SET ", "RESET ")):  # Spark takes what follows these words literally
            sql = self._connections._add_query_comment(sql)
        try:
            _, cursor = self._connections.add_query(sql, auto_begin=False)
        except DbtRuntimeError as problem:
            cause = problem.__cause__
            if isinstance(cause, TrickleError):
                raise cause from None
            raise WarehouseError("TRK-301", str(problem.msg)) from problem
        return cursor
