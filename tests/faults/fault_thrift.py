"""The engine's seam over a thrift connection of its own, without dbt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyhive import hive

from dbt.adapters.trickle.problems import message_of
from dbt_trickle.errors import WarehouseError


class ThriftSession:
    def __init__(self, connection: hive.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str) -> None:
        self.query(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        cursor = self._connection.cursor()
        try:
            cursor.execute(sql)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in (cursor.fetchall() if names else ())]
        except hive.Error as problem:
            raise WarehouseError("TRK-301", message_of(problem)) from problem
        finally:
            cursor.close()
