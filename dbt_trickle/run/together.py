"""States of its sources that a stream table can read together, where the newest ones cannot be.

Where they can, nothing is asked: what each was computed from is known by then. Else histories are: of the tables that
clash, whether any row changed between the two versions, and of the branches as far back as it takes (plan/agree.py),
which is no further than to what the stream table was computed from itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.names import key_of
from dbt_trickle.plan.agree import Agreed, Apart, Clash, agree, told
from dbt_trickle.plan.points import Branch, Point, State, states
from dbt_trickle.run.pins import Pinned, PinnedQuery, pinned_stream_table, pinned_table
from dbt_trickle.run.session import Session
from dbt_trickle.run.sources import looked_further
from dbt_trickle.run.still import same_rows

# Commits of a branch that are looked through: a week of a run a minute. Each tells what it was computed from.
_MOST = 10_000


def agreeing(
    session: Session,
    state: Callable[[int], StreamTable | None],
    reader: StreamTable | None,
    newest: PinnedQuery,
    pinned: Callable[[Mapping[str, Pinned]], PinnedQuery],
) -> PinnedQuery:
    """`newest`: the query over the newest states; `pinned`: over others, by the names of the sources."""
    if not newest.branches:
        return newest
    search = _Search(session, lambda key: state(int(key.removeprefix("pgt_"))), reader, newest)
    if len(newest.frontier) == 1:
        return replace(newest, origins=search.of_the_only_one())
    found = search.agreement()
    if isinstance(found, Apart):
        unknown = [newest.branches[found.short].relation] if found.short is not None else []
        return replace(newest, apart=_told(found.clashes, unknown))
    gone = next((v for key, v in found.tables.items() if not _is_still(session, v, newest.frontier[key])), None)
    if gone is not None:
        lost = f"version {gone.version} of {gone.relation} is not there any more"
        return replace(newest, apart=f"{told(found.clashes)}; {lost}")
    at = _older(found, newest)
    if not at:
        return replace(newest, origins=dict(found.origins))
    older = [branch.relation for branch in newest.branches.values() if key_of(branch.relation) in at]
    agreed = replace(pinned(at), newest=newest.frontier, branches=newest.branches)
    return replace(agreed, origins=dict(found.origins), held=_told(found.clashes, older))


@dataclass
class _Search:
    session: Session
    stream_table_of: Callable[[str], StreamTable | None]
    reader: StreamTable | None
    newest: PinnedQuery
    branches: dict[str, Branch] = field(init=False)
    # Versions of tables with the same rows, each with the one that stands for it.
    alike: dict[tuple[str, str, int], SourceVersion] = field(default_factory=dict)
    compared: set[Clash] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.branches = dict(self.newest.branches)

    def of_the_only_one(self) -> dict[str, SourceVersion]:
        """What it was computed from, if that is known; whatever it was, there is nothing to agree with."""
        ((key, version),) = self.newest.frontier.items()
        now = next(iter(states(self.branches[key], self.stream_table_of, None)), None)
        return dict(now.point) if now is not None and now.version.same_state(version) else {}

    def agreement(self) -> Agreed | Apart:
        while True:
            found = self._agree()
            if self._compare(found.clashes):
                continue
            if isinstance(found, Agreed) or found.short is None or not self._look_further(found.short):
                return found

    def _agree(self) -> Agreed | Apart:
        branches = {key: self._states(branch) for key, branch in self.branches.items()}
        read = {key: version for key, version in self.newest.frontier.items() if key not in self.branches}
        return agree(branches, self._plain(read), self._plain(self._floor))

    @property
    def _floor(self) -> Point:
        return self.reader.frontier if self.reader is not None else {}

    def _look_further(self, key: str) -> bool:
        short = self.branches[key]
        if short.is_known_from(self._floor.get(key)) or short.asked >= _MOST:
            return False
        self.branches[key] = looked_further(self.session, short)
        return True

    def _states(self, branch: Branch) -> list[State]:
        found = states(branch, self.stream_table_of, self.reader)
        return [replace(each, point=self._plain(each.point)) for each in found] if self.alike else found

    def _plain(self, point: Point) -> Point:
        return {key: self._stood_for(version) for key, version in point.items()}

    def _stood_for(self, version: SourceVersion) -> SourceVersion:
        while (older := self.alike.get(_at(version))) is not None:
            version = older
        return version

    def _compare(self, clashes: Sequence[Clash]) -> bool:
        """Whether one is none: an OPTIMIZE, or a feed that a run has switched on, makes a version and moves no row."""
        found = False
        for clash in clashes:
            if clash in self.compared or clash.behind.kind != "TABLE" or clash.behind.table_id != clash.ahead.table_id:
                continue
            self.compared.add(clash)
            if same_rows(self.session, clash.behind, clash.ahead):
                self.alike[_at(clash.ahead)] = clash.behind
                found = True
        return found


def _at(version: SourceVersion) -> tuple[str, str, int]:
    return version.key, version.table_id, version.version


def _older(found: Agreed, newest: PinnedQuery) -> dict[str, Pinned]:
    """By name, what is not read as it is now."""
    tables = {key_of(version.relation): pinned_table(version) for version in found.tables.values()}
    return tables | {
        key_of(branch.relation): pinned_stream_table(branch.table, state.version, state.as_of)
        for key, state in found.states.items()
        if not state.version.same_state(newest.frontier[key]) and (branch := newest.branches[key])
    }


def _is_still(session: Session, version: SourceVersion, now: SourceVersion) -> bool:
    """Whether the table of that name is the one that had this version. Replaced in place it still is."""
    if version.table_id == now.table_id:
        return True
    limit = max(now.version - version.version + 1, 1)
    commits = map(delta.commit_of, session.query(delta.history(version.table, limit)))
    return any((c.version, c.committed_at) == (version.version, version.committed_at) for c in commits)


def _told(clashes: Sequence[Clash], unknown: Sequence[str]) -> str:
    """Where none is known, the newest content of one of them is not: somebody else may have written it."""
    return told(clashes) if clashes else f"what {', '.join(unknown)} was computed from is not known"
