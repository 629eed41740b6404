"""What is known of many windows of a table that does not change meanwhile, and what each capture says of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from capture_history import History, at_once, rows_of, told, weights_of

from dbt_trickle.capture import log
from dbt_trickle.capture.base import WEIGHT, Appended, Capture, LogFacts, Unlogged, Window
from dbt_trickle.capture.choose import Chosen, Refused, choose
from dbt_trickle.capture.commits import nothing_changed
from dbt_trickle.capture.difference import Difference
from dbt_trickle.capture.feed import Feed
from dbt_trickle.capture.log import Log
from dbt_trickle.capture.table import TableFacts, table_facts
from dbt_trickle.formats import delta
from dbt_trickle.names import quote
from dbt_trickle.run.session import Session
from dbt_trickle.run.windows import gather

COMMITS_AT_ONCE = 8  # whose log is read by one statement


@dataclass
class Remembering:
    """Of a table that does not change, what was asked once is known."""

    inner: Session
    answers: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def execute(self, sql: str) -> None:
        self.inner.execute(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql not in self.answers:
            self.answers[sql] = self.inner.query(sql)
        return self.answers[sql]


@dataclass(frozen=True)
class Looked:
    """`by_log`: what the transaction log says by itself, also where the operations keep it from being chosen."""

    window: Window
    facts: LogFacts
    choice: Chosen | Refused | None  # none: no row moved
    by_log: Appended | Unlogged
    vectors: bool  # whether files had deletion vectors before

    @property
    def captures(self) -> dict[str, Capture]:
        if self.choice is None:
            return {}
        found: dict[str, Capture] = {"feed": Feed(), "difference": Difference()}
        return found | ({"log": Log(self.by_log)} if isinstance(self.by_log, Appended) else {})


def look(history: History, spans: Iterable[tuple[int, int, Sequence[str]]]) -> Iterator[Looked]:
    session = Remembering(history.session)
    table = table_facts(session.query(delta.detail(history.relation))[0])
    commits = session.query(f"DESCRIBE HISTORY {history.name}")
    committed = {row["version"]: delta.instant(row["timestamp"]) for row in commits}
    logged = _logged(history, session, table)
    for old, new, names in spans:
        window = history.window(old, new, *names)
        facts = gather(session, window, committed[old], "log", table)
        choice = None if nothing_changed(facts.commits) else choose("log", facts)
        obstacle = log.obstacle(replace(facts, properties=table.properties), table.location, table.partitions)
        rows = [row for version in range(old + 1, new + 1) for row in logged[version]]
        by_log = Unlogged(obstacle) if obstacle else log.appended(window, table.location, rows)
        before = [row for version in range(old + 1) for row in logged[version]]
        yield Looked(window, facts, choice, by_log, any(row["has_vector"] for row in before))


def _logged(history: History, session: Session, table: TableFacts) -> dict[int, list[Mapping[str, Any]]]:
    """What each commit did, by the log."""
    found: dict[int, list[Mapping[str, Any]]] = {version: [] for version in range(history.newest + 1)}
    for old in range(0, history.newest, COMMITS_AT_ONCE):
        window = history.window(old, min(old + COMMITS_AT_ONCE, history.newest))
        for row in session.query(log.actions(window, table.location)):
            found[int(str(row["file"]).removesuffix(".json"))].append(row)
    return found


def asked(
    history: History, windows: Sequence[tuple[Window, Mapping[str, Capture]]]
) -> Iterator[tuple[Window, str, dict[Any, int]]]:
    """What each capture says of each window. The rows of the versions come with it, for what Python says.

    In one statement an old version is looked up once, and that is what it costs to read one. A feed has a statement
    of its own: two windows of one table's feed in one statement are the first of them twice (measured).
    """
    unread = range(len(history.versions), history.newest + 1)
    plain = [(window, name, c) for window, captures in windows for name, c in captures.items() if name != "feed"]
    names = [*(tuple(history.columns[version]) for version in unread), *(window.names for window, _, _ in plain)]
    queries = [f"SELECT *, 1L AS {quote(WEIGHT)} FROM {delta.at_version(history.name, version)}" for version in unread]
    queries += [capture.changes(window) for window, _, capture in plain]
    every = {name: text for columns in history.columns for name, text in columns.items()}
    found = at_once(history.session, list(zip(names, queries, strict=True)), every)
    for version in unread:
        history.versions.append(rows_of(found.pop(0), tuple(history.columns[version])))
    for (window, name, _), rows in zip(plain, found, strict=True):
        yield window, name, weights_of(rows, window.names)
    for window, captures in windows:
        if "feed" in captures:
            for name, weights in told(history.session, window, {"feed": captures["feed"]}):
                yield window, name, weights
