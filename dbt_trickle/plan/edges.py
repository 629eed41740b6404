"""Which stream table reads what, as far as it is known: from what each was computed from, and from dbt's project."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from dbt_trickle.catalog.state import ERROR, SUSPENDED, StreamTable
from dbt_trickle.plan.graph import Reads


def edges(tables: Collection[StreamTable], project: Mapping[str, tuple[str, Collection[str]]]) -> Reads:
    """By public names. `project`: unique id → public name of each of its stream tables, and the unique ids of those
    that it reads.

    The catalog knows what was read last, the project what dbt refers to: a name may stand in a text without ref().
    """
    by_key = {table.key: str(table.public) for table in tables}
    found: dict[str, set[str]] = {}
    for table in tables:
        found[str(table.public)] = {
            by_key.get(key, version.relation) for key, version in table.frontier.items() if not version.is_text
        }
    for name, reads in project.values():
        found.setdefault(name, set()).update(project[each][0] for each in reads if each in project)
    return {name: frozenset(reads) for name, reads in found.items()}


def suspended(keys: Iterable[str], tables: Iterable[StreamTable]) -> tuple[str, ...]:
    """Of the stream tables with these keys, and of those that they read in turn, the ones that are not refreshed."""
    by_key = {table.key: table for table in tables}
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [key for key in keys if key in by_key]
    while waiting:
        table = by_key[waiting.pop()]
        if table.key in seen:
            continue
        seen.add(table.key)
        waiting += (key for key in table.frontier if key in by_key)
        if table.status in (SUSPENDED, ERROR):
            found.add(str(table.public))
    return tuple(sorted(found))


def way_back(key: str, reads: Iterable[str], tables: Iterable[StreamTable]) -> tuple[str, ...]:
    """The names over which a stream table with this key would read itself, if it read these."""
    by_key = {table.key: table for table in tables}
    came_from: dict[str, str | None] = dict.fromkeys(sorted(each for each in reads if each in by_key))
    waiting = list(came_from)
    while waiting:
        at = waiting.pop(0)
        if at == key:
            way = [at]
            while (before := came_from[way[-1]]) is not None:
                way.append(before)
            return tuple(str(by_key[each].public) for each in reversed(way))
        new = [each for each in sorted(by_key[at].frontier) if each in by_key and each not in came_from]
        came_from.update(dict.fromkeys(new, at))
        waiting += new
    return ()
