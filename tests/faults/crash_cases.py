"""What a run may be doing when it dies; commands are in crash_commands.py, captures that change in crash_captures.py.

A case is one stream table of its own, in a state where that is due.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any
from unittest.mock import patch

from engine_world import Rows, World
from fault_sessions import Mortal
from fault_thrift import ThriftSessions

from dbt_trickle.config.model import SourceSettings
from dbt_trickle.names import Relation, key_of
from dbt_trickle.plan.steps import Constraint, Docs
from dbt_trickle.run import recover, retire
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

AGGREGATE = "SELECT region, sum(amount) AS total, count(*) AS orders FROM {orders} GROUP BY region"
DOCS = Docs("all of them", (("total", "what was spent"),))
NEW_DOCS = Docs("every one of them", (("total", "what they paid"),))
SOME = (Constraint("some", "orders > 0"),)
NOT_NEGATIVE = (Constraint("not_negative", "number >= 0"),)


def create_source(world: World, name: str = "orders") -> Relation:
    world.sql(
        f"CREATE TABLE {world.relation(name).sql} USING delta AS SELECT * FROM "
        "VALUES ('north', 1), ('north', 2), ('south', 3), (NULL, NULL) AS t(region, amount)"
    )
    return world.relation(name)


class Case:
    """It goes to another process to die there, so it holds nothing but values."""

    own_world = False  # its catalog is its own
    from_the_start = False  # to die before the first statement that counts is to leave the warehouse as it was
    exists = True  # before the action; readers must be served all the while then
    query = AGGREGATE
    gap = False  # the name is nobody's for a moment: readers may find nothing under it
    known = False  # in company, what it executes is known: what is due, or the same as the first one
    config: Mapping[str, Any] = {}
    due: Sequence[str] = ()  # the words of the statements that count, beside the journal's, where that is the matter
    asks = ""  # words of a statement that only reads, where it is the matter that it is asked
    readers: Sequence[Request] = ()  # stream tables on this one, which must be right as well
    mode = "full"  # understanding a query takes statements that only read: where they are the matter, `auto`

    def __init__(self, world: World, expose: str, orders: Relation, number: int) -> None:
        self.world, self.expose, self.orders, self.number = world, expose, orders, number
        self.request = self.asked(self.query, docs=DOCS, constraints=SOME if self.query == AGGREGATE else ())

    def move(self) -> None:
        """What happens to the source, once for all cases, after the first load."""

    def provoke(self) -> None:
        """What the user does to this model."""

    def act(self, session: Session, run: Invocation) -> None:
        self.world.run(self.request, session=session, run=run)

    def recover(self) -> None:
        """What the user does after the crash, before the next run."""

    def ended(self) -> None:
        """What else must hold of it in the end."""

    def captured(self, told: bool) -> tuple[str, str] | None:
        """How its source is captured then, and why, where that is the matter. `told`: the dead run had said its own."""

    def leaves_as_is(self, statement: str) -> bool:
        """The catalog's own objects are there already, but for the first of all runs."""
        return " IF NOT EXISTS " in statement

    def asked(self, query: str, **more: object) -> Request:
        query = query.format(orders=self.orders.sql)
        name = f"{self.orders.identifier}_{self.number}"
        return self.world.request(name, query, expose=self.expose, refresh_mode=self.mode, **self.config, **more)

    def shown(self) -> Rows:
        return self.world.rows(f"SELECT * FROM {self.request.public.sql}")


class Create(Case):
    exists = False
    mode = "auto"


class FirstCreate(Create):
    """The catalog itself is created as well."""

    own_world = True

    def leaves_as_is(self, statement: str) -> bool:
        return False

    def __init__(self, world: World, expose: str, orders: Relation, number: int) -> None:
        n = f"{orders.identifier}_{number}"
        settings = replace(world.settings, catalog_schema=f"catalog_{n}", change_schema=f"changes_{n}")
        super().__init__(replace(world, settings=settings), expose, orders, number)


class Nothing(Case):
    """No source has moved."""

    from_the_start = True


class Overwrite(Case):
    def move(self) -> None:
        self.world.sql(f"INSERT INTO {self.orders.sql} VALUES ('west', 4)")


class BringIn(Overwrite):
    """What changed, as few groups; of more ways to bring it in see crash_ways.py."""

    mode = "differential"
    due = ("CACHE LAZY TABLE", "INSERT INTO", "DROP VIEW IF EXISTS")


class Differ(Overwrite):
    """A full refresh that another stream table reads: what differs is written.

    The view of its changes was made at the end of the run that brought the reader, and is found by this one.
    """

    due = ("ALTER VIEW", "CACHE LAZY TABLE", "MERGE INTO", "DROP VIEW IF EXISTS")

    def provoke(self) -> None:
        text = f"SELECT total FROM {self.request.public.sql}"
        self.world.run(self.world.request(f"reads_{self.request.public.identifier}", text, refresh_mode="full"))


class OverwriteAndDescribe(Overwrite):
    def provoke(self) -> None:
        self.request = replace(self.request, docs=NEW_DOCS)


class Clustered(OverwriteAndDescribe):
    """An overwrite takes the clustering away; it is given back by a statement of its own."""

    config: Mapping[str, Any] = {"liquid_clustered_by": ("region",)}


class SwitchOn(Create):
    """A source whose feed may be switched on, and is then switched on for all."""

    mode = "differential"

    def __init__(self, world: World, expose: str, orders: Relation, number: int) -> None:
        own = create_source(world, f"{orders.identifier}_switched_{number}")
        super().__init__(world, expose, own, number)
        self.request = replace(self.request, sources={key_of(str(own)): SourceSettings(enable_change_feed=True)})


class MaintainedAnew(OverwriteAndDescribe):
    """All rows of a stream table that is maintained otherwise, with what is hidden in it."""

    mode = "auto"

    def act(self, session: Session, run: Invocation) -> None:
        self.world.run(replace(self.request, full_refresh=True), session=session, run=run)


class Alter(Overwrite):
    def provoke(self) -> None:
        query = AGGREGATE.replace("count(*) AS orders", "count(amount) AS number")
        self.request = self.asked(query, docs=NEW_DOCS, constraints=NOT_NEGATIVE)


class MaintainedAlter(Alter):
    mode = "auto"


class Sweep(Alter):
    """An old generation that nobody can be reading any more."""

    due = ("DROP TABLE IF EXISTS",)

    def provoke(self) -> None:
        super().provoke()
        self.world.run(self.request)

    def act(self, session: Session, run: Invocation) -> None:
        with patch.object(retire, "GRACE", timedelta()):
            super().act(session, run)

    def leaves_as_is(self, statement: str) -> bool:
        return not statement.startswith(self.due)


class Switch(Case):
    """The other `expose`. Nothing can swap a view for a table, nor a table for a view."""

    gap = True

    def provoke(self) -> None:
        self.expose = {"view": "table", "table": "view"}[self.expose]
        self.request = self.asked(self.query, docs=DOCS, constraints=SOME)

    def leaves_as_is(self, statement: str) -> bool:
        """What it has in common with other loads is met there."""
        return not statement.startswith(("CREATE ", "DROP ")) or super().leaves_as_is(statement)


class Reinitialize(Case):
    """`select *` over a source of which a column has another type."""

    query = "SELECT *, amount AS total FROM {orders}"

    def move(self) -> None:
        self.world.sql(
            f"CREATE OR REPLACE TABLE {self.orders.sql} USING delta AS "
            "SELECT * FROM VALUES ('north', 1L), ('north', 2L), ('south', 3L), (NULL, NULL) AS t(region, amount)"
        )


class MaintainedReinitialize(Reinitialize):
    mode = "auto"


class Describe(Case):
    def provoke(self) -> None:
        self.request = replace(self.request, docs=NEW_DOCS)


class Placeholder(Create):
    def act(self, session: Session, run: Invocation) -> None:
        self.world.run(replace(self.request, sampled=True), session=session, run=run)


def storages(world: World, request: Request) -> set[str]:
    found = recover.all_tables(world.looking, world.settings.change_schema, request.pgt_id)
    return {*map(str, found.storages.values()), *map(str, found.changes.values())}


def boundaries(case: Case, executed: Sequence[str], every: bool) -> list[int]:
    """With which statement to die, 0 for before all of them: with each that leaves the warehouse otherwise."""
    first = [0] if every or case.from_the_start else []
    return [*first, *(n for n, sql in enumerate(executed, 1) if every or not case.leaves_as_is(sql))]


def act_until(case: Case, last: int, run: str, every: bool, wire: ThriftSessions, told: Connection) -> None:
    """What a process does that is to die with its statement number `last`."""
    case.world = replace(case.world, connect=wire, look=wire.kept)
    case.act(Mortal(wire.kept(), last, told, every), case.world.invocation(run))
