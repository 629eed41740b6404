"""A stream table in the lake: loaded and refreshed by the product's own statements, compared with its query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
from lake import SCHEMAS, STORAGE, History, Lake, at
from spark_in_duckdb import Bag, translated, version

from dbt_trickle.apply import few, unrestricted
from dbt_trickle.apply import staged as by_table
from dbt_trickle.apply.base import Applied, with_ctes
from dbt_trickle.apply.choose import applied, staged
from dbt_trickle.apply.shape import Shape, load
from dbt_trickle.apply.staged import Place
from dbt_trickle.apply.stored import Stored
from dbt_trickle.apply.top import top_of
from dbt_trickle.apply.whole import difference
from dbt_trickle.capture.base import WEIGHT, Window
from dbt_trickle.capture.difference import Difference
from dbt_trickle.capture.feed import Feed
from dbt_trickle.capture.staged import ACTION, BATCH, CAME, TOKEN, WENT
from dbt_trickle.catalog.state import Column
from dbt_trickle.delta import rules
from dbt_trickle.delta.aggregate.state import Stateful, Typed, stateful
from dbt_trickle.delta.context import Context, Source, columns_of, read_columns
from dbt_trickle.formats.delta import at_version, named
from dbt_trickle.names import Relation, quote, storage_column
from dbt_trickle.run.narrowed import narrowed
from dbt_trickle.tree.algebra import Aggregate
from dbt_trickle.tree.build import Built, build
from dbt_trickle.tree.identity import grouped, identity, with_keys
from dbt_trickle.tree.render import state

PLACE = Place(Relation.of("lake", "changes"), 7)
ATTEMPT = "attempt"


@dataclass(frozen=True)
class Case:
    """A query and what happens beneath it, several times anew. `moving`: what is committed to, even if no row changes;

    `declared`: positions of a primary key; `feed`: how changes are captured.
    """

    text: str
    moving: tuple[str, ...]
    histories: tuple[History, ...]
    declared: tuple[int, ...] = ()
    feed: bool = False

    def __str__(self) -> str:
        key = f"\nprimary key: {self.declared}" if self.declared else ""
        how = f"\ncaptured from {'the feed' if self.feed else 'two versions'}\n"
        return f"{self.text}{key}{how}" + "\n\n".join(map(str, self.histories))

    __repr__ = __str__


@dataclass(frozen=True)
class Refreshed:
    """By which statement; `moved`: rows that came and went, where the product knew before."""

    statement: str
    few: bool
    moved: tuple[int, int] | None


class Kept:
    """Every other refresh is one of few rows, where there is a way for few."""

    def __init__(self, lake: Lake, case: Case) -> None:
        self._lake, self._case = lake, case
        self._few = case.feed
        lake.fill(case.histories[0])
        self.built = build(case.text, SCHEMAS)
        self.tree = self.built.tree
        self.shape = _shape(lake, self.built, case.declared)
        self._recomputed = bool(unrestricted.obstacle(self.shape.tree, self.shape.groups, ""))

    def load(self, history: History) -> None:
        self._lake.fill(history)
        self._lake.duck.run(f"CREATE OR REPLACE TABLE {STORAGE.identifier} AS {self._loaded(0)}")

    def query(self, number: int) -> Bag:
        """What the user's text gives at a version."""
        return Bag(self._lake.duck.run(self._as_of(at(self._case.text, 0), number)))

    def rows(self) -> Bag:
        columns = ", ".join(f'"{name}"' for name in self.shape.shown)
        return Bag(self._lake.duck.run(f"SELECT {columns} FROM {STORAGE.identifier}"))

    def stored(self) -> Bag:
        """With the columns that nobody is shown."""
        return Bag(self._lake.duck.run(f"SELECT * FROM {STORAGE.identifier}"))

    def anew(self, number: int) -> Bag:
        """What would be stored after a load."""
        return Bag(self._lake.duck.run(self._loaded(number)))

    def refreshed(self, history: History, number: int) -> Refreshed:
        """Brought from a version to the next; computed anew where the product has a reason to."""
        grows = not any(change.gone for change in history.windows[number])
        if self._recomputed or unrestricted.this_time(self.shape.groups, grows):
            again = f"CREATE OR REPLACE TABLE {STORAGE.identifier} AS {self._loaded(number + 1)}"
            self._lake.duck.run(again)
            return Refreshed(again, False, None)
        found = applied(self.shape, self._context(number), STORAGE, number, grows)
        if not self._few:
            found = replace(found, few=None)
        self.turn()
        with narrowed(self._lake.duck, found) as way:
            if not way.is_empty:
                self._lake.duck.spark(way.applied.sql)
        return Refreshed("\n".join((*way.sent, way.applied.sql)), bool(way.sent), way.moved)

    def by_table(self, history: History, most: int) -> Refreshed | None:
        """The same by way of a table in which what changes is staged; none where the product computes it anew."""
        grows = not any(change.gone for change in history.windows[0])
        if self._recomputed or unrestricted.this_time(self.shape.groups, grows):
            return None
        return self._brought_in(staged(self.shape, self._context(0), PLACE, STORAGE, 0, grows), most)

    def differed_by_table(self, stored: Stored, most: int) -> Refreshed:
        return self._brought_in(by_table.difference(stored, self._text(stored, 1), PLACE, STORAGE, 0), most)

    def staged(self) -> Bag:
        """All stored columns of what counts, with negative counts where they go."""
        found = Bag()
        rows = self._lake.duck.run(f"SELECT * FROM {PLACE.table.identifier} WHERE \"{TOKEN}\" = '{ATTEMPT}'")
        for _, batch, action, *row in rows:
            assert batch == PLACE.batch
            found[tuple(row)] += {CAME: 1, WENT: -1}[action]
        return found

    def _brought_in(self, found: Applied, most: int) -> Refreshed:
        """Beside what a run that died has left there, for the same batch."""
        duck, name, at_once = self._lake.duck, PLACE.table.identifier, version(PLACE.table.identifier, 7)
        marks = f'\'\' AS "{TOKEN}", CAST(0 AS BIGINT) AS "{BATCH}", \'\' AS "{ACTION}"'
        duck.run(f"CREATE OR REPLACE TABLE {name} AS SELECT {marks}, * FROM {STORAGE.identifier} WHERE false")
        duck.run(f"CREATE OR REPLACE VIEW {at_once} AS SELECT * FROM {name}")
        for action in (CAME, CAME, WENT):
            dead = f"SELECT 'dead', {PLACE.batch}, '{action}', * FROM {STORAGE.identifier}"
            duck.run(f"INSERT INTO {name} {dead}")
        duck.spark(found.stage.replace(by_table.ATTEMPT, ATTEMPT))
        found = by_table.read_there(found, PLACE.table, 7, ATTEMPT)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(few, "MOST", most)
            with narrowed(duck, found) as way:
                if not way.is_empty:
                    duck.spark(way.applied.sql)
        return Refreshed("\n".join((found.stage, *way.sent, way.applied.sql)), not way.too_many, way.moved)

    def load_bare(self, history: History) -> Stored:
        """What the query shows, and nothing else."""
        self._lake.fill(history)
        bare = Stored(self.shape.columns[: len(self.shape.shown)])
        self._lake.duck.run(f"CREATE OR REPLACE TABLE {STORAGE.identifier} AS {translated(self._text(bare, 0))}")
        return bare

    def differed(self, stored: Stored, most: int) -> Refreshed:
        """Computed anew, and of that brought in what differs from what is stored; `most`: so many rows are few."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(few, "MOST", most)
            found = difference(stored, self._text(stored, 1), STORAGE, 0)
            with narrowed(self._lake.duck, found) as way:
                if not way.is_empty:
                    self._lake.duck.spark(way.applied.sql)
        return Refreshed("\n".join((*way.sent, way.applied.sql)), not way.too_many, way.moved)

    def delta(self, number: int) -> Bag:
        """The rows that come from a version to the next, and with negative counts those that go: net."""
        delta = rules.delta(self.tree, self._context(number))
        chosen = f"{columns_of(self.tree)}, {quote(WEIGHT)}"
        found = Bag()
        for *row, weight in self._lake.duck.spark(f"{with_ctes(delta.ctes)}\nSELECT {chosen} FROM {quote(delta.name)}"):
            found[tuple(row)] += int(weight)
        return found

    @property
    def is_first_rows(self) -> bool:
        """Of these there is no delta but against what is stored."""
        return top_of(self.tree) is not None

    def turn(self) -> None:
        self._few = not self._few

    def twice_is_wrong(self, was: Bag, now: Bag) -> bool:
        """Whether the change from one to the other cannot be brought into the other: that has to be told.

        Groups that are computed anew say nothing: it makes no difference to them.
        """
        if self.shape.identity.key is None:
            return any(2 * now[row] < count for row, count in was.items())
        if self.shape.identity.by_groups and (self.shape.groups is None or self.shape.groups.growing):
            return False
        before, after = ({tuple(row[i] for i in self.shape.identity.key) for row in rows} for rows in (was, now))
        return bool(before - after if self.shape.groups is not None else before ^ after)

    def _text(self, stored: Stored, number: int) -> str:
        """All columns that are stored, at a version."""
        text = at(self._case.text, number)
        if stored is self.shape:
            return load(self.shape, text, _at(number))
        return named(text, [(name, name) for name in stored.stored])

    def _loaded(self, number: int) -> str:
        return self._as_of(load(self.shape, at(self._case.text, 0), _at(0)), number)

    def _as_of(self, query: str, number: int) -> str:
        """Translated once, as of 0: the version is but a name in it."""
        found = translated(query)
        for name in self._case.moving:
            found = found.replace(f'"{version(name, 0)}"', f'"{version(name, number)}"')
        return found

    def _context(self, number: int) -> Context:
        return Context({schema.key: self._source(name, schema.key, number) for name, schema in SCHEMAS.items()})

    def _source(self, name: str, key: str, number: int) -> Source:
        relation = Relation.parse(key)
        if name not in self._case.moving:
            return Source(at_version(relation.sql, 0), at_version(relation.sql, 0))
        window = Window(relation, number, number + 1, read_columns(self.tree, key))
        changes = (Feed() if self._case.feed else Difference()).changes(window)
        return Source(at_version(relation.sql, number), at_version(relation.sql, number + 1), changes, rows=1)


def _shape(lake: Lake, built: Built, declared: Sequence[int]) -> Shape:
    """What the product asks Spark for, types, is asked of DuckDB."""
    tree = built.tree if declared else with_keys(built.tree)
    keys = tree.items[len(built.tree.items) :]
    columns = tuple(Column(name, "", storage_column(name, i)) for i, name in enumerate(built.output_names))
    columns += tuple(Column(item.value.sql, "", item.name) for item in keys)
    groups, found = grouped(tree), identity(tree, declared)
    if groups is None or not found.by_groups or tree.child is not groups:
        return Shape(columns, tree, found, None, "", len(keys))
    kept = stateful(groups, _typed(lake, groups, _at(0)))
    return Shape(columns, tree, found, kept if isinstance(kept, Stateful) else None, "", len(keys))


def _typed(lake: Lake, groups: Aggregate, sources: Mapping[str, str]) -> tuple[Typed, ...]:
    results = dict(lake.duck.types(state(groups, sources)))
    arguments = [f"{call.argument.sql} AS {quote(call.name)}" for call in groups.calls if call.argument is not None]
    rows = f"SELECT {', '.join(arguments)} FROM (\n{state(groups.child, sources)}\n)"
    kinds = dict(lake.duck.types(rows)) if arguments else {}
    return tuple(Typed(call.name, kinds.get(call.name), results[call.name]) for call in groups.calls)


def _at(number: int) -> dict[str, str]:
    return {schema.key: at_version(Relation.parse(schema.key).sql, number) for schema in SCHEMAS.values()}
