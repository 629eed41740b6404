"""The engine driven without dbt, over sessions that can die: a crash costs a second, not a JVM's start."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from dbt.adapters.trickle import embedded
from dbt.adapters.trickle.credentials import TrickleCredentials
from dbt.adapters.trickle.problems import message_of
from dbt.adapters.trickle.statements import writes
from dbt_trickle import names
from dbt_trickle.catalog import store
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings, StreamTableConfig
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.plan.steps import Docs
from dbt_trickle.run.invocation import Invocation, Outcome, Planned
from dbt_trickle.run.refresh import refresh
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

Rows = Counter[tuple[Any, ...]]
_numbers = itertools.count(1)


class Death(BaseException):
    """kill -9: no handler may see it, and nothing is executed after it."""


class SparkEngineSession:
    """The engine's seam over one Spark session."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def execute(self, sql: str) -> None:
        self._run(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        return self._run(sql, fetch=True)

    def _run(self, sql: str, *, fetch: bool = False) -> Sequence[Mapping[str, Any]]:
        try:
            frame = self.spark.sql(sql)
            return [row.asDict(recursive=True) for row in frame.collect()] if fetch else []
        # py4j's own errors carry what Spark did not turn into one of its classes.
        except Exception as problem:
            raise WarehouseError("TRK-301", message_of(problem)) from problem


@dataclass
class Mortal:
    """Dies when it has executed `life` statements that count; everything after that is death as well.

    What only reads, and a SET, leaves the warehouse as it was: to die before or after it is to die at
    the same moment. `every` counts those, too.
    """

    inner: Session
    life: int | None = None
    every: bool = False
    executed: list[str] = field(default_factory=list)
    dead: bool = False

    def execute(self, sql: str) -> None:
        self._step(self.inner.execute, sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        return self._step(self.inner.query, sql)

    def _step(self, run: Callable[[str], Any], sql: str) -> Any:
        counts = self.every or writes(sql)
        if self.dead or (counts and self.life is not None and len(self.executed) >= self.life):
            self.dead = True
            raise Death(sql)
        answer = run(sql)
        if counts:
            self.executed.append(sql)
        return answer


def without_hidden(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """What a query gives; a table that is exposed has columns of its own behind them."""
    return Counter(tuple(v for k, v in row.items() if not k.startswith(names.RESERVED_PREFIX)) for row in rows)


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class World:
    """Schemas of a test's own in the warehouse that all tests share."""

    connect: Callable[[], Session]
    schema: str
    settings: ProjectSettings

    @classmethod
    def create(cls, connect: Callable[[], Session], settings: ProjectSettings | None = None) -> World:
        """With a catalog of its own, or with one that others have, too: to make one costs seconds."""
        number = next(_numbers)
        own = ProjectSettings(catalog_schema=f"fault_catalog_{number}", change_schema=f"fault_changes_{number}")
        world = cls(connect, f"fault_{number}", settings or own)
        world.sql(f"CREATE SCHEMA {world.schema}")
        return world

    def sql(self, *statements: str) -> None:
        session = self.connect()
        for statement in statements:
            session.execute(statement)

    def rows(self, query: str) -> Rows:
        return without_hidden(self.connect().query(query))

    def relation(self, name: str) -> Relation:
        return Relation.of(self.schema, name)

    def kind_of(self, relation: Relation) -> str | None:
        """What dbt's cache would say of the name."""
        session = self.connect()
        tables = session.query(f"SHOW TABLES IN {names.quote(relation.schema)}")
        if relation.identifier not in {row["tableName"] for row in tables}:
            return None
        views = session.query(f"SHOW VIEWS IN {names.quote(relation.schema)}")
        return "view" if relation.identifier in {row["viewName"] for row in views} else "table"

    def request(self, name: str, query: str, *, docs: Docs | None = None, **more: Any) -> Request:
        public, unique_id = self.relation(name), f"model.faults.{name}"
        config = {k: more.pop(k) for k in list(more) if k in StreamTableConfig.__dataclass_fields__}
        return Request(
            pgt_id=names.pgt_id(unique_id, public),
            unique_id=unique_id,
            public=public,
            query=query,
            original=query,
            config=StreamTableConfig(**config),
            docs=docs or Docs(),
            project="faults",
            **more,
        )

    def invocation(self) -> Invocation:
        return Invocation(str(uuid.uuid4()), self.settings, now)

    def begin(self, requests: Iterable[Request], session: Session, run: Invocation) -> list[Outcome]:
        """All of a dbt run up to its end."""
        requests = list(requests)
        run.open(session, [Planned(r.pgt_id, str(uuid.uuid4()), r.public) for r in requests])
        return [refresh(replace(r, existing=self.kind_of(r.public)), session, run) for r in requests]

    def run(self, *requests: Request, session: Session | None = None, run: Invocation | None = None) -> list[Outcome]:
        session, run = session or self.connect(), run or self.invocation()
        outcomes = self.begin(requests, session, run)
        run.close(session)
        return outcomes

    def refreshed(self, request: Request) -> str:
        return self.run(request)[0].refresh.action

    def states(self) -> dict[int, StreamTable]:
        rows = self.connect().query(store.read_query(self.settings.catalog_schema))
        return dict(store.parse(rows).stream_tables)

    def history(self) -> list[Mapping[str, Any]]:
        table = Relation.of(self.settings.catalog_schema, "pgt_refresh_history").sql
        columns = "pgt_id, invocation_id, action, status, batch, rows_inserted, error_message"
        return list(self.connect().query(f"SELECT {columns} FROM {table}"))


def embedded_sessions(target: Mapping[str, Any]) -> Callable[[], Session]:
    """Sessions over the one Spark of this process, each new: a dead one's settings died with it."""
    given = TrickleCredentials.translate_aliases({"schema": "default", "database": None, **target})
    credentials = TrickleCredentials.from_dict(given)
    return lambda: SparkEngineSession(embedded.new_session(credentials))
