"""A small lake of numbers, in which stream tables are refreshed by the code that chooses what they read.

A table's content is a number, a stream table's what its query makes of those of its inputs. The lake answers what a
warehouse is asked for (histories, a table's id); what it is asked for otherwise does not exist. Everything between is
the product's: names pinned in a text, branches brought together, the decision, the marker and the state made of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from itertools import pairwise, product
from typing import Any

from dbt_trickle.catalog.state import Column, StreamTable
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.errors import TrickleError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Marker, SourceVersion
from dbt_trickle.names import Relation
from dbt_trickle.plan.decide import Decision, Facts, Work, decide
from dbt_trickle.plan.points import point
from dbt_trickle.run import guard, recover, together
from dbt_trickle.run.pins import Pinned, PinnedQuery, Wanted
from dbt_trickle.run.sources import Sources

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
HISTORY = re.compile(r"DESCRIBE HISTORY (\S+) LIMIT (\d+)")
DETAIL = re.compile(r"DESCRIBE DETAIL (\S+)")
Content = Any
Agreeing = Callable[..., PinnedQuery]


@dataclass(frozen=True)
class Query:
    """`of`: what it makes of its inputs' contents; several contents may give one."""

    inputs: tuple[str, ...]
    of: Callable[[Sequence[Content]], Content]


@dataclass
class Commit:
    at: datetime
    operation: str
    content: Content
    marker: Marker | None = None


@dataclass
class Table:
    id: str
    commits: list[Commit] = field(default_factory=list)
    forgotten: int = 0  # commits that a cleaned log has no more

    def rows(self, limit: int) -> list[dict[str, Any]]:
        """Newest first."""
        return [
            {
                "version": version,
                "timestamp": commit.at,
                "operation": commit.operation,
                "userMetadata": commit.marker.to_json() if commit.marker is not None else None,
                "operationMetrics": {"numOutputRows": "1"},
                "operationParameters": {},
            }
            for version, commit in list(enumerate(self.commits))[self.forgotten :][::-1][:limit]
        ]


@dataclass
class Lake:
    """`queries`: of each stream table, after those that it reads; what they read else are tables."""

    queries: Mapping[str, Query]
    agreeing: Agreeing = together.agreeing
    tables: dict[str, Table] = field(default_factory=dict)
    catalog: dict[int, StreamTable] = field(default_factory=dict)
    seen: dict[str, list[Content]] = field(default_factory=dict)  # what each table ever held
    held: dict[tuple[str, int, str], Content] = field(default_factory=dict)  # and when
    asked: list[str] = field(default_factory=list)
    moment: datetime = START

    def __post_init__(self) -> None:
        for name in {each for query in self.queries.values() for each in query.inputs} - self.queries.keys():
            self.made(name, 0)

    # --- what happens to tables -------------------------------------------------------------------

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment

    def made(self, name: str, content: Content) -> None:
        """Or dropped, and made anew."""
        self.tables[f"w.{name}"] = Table(f"id of {self.now().isoformat()}")
        self._committed(name, "WRITE", content)

    def replaced(self, name: str, content: Content) -> None:
        self.tables[f"w.{name}"].id = f"id of {self.now().isoformat()}"
        self.written(name, content)

    def written(self, name: str, content: Content) -> None:
        self._committed(name, "WRITE", content)

    def optimized(self, name: str) -> None:
        """Of a table, or of the storage of a stream table."""
        if name not in self.queries:
            self._committed(name, "OPTIMIZE", self.seen[name][-1])
        elif (storage := self.storage(name)) is not None:
            self.tables[storage].commits.append(Commit(self.now(), "OPTIMIZE", self.content(name)))

    def _committed(self, name: str, operation: str, content: Content) -> None:
        table, at = self.tables[f"w.{name}"], self.now()
        table.commits.append(Commit(at, operation, content))
        self.seen.setdefault(name, []).append(content)
        self.held[f"w.{name}", len(table.commits) - 1, delta.instant(at)] = content

    # --- what a run does --------------------------------------------------------------------------

    def number(self, name: str) -> int:
        return list(self.queries).index(name) + 1

    def storage(self, name: str) -> str | None:
        """What readers see."""
        number = self.number(name)
        found = [at for at in self.tables if at.startswith(f"changes.st_{number}_g")]
        return max(found, key=lambda at: int(at.rpartition("_g")[2]), default=None)

    def invocation(self) -> Invocation:
        return Invocation(self, dict(self.catalog))

    def newest_of(self, state: StreamTable) -> guard.Listed:
        """The file of the newest commit of its storage."""
        commits = self.tables[state.storage_relation].commits
        return {len(commits) - 1: delta.instant(commits[-1].at)}

    def execute(self, sql: str) -> None:
        raise AssertionError(f"looking must not change anything: {sql}")

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self.asked.append(sql)
        if found := HISTORY.fullmatch(sql):
            return self.tables[found[1].replace("`", "")].rows(int(found[2]))
        if found := DETAIL.fullmatch(sql):
            return [{"id": self.tables[found[1].replace("`", "")].id}]
        raise AssertionError(f"the lake was asked for {sql}")

    # --- what must hold ---------------------------------------------------------------------------

    def wrong(self) -> list[str]:
        """Stream tables that are not their query, whatever versions one assumes of the tables below."""
        return [
            name for name in self.queries if (has := self.content(name)) is not None and has not in self.any_of(name)
        ]

    def any_of(self, name: str) -> set[Content]:
        tables = sorted(self.tables_below(name))
        return {
            self.evaluated(name, dict(zip(tables, contents, strict=True)))
            for contents in product(*(dict.fromkeys(self.seen[table]) for table in tables))
        }

    def evaluated(self, name: str, tables: Mapping[str, Content]) -> Content:
        if name in tables:
            return tables[name]
        query = self.queries[name]
        return query.of([self.evaluated(each, tables) for each in query.inputs])

    def tables_below(self, name: str) -> set[str]:
        if name not in self.queries:
            return {name}
        return set().union(*(self.tables_below(each) for each in self.queries[name].inputs))

    def newest(self, name: str) -> Content:
        return self.evaluated(name, {table: self.seen[table][-1] for table in self.tables_below(name)})

    def content(self, name: str) -> Content | None:
        storage = self.storage(name)
        return self.tables[storage].commits[-1].content if storage is not None else None

    def read(self, version: SourceVersion) -> Content:
        """By its version, of the very table that had it."""
        commits = self.tables[str(version.table)].commits
        assert delta.instant(commits[version.read_version].at) == version.read_at
        return commits[version.read_version].content


@dataclass
class Invocation:
    """A run, with the catalog as it was when it began; another one may run at the same time."""

    lake: Lake
    states: dict[int, StreamTable]
    done: dict[int, StreamTable] = field(default_factory=dict)
    actions: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        listed = {state.pgt_id: self.lake.newest_of(state) for state in self.states.values()}
        self.sources = Sources(
            self._at,
            lambda: delta.instant(self.lake.moment),
            lambda state: guard.stands(state, listed.get(state.pgt_id, {}), ours=state.pgt_id in self.done),
        )

    def _at(self, relation: Relation) -> StreamTable | None:
        return next((state for state in self.states.values() if state.public == relation), None)

    config = StreamTableConfig()

    def refresh(self, name: str, *, fails: bool = False, anew: bool = False) -> None:
        number, lake = self.lake.number(name), self.lake
        inputs = lake.queries[name].inputs
        if any(each in lake.queries and lake.number(each) not in self.states for each in inputs):
            return  # its view is not there yet
        before = self.rolled_forward(number)
        pinned = self._pinned(name, before)
        facts = Facts(self.config, before, "", "", pinned.frontier, pinned.held, pinned.apart, full_refresh=anew)
        try:
            decision = decide(facts)
        except TrickleError as problem:
            self.actions[name], self.reasons[name] = problem.code, problem.what
            return
        self.actions[name], self.reasons[name] = decision.action, decision.reason
        if fails or decision.action == "SKIP":
            return
        content = lake.queries[name].of([lake.read(self._version(pinned, each)) for each in inputs])
        as_of = min((*pinned.as_of, delta.instant(lake.moment)))
        if before is not None and content == lake.content(name) and decision.work is not Work.OVERWRITE:
            self.actions[name] = "NO_DATA"
            self.know(replace(before, frontier=pinned.frontier, origins=pinned.origins, data_timestamp=as_of))
            return
        state = before or StreamTable(number, "w", name, f"model.{name}", columns=COLUMNS)
        generation = self.newest_generation(state) + 1 if before is None or anew else state.generation
        storage = Relation.of("changes", f"st_{number}_g{generation}")
        marker = Marker(
            number, state.batch + 1, generation, decision.action, "", "", pinned.frontier, as_of, "run", 0,
            origins=pinned.origins,
        )  # fmt: skip
        self.commit(state, storage, content, marker, facts, decision)

    def newest_generation(self, state: StreamTable) -> int:
        return state.generation

    def commit(
        self,
        state: StreamTable,
        storage: Relation,
        content: Content,
        marker: Marker,
        facts: Facts,
        decision: Decision,
    ) -> None:
        table = self.lake.tables.setdefault(str(storage), Table(str(storage)))
        table.commits.append(Commit(self.lake.now(), "MERGE", content, marker))
        self.know(recover.apply_marker(state, storage, delta.commit_of(table.rows(1)[0]), marker))

    def close(self) -> None:
        """A run that dies does not; what it has committed the storages know."""
        self.lake.catalog |= self.done

    def know(self, state: StreamTable) -> None:
        self.states[state.pgt_id] = self.done[state.pgt_id] = state
        self.sources.forget(state.public)

    def rolled_forward(self, number: int) -> StreamTable | None:
        """As a run finds it that looks at what readers see (run/consider.py)."""
        shown = self.lake.storage(list(self.lake.queries)[number - 1])
        if shown is None:
            return None
        storage = Relation.parse(shown)
        state = self.states.get(number)
        rows = self.lake.tables[str(storage)].rows(100)
        commit = next(c for c in map(delta.commit_of, rows) if c.marker is not None)
        assert commit.marker is not None
        if state is None or (state.batch, state.storage) != (commit.marker.batch, storage):
            base = state or StreamTable(number, "w", list(self.lake.queries)[number - 1], "", columns=COLUMNS)
            self.know(recover.apply_marker(base, storage, commit, commit.marker))
        return self.states[number]

    def _pinned(self, name: str, before: StreamTable | None) -> PinnedQuery:
        relations = (f"w.{each}" for each in self.lake.queries[name].inputs)
        text, wanted = f"select * from {', '.join(relations)}", Wanted({}, before.frontier if before else {})

        def pinned(at: Mapping[str, Pinned]) -> PinnedQuery:
            return self.sources.pin_query(self.lake, text, replace(wanted, at=at))

        return self.lake.agreeing(self.lake, self.states.get, before, pinned({}), pinned)

    def _version(self, pinned: PinnedQuery, name: str) -> SourceVersion:
        return pinned.frontier[f"pgt_{self.lake.number(name)}" if name in self.lake.queries else f"w.{name}"]


COLUMNS = (Column("x", "INT", "x"),)


def recorded(lake: Lake, name: str) -> Content | None:
    """What its query gives at the versions that are noted of all tables below it."""
    state = lake.invocation().rolled_forward(lake.number(name))
    assert state is not None
    found = point(state.frontier, state.origins)
    assert found is not None
    tables = {key.removeprefix("w."): version for key, version in found.items() if version.kind == "TABLE"}
    return lake.evaluated(name, {table: lake.held[_at(version)] for table, version in tables.items()})


def unheeding(*arguments: Any) -> PinnedQuery:
    """As if branches needed not agree."""
    found: PinnedQuery = arguments[3]
    return found


def went_back(lake: Lake) -> Iterator[str]:
    """Refreshes that read something older than the one before."""
    for name, table in lake.tables.items():
        markers = [commit.marker for commit in table.commits if commit.marker is not None]
        for before, after in pairwise(markers):
            for key, version in after.frontier.items():
                if key in before.frontier and version.committed_at < before.frontier[key].committed_at:
                    yield f"{name} read {version} after {before.frontier[key]}"


def _at(version: SourceVersion) -> tuple[str, int, str]:
    return version.relation, version.version, version.committed_at


def run(lake: Lake, names: Iterable[str], **how: bool) -> Mapping[str, str]:
    run = lake.invocation()
    for name in names:
        run.refresh(name, **how)
    run.close()
    return run.actions
