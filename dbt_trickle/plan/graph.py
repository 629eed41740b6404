"""What reads what: the order in which stream tables are brought up to date, cycles, and where branches meet again.

A graph has, by the name of each stream table, the names that it reads; what only is read is a source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

Reads = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Diamond:
    """Stream tables that read something shared over different branches, and those where the branches meet."""

    shared: tuple[str, ...]
    members: tuple[str, ...]
    converges: tuple[str, ...]

    @property
    def name(self) -> str:
        """No two meet in one."""
        return self.converges[0]


def components(reads: Reads) -> tuple[tuple[str, ...], ...]:
    """Tarjan's: what reads itself over others is one component. Each comes after all that it reads.

    Without recursion, since a chain may be as long as it likes.
    """
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: dict[str, None] = {}
    found: list[tuple[str, ...]] = []
    for start in sorted(reads):
        if start in number:
            continue
        ways: list[tuple[str, Iterator[str]]] = [_entered(start, reads, number, lowest, open_)]
        while ways:
            name, ahead = ways[-1]
            following = next(ahead, None)
            if following is None:
                ways.pop()
                if ways:
                    lowest[ways[-1][0]] = min(lowest[ways[-1][0]], lowest[name])
                if lowest[name] == number[name]:
                    found.append(_taken(name, open_))
            elif following not in number:
                ways.append(_entered(following, reads, number, lowest, open_))
            elif following in open_:
                lowest[name] = min(lowest[name], number[following])
    return tuple(found)


def _entered(
    name: str, reads: Reads, number: dict[str, int], lowest: dict[str, int], open_: dict[str, None]
) -> tuple[str, Iterator[str]]:
    number[name] = lowest[name] = len(number)
    open_[name] = None
    return name, iter(sorted(reads[name] & reads.keys()))


def _taken(root: str, open_: dict[str, None]) -> tuple[str, ...]:
    """The component that was begun with its root."""
    names = []
    while True:
        name, _ = open_.popitem()
        names.append(name)
        if name == root:
            return tuple(sorted(names))


def cycles(reads: Reads) -> tuple[tuple[str, ...], ...]:
    return tuple(each for each in components(reads) if len(each) > 1 or each[0] in reads[each[0]])


def levels(reads: Reads) -> dict[str, int]:
    """How many stream tables a change of a source goes through at most. What is in a cycle has one level."""
    found: dict[str, int] = {}
    for component in components(reads):
        below = [found[each] for name in component for each in reads[name] if each in found]
        found.update(dict.fromkeys(component, 1 + max(below, default=0)))
    return found


def diamonds(reads: Reads) -> tuple[Diamond, ...]:
    """Those that have a member in common are one."""
    reached = _reached(reads)
    groups: list[tuple[set[str], set[str], set[str]]] = []
    for name in sorted(reads):
        shared = _shared(reads[name] - {name}, reached)
        if not shared:
            continue
        members = {each for each in reached[name] & reads.keys() - shared if reached[each] & shared}
        converges = {name}
        for other in [each for each in groups if each[1] & members]:
            groups.remove(other)
            shared, members, converges = shared | other[0], members | other[1], converges | other[2]
        groups.append((shared, members, converges))
    told = [_told(reads, *group) for group in groups]
    return tuple(sorted(told, key=lambda each: each.members))


def _reached(reads: Reads) -> dict[str, set[str]]:
    """Of each name, itself and all that it reads over others."""
    found: dict[str, set[str]] = {}
    for component in components(reads):
        below = {each for name in component for each in reads[name]}
        reached = set(component).union(*(found.get(each, {each}) for each in below))
        found.update(dict.fromkeys(component, reached))
    return found


def _shared(inputs: Iterable[str], reached: Mapping[str, set[str]]) -> set[str]:
    once: set[str] = set()
    twice: set[str] = set()
    for each in inputs:
        below = reached.get(each, {each})
        twice |= once & below
        once |= below
    return twice


def _told(reads: Reads, shared: set[str], members: set[str], converges: set[str]) -> Diamond:
    """Of what is shared, what a member reads; the rest is behind it."""
    nearest = {each for member in members for each in reads[member]} & shared - members
    return Diamond(tuple(sorted(nearest)), tuple(sorted(members)), tuple(sorted(converges)))
