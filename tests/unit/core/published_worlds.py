"""The lake of shared_worlds.py with public views: what readers are shown, statement by statement.

The statements are the product's, executed by its code: a refresh's steps, what holds readers back, and what lets them
go on. The lake knows what they do to a view, and which commit is meant by one. It can end a run with any of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import shared_worlds
from shared_worlds import COLUMNS, Content, Table

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Marker
from dbt_trickle.names import Relation
from dbt_trickle.plan import atomic, steps
from dbt_trickle.plan.decide import Decision, Facts
from dbt_trickle.plan.graph import diamonds
from dbt_trickle.plan.public_view import Showing, showing
from dbt_trickle.run import held_back, recover
from dbt_trickle.run.commit import run_steps

VIEW = re.compile(r"(?:ALTER|CREATE) VIEW `w`\.`(\w+)`(?: TBLPROPERTIES \(.*?\))? AS (.*)", re.DOTALL)
PROPERTIES = re.compile(r"ALTER TABLE `changes`\.`(\w+)` SET TBLPROPERTIES .*")
SHOWN = re.compile(r"DESCRIBE TABLE EXTENDED `w`\.`(\w+)`")
COMMIT = "the commit"
LOST = WarehouseError("TRK-301", "no answer any more", remedy="-")


@dataclass
class Lake(shared_worlds.Lake):
    consistency: str = "atomic"
    views: dict[str, str] = field(default_factory=dict)
    in_doubt: set[str] = field(default_factory=set)  # of runs that died
    pending: Callable[[], None] = lambda: None  # what the next commit does
    left: int | None = None  # twice the statements until one fails; odd: it is done all the same
    releasing: bool = False
    torn: list[str] = field(default_factory=list)  # diamonds of which readers saw more than one moment
    _whole: set[tuple[str, ...]] = field(default_factory=set)
    _known: dict[tuple[Any, ...], bool] = field(default_factory=dict)

    def invocation(self, selected: Iterable[str] = ()) -> Invocation:
        run = Invocation(self, dict(self.catalog), to_come=set(selected))
        for name in sorted(self.in_doubt):
            run.rolled_forward(self.number(name))
        self.in_doubt.clear()
        run.release(())
        return run

    def storage(self, name: str) -> str | None:
        shown = self.showing(name)
        return str(shown.current) if shown is not None else None

    def showing(self, name: str) -> Showing | None:
        return showing(self.views[name], self.number(name)) if name in self.views else None

    def shown(self, name: str) -> Content:
        """To a reader."""
        found = self.showing(name)
        assert found is not None
        commits = self.tables[str(found.storage)].commits
        return commits[-1 if found.version is None else found.version].content

    def execute(self, sql: str) -> None:
        if sql.startswith(("SET ", "RESET ")):
            return
        if self.left == 0:
            raise LOST
        if found := VIEW.fullmatch(sql):
            self.views[found[1]] = found[2]
        elif found := PROPERTIES.fullmatch(sql):
            commits = self.tables[f"changes.{found[1]}"].commits
            commits.append(shared_worlds.Commit(self.now(), "SET TBLPROPERTIES", commits[-1].content))
        elif sql == COMMIT or sql.startswith("CREATE OR REPLACE TABLE"):
            self.pending()
        else:
            assert " SET TBLPROPERTIES " in sql, sql
        self.look()
        if self.left == 1:
            raise LOST
        self.left = self.left - 2 if self.left is not None else None

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if found := SHOWN.fullmatch(sql):
            if found[1] not in self.views:
                raise WarehouseError("TRK-301", "TABLE_OR_VIEW_NOT_FOUND", remedy="-")
            return [{"col_name": "View Text", "data_type": self.views[found[1]]}]
        if sql.startswith("SET "):
            return [{"value": "static"}]
        if (found := shared_worlds.HISTORY.fullmatch(sql)) and found[1].replace("`", "") not in self.tables:
            raise WarehouseError("TRK-301", "DELTA_TABLE_NOT_FOUND", remedy="-")
        return super().query(sql)

    # --- what must hold -------------------------------------------------------------------------

    def look(self) -> None:
        """Once the readers of a diamond have seen one moment of it, they do so always.

        But while all of it is shown, one view after the other.
        """
        if self.releasing:
            return
        for group in self.groups():
            if group & self.views.keys() != group:
                continue
            name = ", ".join(sorted(group))
            if self.is_one_moment(group):
                self._whole.add(tuple(sorted(group)))
            elif tuple(sorted(group)) in self._whole:
                self.torn.append(name)

    def groups(self) -> list[set[str]]:
        reads = {name: frozenset(query.inputs) for name, query in self.queries.items()}
        return [set(each.members) for each in diamonds(reads)]

    def is_one_moment(self, group: Collection[str]) -> bool:
        """Whether there are versions of all tables below at which each is its query."""
        shown = {name: self.shown(name) for name in sorted(group)}
        tables = sorted(set().union(*(self.tables_below(name) for name in group)))
        key = (tuple(shown.items()), tuple(len(self.seen[table]) for table in tables))
        if key not in self._known:
            self._known[key] = any(
                all(self.evaluated(name, at) == content for name, content in shown.items())
                for contents in product(*(dict.fromkeys(self.seen[table]) for table in tables))
                for at in [dict(zip(tables, contents, strict=True))]
            )
        return self._known[key]


@dataclass
class Invocation(shared_worlds.Invocation):
    lake: Lake
    to_come: set[str] = field(default_factory=set)

    @property
    def config(self) -> StreamTableConfig:  # type: ignore[override]
        return StreamTableConfig(diamond_consistency=self.lake.consistency)

    def rolled_forward(self, number: int) -> StreamTable | None:
        state = super().rolled_forward(number)
        if state is None:
            return None
        shown = self.lake.showing(state.pgt_name)
        held = recover.held_back(self.lake, number, shown, state, delta.instant(self.lake.moment))
        if held != state.held_back:
            self.know(replace(state, held_back=held))
        return self.states[number]

    def newest_generation(self, state: StreamTable) -> int:
        made = (at.rpartition("_g")[2] for at in self.lake.tables if at.startswith(f"changes.st_{state.pgt_id}_g"))
        return max(map(int, made), default=0)

    def commit(
        self,
        state: StreamTable,
        storage: Relation,
        content: Content,
        marker: Marker,
        facts: Facts,
        decision: Decision,
    ) -> None:
        before, now = facts.state, delta.instant(self.lake.moment)
        members = atomic.members(before, self.states.values()) if before is not None else ()
        before = held_back.held(before, self.config, facts, decision, members, now)
        if before is not None and before.storage == storage:
            before = held_back.freshened(self.lake, before, now)
        if before is not None:
            self.know(before)
        held = before.held_back if before is not None else None
        told = {"diamond_consistency": self.lake.consistency, "columns": [asdict(column) for column in COLUMNS]}
        marker = replace(marker, definition=told)

        def committed() -> None:
            table = self.lake.tables.setdefault(str(storage), Table(str(storage)))
            table.commits.append(shared_worlds.Commit(self.lake.now(), "MERGE", content, marker))

        self.lake.pending = committed
        target = steps.Target(state.public, storage, COLUMNS, held_back=held)
        if before is not None and before.storage == storage:
            plan = steps.bring_in(target, SimpleNamespace(sql=COMMIT, work="append"), marker)  # type: ignore[arg-type]
        else:
            existing = "ours" if before is not None else None
            plan = steps.load(target, "select 1", marker, self.config, existing, [("x", "x")])
        request = SimpleNamespace(public=state.public, pgt_id=state.pgt_id)
        phases = SimpleNamespace(lap=lambda _: None)
        here = SimpleNamespace(session=self.lake, request=request, before=before, phases=phases)
        _, commit = run_steps(here, plan)  # type: ignore[arg-type]
        assert commit is not None
        self.know(recover.apply_marker(before or state, storage, commit, marker))

    def release(self, to_come: Collection[str]) -> None:
        due = atomic.due(list(self.states.values()), {self.lake.number(name) for name in to_come})
        self.lake.releasing = True
        try:
            for shown in [table for group in due for table in held_back.released(self.lake, group, lambda _: None)]:
                self.know(held_back.let_go(self.states[shown.pgt_id], delta.instant(self.lake.moment)))
        finally:
            self.lake.releasing = False
            self.lake.look()

    def close(self) -> None:
        self.release(())
        super().close()


def run(lake: Lake, names: Sequence[str], failing: Mapping[str, int], dies: bool = False, anew: bool = False) -> None:
    """As dbt does: what is below a failure is skipped. `failing`: which statement of a refresh fails (Lake.left)."""
    run, failed = lake.invocation(names), set[str]()
    for name in names:
        if failed & _above(lake, name):
            continue
        lake.left = failing.get(name)
        try:
            run.refresh(name, anew=anew)
        except WarehouseError as problem:
            assert problem is LOST
            failed.add(name)
            if dies:
                lake.in_doubt |= set(names)
                return
            run.rolled_forward(lake.number(name))  # run/attempts.py
        finally:
            lake.left = None
        run.to_come.discard(name)
        run.release(run.to_come)
    run.close()


def _above(lake: Lake, name: str) -> set[str]:
    if name not in lake.queries:
        return set()
    return {name}.union(*(_above(lake, each) for each in lake.queries[name].inputs))
