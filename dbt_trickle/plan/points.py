"""What the content of a stream table is right for: one version of each thing below it, down to the tables.

A commit is right for what it was computed from, and its marker says that. Of the newest content the catalog knows
another point: that of the last refresh that found nothing to change. What lies between the two may have been otherwise,
for a row can come and go, and of two sources one may have made good what the other did: [a 1, b 1] and [a 2, b 2] say
nothing of [a 2, b 1]. So there are points, and no intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Commit, SourceVersion

Point = Mapping[str, SourceVersion]
StreamTableOf = Callable[[str], StreamTable | None]  # by its key in a frontier


@dataclass(frozen=True)
class State:
    """A stream table as it can be read; `point` has its own version, too: others may have read it."""

    version: SourceVersion
    point: Point
    as_of: str  # its data timestamp


@dataclass(frozen=True)
class Branch:
    """A stream table that another one reads, with what is known of its storage's history."""

    table: StreamTable
    relation: str
    commits: Sequence[Commit]  # newest first
    asked: int  # so many were asked for; none: it stands as the catalog knows it

    @property
    def key(self) -> str:
        return self.table.key

    @property
    def is_whole(self) -> bool:
        return len(self.commits) < self.asked

    @property
    def tells_newest(self) -> bool:
        """Whether it is known which commit has made the rows what they are."""
        return self.is_whole or any(commit.operation not in delta.NO_CHANGE for commit in self.commits)

    def is_known_from(self, floor: SourceVersion | None) -> bool:
        """Whether older commits would tell of no state that may be read."""
        markers = (commit.marker for commit in self.commits)
        generations = {m.generation for m in markers if m is not None and m.pgt_id == self.table.pgt_id}
        if self.is_whole or len(generations) > 1:
            return True
        return floor is not None and any(commit.version <= floor.version for commit in self.commits)

    @property
    def newest(self) -> SourceVersion:
        """As it is now, whoever has made it that. Where nothing of all that is told did, it is read at the last."""
        if not self.asked:
            return self._in_the_catalog
        seen, made = self.commits[0], next((c for c in self.commits if c.operation not in delta.NO_CHANGE), None)
        if made is not None:
            return self._version(made.version, made.committed_at, seen)
        return self.before_all or self._version(seen.version, seen.committed_at, seen)

    @property
    def before_all(self) -> SourceVersion | None:
        """The commit that the catalog knows, where a cleaned log has it no more and nothing came after it."""
        table, oldest = self.table, self.commits[-1]
        cleaned = self.is_whole and all(commit.operation in delta.NO_CHANGE for commit in self.commits)
        if not cleaned or not table.storage_at or table.storage_version >= oldest.version:
            return None
        return self._version(table.storage_version, table.storage_at, self.commits[0])

    @property
    def _in_the_catalog(self) -> SourceVersion:
        found = self._version(self.table.storage_version, self.table.storage_at, None)
        return replace(found, seen_version=found.version, seen_at=found.committed_at)

    def versions(self) -> Iterator[tuple[Commit | None, SourceVersion]]:
        """Its own. What somebody else wrote is the content of no query, and its next refresh takes it back."""
        if not self.asked:
            yield None, self._in_the_catalog
            return
        generation, seen = None, None
        for commit in self.commits:
            if commit.operation in delta.NO_CHANGE:
                seen = seen or commit
                continue
            marker = commit.marker
            if marker is not None and marker.pgt_id == self.table.pgt_id:
                generation = marker.generation if generation is None else generation
                if marker.generation != generation:
                    return
                yield commit, self._version(commit.version, commit.committed_at, seen)
            seen = None
        if (version := self.before_all) is not None:
            yield None, version

    def _version(self, version: int, committed_at: str, seen: Commit | None) -> SourceVersion:
        storage = str(self.table.storage)
        found = SourceVersion(self.key, "STREAM_TABLE", self.relation, storage, version, committed_at)
        return found if seen is None else replace(found, seen_version=seen.version, seen_at=seen.committed_at)


def point(frontier: Point, origins: Point) -> Point | None:
    """None: what a stream table among them was computed from was not noted, by a release that did not do so."""
    if any(version.kind == "STREAM_TABLE" and key not in origins for key, version in frontier.items()):
        return None
    return {**origins, **frontier}


def lifted(table: StreamTable, stream_table_of: StreamTableOf) -> Point | None:
    """Where the stream tables that it read stand unchanged and were found to be right for something newer, so is it.

    But not if it reads a table of theirs itself: that was not looked at for it.
    """
    found: dict[str, SourceVersion] = {}
    for key, version in table.frontier.items():
        below: Point | None = {}
        if version.kind == "STREAM_TABLE":
            upstream = stream_table_of(key)
            below = point(upstream.frontier, upstream.origins) if upstream and _shows(upstream, version) else None
        if below is None:
            return None
        for each, state in {**below, key: version}.items():
            if not state.same_state(found.setdefault(each, state)):
                return None
    return found


def states(branch: Branch, stream_table_of: StreamTableOf, reader: StreamTable | None) -> list[State]:
    """The states that a reader can go on to, newest first, as far as the commits are known that made them.

    None is older than what it was computed from, and all are of one generation: an older one may have other columns.
    """
    floor = reader.frontier.get(branch.key) if reader is not None else None
    found = []
    for commit, version in branch.versions():
        if floor is not None and floor.table_id == version.table_id and version.version < floor.version:
            break
        points = [
            *_in_the_catalog(branch.table, version, stream_table_of),
            *_of_the_reader(reader, commit, version),
            *_in_its_marker(commit),
        ]
        found += [State(version, {**at, version.key: version}, as_of) for at, as_of in points]
    return found


def _in_the_catalog(
    table: StreamTable, version: SourceVersion, stream_table_of: StreamTableOf
) -> Iterator[tuple[Point, str]]:
    if not _shows(table, version):
        return
    for found in (lifted(table, stream_table_of), point(table.frontier, table.origins)):
        if found is not None:
            yield found, table.data_timestamp or ""


def _of_the_reader(
    reader: StreamTable | None, commit: Commit | None, version: SourceVersion
) -> Iterator[tuple[Point, str]]:
    """What the reader's own last refresh knew of it; the catalog may know of a newer check alone."""
    of_commit = next((at for at, _ in _in_its_marker(commit)), None)
    if reader is None or of_commit is None or not version.same_state(reader.frontier.get(version.key)):
        return
    own = point(reader.frontier, reader.origins)
    if own is not None and of_commit.keys() <= own.keys():
        yield {key: own[key] for key in of_commit}, reader.data_timestamp or ""


def _in_its_marker(commit: Commit | None) -> Iterator[tuple[Point, str]]:
    marker = commit.marker if commit is not None else None
    if marker is not None and (found := point(marker.frontier, marker.origins)) is not None:
        yield found, marker.data_timestamp


def _shows(table: StreamTable, version: SourceVersion) -> bool:
    """Whether this state of its storage is the one that the catalog tells of. Once, the commit's time was not kept."""
    return (table.storage_relation, table.storage_version) == (version.table_id, version.version) and (
        table.storage_at in ("", version.committed_at)
    )
