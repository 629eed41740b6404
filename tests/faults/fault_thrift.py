"""The engine's seam over a thrift connection of its own, without dbt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fault_proxy import LAST
from pyhive import hive
from TCLIService.ttypes import TExecuteStatementReq

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

    def send(self, sql: str) -> None:
        """And nothing else: who ends now does not know whether the server has even begun with it."""
        statement = f"{LAST} {sql}"
        request = TExecuteStatementReq(self._connection.sessionHandle, statement, runAsync=False)
        self._connection.client.send_ExecuteStatement(request)


@dataclass(frozen=True)
class ThriftSessions:
    """How to reach a server, for any process: each call is a session of its own."""

    host: str
    port: int

    def __call__(self) -> ThriftSession:
        return ThriftSession(hive.connect(host=self.host, port=self.port, username="dbt"))

    def kept(self) -> ThriftSession:
        """One for the process, to look and to prepare with: to open a session costs as much as a statement."""
        return _kept(self)


@lru_cache
def _kept(sessions: ThriftSessions) -> ThriftSession:
    return sessions()
