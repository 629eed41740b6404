"""The engine, driven without dbt over the product's own embedded Spark, and everything about a run written down."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import Recorder, SparkMeter, Statement, Work, commits_below
from dbt.adapters.trickle import embedded
from dbt.adapters.trickle.credentials import TrickleCredentials
from dbt.adapters.trickle.problems import message_of
from dbt.adapters.trickle.session import TrickleSession
from dbt_trickle import names
from dbt_trickle.config import ProjectSettings, StreamTableConfig
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run.announced import Outcome, Planned
from dbt_trickle.run.clock import now
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.refresh import refresh
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

APPENDS = "bench.appends"


class EmbeddedSession:
    """The engine's seam over the connection that dbt gets."""

    def __init__(self, credentials: TrickleCredentials) -> None:
        self._handle = TrickleSession(credentials)

    def execute(self, sql: str) -> None:
        with _told():
            self._handle.execute(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        with _told():
            self._handle.execute(sql)
            columns = [column[0] for column in self._handle.description]
            return [dict(zip(columns, map(_aware, row), strict=True)) for row in self._handle.fetchall()]


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    # py4j's own errors carry what Spark did not turn into one of its classes.
    except Exception as problem:
        raise WarehouseError("TRK-301", message_of(problem)) from problem


def _aware(value: Any) -> Any:
    return value.astimezone(timezone.utc) if isinstance(value, datetime) else value


@dataclass(frozen=True)
class Part:
    """Opening the invocation, one refresh, or closing it."""

    name: str
    seconds: float
    statements: tuple[Statement, ...]

    @property
    def work(self) -> Work:
        return sum((each.work for each in self.statements), Work())


@dataclass(frozen=True)
class Run:
    """One invocation from its opening to its close."""

    parts: tuple[Part, ...]
    outcomes: tuple[Outcome, ...]
    commits: int

    @property
    def seconds(self) -> float:
        return sum(part.seconds for part in self.parts)

    @property
    def work(self) -> Work:
        return replace(sum((part.work for part in self.parts), Work()), commits=self.commits)

    @property
    def statements(self) -> tuple[tuple[str, Statement], ...]:
        return tuple((part.name, each) for part in self.parts for each in part.statements)


@dataclass
class Engine:
    """`warehouse`: the folder in which commits are counted."""

    session: Recorder
    settings: ProjectSettings
    warehouse: Path
    schema: str = "bench"
    _known: set[Relation] = field(default_factory=set)

    def request(self, name: str, query: str, **given: Any) -> Request:
        public, unique_id = Relation.of(self.schema, name), f"model.{self.schema}.{name}"
        config = {key: given.pop(key) for key in list(given) if key in StreamTableConfig.__dataclass_fields__}
        return Request(
            pgt_id=names.pgt_id(unique_id, public),
            unique_id=unique_id,
            public=public,
            query=query,
            original=query,
            config=StreamTableConfig(**config),
            project=self.schema,
            **given,
        )

    def run(self, *requests: Request) -> Run:
        """As dbt does it, one after the other. What has the public names dbt knows from its cache."""
        before = commits_below(self.warehouse)
        invocation = Invocation(str(uuid.uuid4()), self.settings, now)
        planned = [Planned(each.pgt_id, str(uuid.uuid4()), each.public) for each in requests]
        parts = [self._part("open", lambda: invocation.open(self.session, planned))]
        outcomes: list[Outcome] = []
        for each in requests:
            standing = replace(each, existing=each.config.expose if each.public in self._known else None)
            parts.append(self._part("refresh", partial(self._refresh, standing, invocation, outcomes)))
            self._known.add(each.public)
        parts.append(self._part("close", lambda: invocation.close(self.session)))
        return Run(tuple(parts), tuple(outcomes), commits_below(self.warehouse) - before)

    def _refresh(self, request: Request, invocation: Invocation, outcomes: list[Outcome]) -> None:
        outcomes.append(refresh(request, self.session, invocation))

    def command(self, do: Callable[[], object]) -> Run:
        """What is no run, as one part. It may drop tables with all their commits: its statements' are counted."""
        part = self._part("refresh", do)
        return Run((part,), (), sum(each.sql.startswith(("INSERT ", "MERGE ")) for each in part.statements))

    def _part(self, name: str, do: Callable[[], object]) -> Part:
        first, began = len(self.session.statements), self.session.now()
        do()
        return Part(name, self.session.now() - began, tuple(self.session.statements[first:]))


class Bench:
    """One embedded Spark with the product's settings, and its append commits, timed beside everything else."""

    def __init__(self, home: Path, tell: Callable[[str], None] = lambda _: None) -> None:
        self.home, self.tell = home, tell
        given = {"schema": "bench", "database": None, "method": "session", "home": str(home)}
        self.credentials = TrickleCredentials.from_dict(TrickleCredentials.translate_aliases(given))
        self.spark = embedded.new_session(self.credentials)
        self.sql(
            "CREATE SCHEMA IF NOT EXISTS bench", f"CREATE OR REPLACE TABLE {APPENDS} (id BIGINT, at STRING) USING delta"
        )
        self.appends: list[float] = []

    @property
    def warehouse(self) -> Path:
        return self.home / "warehouse"

    def connect(self) -> Session:
        return EmbeddedSession(self.credentials)

    def engine(self, name: str) -> Engine:
        """With a catalog of its own: what other scenarios have left there would be read, too."""
        self.sql(f"CREATE SCHEMA IF NOT EXISTS bench_{name}")
        settings = ProjectSettings(catalog_schema=f"{name}_catalog", change_schema=f"{name}_changes")
        return Engine(Recorder(self.connect(), SparkMeter(self.spark)), settings, self.warehouse, f"bench_{name}")

    def sql(self, *statements: str) -> None:
        for statement in statements:
            self.spark.sql(statement)

    def work_of(self, statement: str) -> tuple[float, Work]:
        recorder = Recorder(self.connect(), SparkMeter(self.spark))
        recorder.execute(statement)
        return recorder.statements[0].seconds, recorder.statements[0].work

    def warm(self) -> None:
        """Until Java has compiled what an append runs."""
        self.append(10)
        self.appends.clear()

    def append(self, times: int = 2) -> None:
        for _ in range(times):
            self.appends.append(self.work_of(f"INSERT INTO {APPENDS} VALUES ({len(self.appends)}, '{now()}')")[0])

    @property
    def c(self) -> float:
        return median(self.appends)
