"""Which states of its sources a stream table reads together: the newest that agree on all that they share.

Branches that were refreshed at other moments were computed from other versions of what is below both. Read together
they would give what the query has never been: a customer's order in one, and not in the other. So branches go back,
by time travel, to where all agree; a table that is read itself is read as the branches have it.

The newest agreement is found: a branch goes back only from a version which another one is behind, and that one can go
nowhere but back. Versions only grow from state to state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan.points import Point, State

ITSELF = "the query itself"  # of what the reader reads directly
MOST_TOLD = 3  # of hundreds that may be shared


@dataclass(frozen=True)
class Clash:
    """A source of which two branches have other versions."""

    behind: SourceVersion
    ahead: SourceVersion
    branch_behind: str
    branch_ahead: str

    def __str__(self) -> str:
        older, newer, behind, ahead = self.behind, self.ahead, self.branch_behind, self.branch_ahead
        if older.is_text or older.table_id != newer.table_id:
            return f"{older.relation} is another one in {ahead} than in {behind}"
        return f"{older.relation} is at version {newer.version} in {ahead} and at {older.version} in {behind}"


@dataclass(frozen=True)
class Agreed:
    """`tables`: the versions of tables that the reader reads itself, where it must not be the newest."""

    states: Mapping[str, State]
    tables: Mapping[str, SourceVersion]
    clashes: tuple[Clash, ...] = ()  # of the newest states: why older ones are read

    @property
    def origins(self) -> Point:
        return {key: version for state in self.states.values() for key, version in state.point.items()}


@dataclass(frozen=True)
class Apart:
    """No agreement. `short`: the branch of which an older state was needed than are known; none: it would not help."""

    short: str | None
    clashes: tuple[Clash, ...] = ()


def agree(branches: Mapping[str, Sequence[State]], read: Point, floor: Point) -> Agreed | Apart:
    """`branches`: states newest first; `read`: tables and views as the reader finds them; `floor`: what it has."""
    missing = next((key for key, found in branches.items() if not found), None)
    if missing is not None:
        return Apart(missing)
    at = dict.fromkeys(branches, 0)
    apart = clashes([states[0] for states in branches.values()], read)
    while (back := _to_go_back(chosen := {key: branches[key][n] for key, n in at.items()}, read)) is not None:
        at[back] += 1
        if at[back] == len(branches[back]):
            return Apart(back, apart)
    below = {key: version for state in chosen.values() for key, version in state.point.items()}
    tables = {key: below[key] for key, now in read.items() if key in below and not below[key].same_state(now)}
    if any(key in floor and _order(version) < _order(floor[key]) for key, version in tables.items()):
        return Apart(None, apart)
    return Agreed(chosen, tables, apart)


def _to_go_back(chosen: Mapping[str, State], read: Point) -> str | None:
    """A branch that is ahead of another one in something that they share; of a text, of whatever reads it."""
    first: dict[str, tuple[SourceVersion, str, str | None]] = {
        key: (version, "", None) for key, version in read.items() if version.is_text
    }
    for branch, state in chosen.items():
        for key, version in state.point.items():
            other, as_of, holder = first.setdefault(key, (version, state.as_of, branch))
            if version.same_state(other):
                continue
            is_ahead = (*_order(version), state.as_of) >= (*_order(other), as_of)
            return branch if is_ahead or holder is None else holder
    return None


def told(clashes: Sequence[Clash]) -> str:
    """Of tables before what was made of them."""
    ranked = sorted(clashes, key=lambda each: (each.behind.kind != "TABLE", each.behind.key))
    return "; ".join(map(str, ranked[:MOST_TOLD]))


def clashes(newest: Iterable[State], read: Point) -> tuple[Clash, ...]:
    first: dict[str, tuple[SourceVersion, str]] = {key: (version, ITSELF) for key, version in read.items()}
    found: dict[str, Clash] = {}
    for state in newest:
        name = state.version.relation
        for key, version in state.point.items():
            other, holder = first.setdefault(key, (version, name))
            if key in found or version.same_state(other):
                continue
            if _order(version) >= _order(other):
                found[key] = Clash(other, version, holder, name)
            else:
                found[key] = Clash(version, other, name, holder)
    return tuple(found.values())


def _order(version: SourceVersion) -> tuple[str, int]:
    """A table that was made anew begins with 0 again. Texts of views have no order."""
    return version.committed_at, version.version
