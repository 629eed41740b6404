"""The engine driven without dbt: a run costs a second, not a process's start."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

from dbt.adapters.trickle import embedded
from dbt.adapters.trickle.credentials import TrickleCredentials
from dbt.adapters.trickle.problems import message_of
from dbt.adapters.trickle.requests import view_text
from dbt_trickle import names
from dbt_trickle.catalog import store
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import ProjectSettings, StreamTableConfig
from dbt_trickle.errors import TrickleError, WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.plan.steps import Docs
from dbt_trickle.run.announced import Outcome, Planned
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.refresh import refresh
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

Rows = Counter[tuple[Any, ...]]
_numbers = itertools.count(1)


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
    look: Callable[[], Session] | None = None  # a session for all that is no run; none: a new one each time

    @classmethod
    def create(
        cls,
        connect: Callable[[], Session],
        settings: ProjectSettings | None = None,
        look: Callable[[], Session] | None = None,
    ) -> World:
        """With a catalog of its own, or with one that others have, too: to make one costs seconds."""
        number = next(_numbers)
        own = ProjectSettings(catalog_schema=f"fault_catalog_{number}", change_schema=f"fault_changes_{number}")
        world = cls(connect, f"fault_{number}", settings or own, look)
        world.sql(f"CREATE SCHEMA {world.schema}")
        return world

    @property
    def looking(self) -> Session:
        return (self.look or self.connect)()

    def sql(self, *statements: str) -> None:
        session = self.looking
        for statement in statements:
            session.execute(statement)

    def rows(self, query: str) -> Rows:
        return without_hidden(self.looking.query(query))

    def relation(self, name: str) -> Relation:
        return Relation.of(self.schema, name)

    def kind_of(self, relation: Relation) -> str | None:
        return self.as_cached([relation]).get(relation.identifier, (None, None))[0]

    def as_cached(self, relations: Iterable[Relation]) -> dict[str, tuple[str, str | None]]:
        """What dbt's cache would say of each that is there, by the statement that fills it: view or table, and the
        view's text."""
        pattern = names.literal("|".join(relation.identifier for relation in relations))
        rows = self.looking.query(f"SHOW TABLE EXTENDED IN {names.quote(self.schema)} LIKE {pattern}")
        found = {}
        for row in rows:
            kind = "view" if "Type: VIEW" in row["information"] else "table"
            found[row["tableName"]] = (kind, view_text(SimpleNamespace(information=row["information"])))
        return found

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

    def invocation(self, number: str | None = None, wait: Callable[[float], bool] = lambda _: True) -> Invocation:
        return Invocation(number or str(uuid.uuid4()), self.settings, now, wait=wait)

    def begin(self, requests: Iterable[Request], session: Session, run: Invocation) -> list[Outcome]:
        """All of a dbt run up to its end."""
        requests = list(requests)
        run.open(session, [Planned(r.pgt_id, str(uuid.uuid4()), r.public) for r in requests])
        return [refresh(r, session, run) for r in self.with_what_is_there(requests)]

    def with_what_is_there(self, requests: Iterable[Request]) -> list[Request]:
        requests = list(requests)
        cached = self.as_cached([request.public for request in requests])
        there = [cached.get(request.public.identifier, (None, None)) for request in requests]
        return [replace(r, existing=kind, shown=text) for r, (kind, text) in zip(requests, there, strict=True)]

    def run(self, *requests: Request, session: Session | None = None, run: Invocation | None = None) -> list[Outcome]:
        session, run = session or self.connect(), run or self.invocation()
        outcomes = self.begin(requests, session, run)
        run.close(session)
        return outcomes

    def attempt(self, requests: Sequence[Request]) -> list[tuple[str, str]]:
        """One run; of each stream table its action or its error's code, with the reason."""
        session, run = self.connect(), self.invocation()
        run.open(session, [Planned(r.pgt_id, f"{r.pgt_id} {run.invocation_id}", r.public) for r in requests])
        views = {row["viewName"] for row in session.query(f"SHOW VIEWS IN {self.schema}")}
        told = []
        for request in requests:
            existing = "view" if request.public.identifier in views else None
            try:
                row = refresh(replace(request, existing=existing), session, run).refresh
                told.append((row.action, row.reason))
            except TrickleError as problem:
                told.append((problem.code, problem.what))
        run.close(session)
        return told

    def refreshed(self, request: Request) -> str:
        return self.run(request)[0].refresh.action

    def catalog(self) -> store.Catalog:
        return store.parse(self.looking.query(store.read_query(self.settings.catalog_schema)))

    def states(self) -> dict[int, StreamTable]:
        return dict(self.catalog().stream_tables)

    def history(self) -> list[Mapping[str, Any]]:
        table = Relation.of(self.settings.catalog_schema, "pgt_refresh_history").sql
        columns = "pgt_id, invocation_id, action, status, batch, rows_inserted, error_message"
        return list(self.looking.query(f"SELECT {columns} FROM {table}"))


def embedded_sessions(target: Mapping[str, Any]) -> Callable[[], Session]:
    """Sessions over the one Spark of this process, each new: a dead one's settings died with it."""
    given = TrickleCredentials.translate_aliases({"schema": "default", "database": None, **target})
    credentials = TrickleCredentials.from_dict(given)
    return lambda: SparkEngineSession(embedded.new_session(credentials))
