"""What a run may be doing when it dies. A case is one stream table of its own, in a state where that is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine_world import Mortal, Rows, World

from dbt_trickle.catalog import store
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.plan.steps import Constraint, Docs
from dbt_trickle.run import leave, repair
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session, is_missing

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
    own_world = False  # its catalog is its own
    exists = True  # before the action; readers must be served all the while then
    query = AGGREGATE
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

    def asked(self, query: str, **more: object) -> Request:
        query = query.format(orders=self.orders.sql)
        name = f"{self.orders.identifier}_{self.number}"
        return self.world.request(name, query, expose=self.expose, refresh_mode=self.mode, **more)

    def shown(self) -> Rows:
        return self.world.rows(f"SELECT * FROM {self.request.public.sql}")


class Create(Case):
    exists = False
    mode = "auto"


class FirstCreate(Create):
    """The catalog itself is created as well."""

    own_world = True

    def __init__(self, world: World, expose: str, orders: Relation, number: int) -> None:
        n = f"{orders.identifier}_{number}"
        settings = replace(world.settings, catalog_schema=f"catalog_{n}", change_schema=f"changes_{n}")
        super().__init__(replace(world, settings=settings), expose, orders, number)


class Nothing(Case):
    """No source has moved."""


class Overwrite(Case):
    def move(self) -> None:
        self.world.sql(f"INSERT INTO {self.orders.sql} VALUES ('west', 4)")


class BringIn(Overwrite):
    """What changed, in one MERGE."""

    mode = "differential"


class ChangeOver(BringIn):
    """A source is about to go from its change feed to its log: both are read, and compared."""

    def __init__(self, world: World, expose: str, orders: Relation, number: int) -> None:
        super().__init__(world, expose, orders, number)
        if number == 0:
            world.sql(f"ALTER TABLE {orders.sql} SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")

    def provoke(self) -> None:
        self.world.run(self.request)
        self.move()


class OverwriteAndDescribe(Overwrite):
    def provoke(self) -> None:
        self.request = replace(self.request, docs=NEW_DOCS)


class Alter(Overwrite):
    def provoke(self) -> None:
        query = AGGREGATE.replace("count(*) AS orders", "count(amount) AS number")
        self.request = self.asked(query, docs=NEW_DOCS, constraints=NOT_NEGATIVE)


class Reinitialize(Case):
    """`select *` over a source that got another column."""

    query = "SELECT *, amount AS total FROM {orders}"

    def move(self) -> None:
        self.world.sql(f"ALTER TABLE {self.orders.sql} ADD COLUMN more INT")


class Describe(Case):
    def provoke(self) -> None:
        self.request = replace(self.request, docs=NEW_DOCS)


class Placeholder(Create):
    def act(self, session: Session, run: Invocation) -> None:
        self.world.run(replace(self.request, sampled=True), session=session, run=run)


class Drop(Case):
    """`trickle drop`; the next run makes it again."""

    def act(self, session: Session, run: Invocation) -> None:
        tables = self.tables(session)
        if self.request.pgt_id in tables:
            table = tables[self.request.pgt_id]
            leave.drop(session, self.world.settings, table, list(tables.values()), cascade=False, reads={})

    def tables(self, session: Session) -> dict[int, StreamTable]:
        return dict(store.parse(session.query(store.read_query(self.world.settings.catalog_schema))).stream_tables)


class DropAgain(Drop):
    """`trickle drop` twice: nothing is left of it."""

    def recover(self) -> None:
        session = self.world.connect()
        self.act(session, self.world.invocation())
        assert self.request.pgt_id not in self.tables(session)
        assert self.world.kind_of(self.request.public) is None
        assert not storages(self.world, self.request)


class Repair(Case):
    """The catalog has lost a stream table, a model was removed, and a dead run left a storage behind."""

    own_world = True

    def provoke(self) -> None:
        gone, catalog = f"removed_{self.orders.identifier}_{self.number}", self.world.settings.catalog_schema
        self.gone = self.world.request(gone, self.request.query, expose=self.expose, refresh_mode=self.mode)
        self.world.run(self.gone)
        self.left = Relation.of(self.world.settings.change_schema, f"st_{self.number}_g1")
        self.world.sql(
            store.append(catalog, "a test", list(store.dropped(self.request.pgt_id))),
            f"CREATE TABLE {self.left.sql} (a INT) USING delta",
        )

    def act(self, session: Session, run: Invocation) -> None:
        findings = self._findings(session)
        repair.write(session, self.world.settings, findings)
        repair.remove(session, self.world.settings, findings)

    def recover(self) -> None:
        session = self.world.looking
        if self.number == 0:  # one repair is for all of them
            self.act(session, self.world.invocation())
            again = self._findings(session)
            assert not again.rebuilt, again
            assert not again.orphans, again
        assert self.world.kind_of(self.gone.public) is None
        assert not storages(self.world, self.gone)
        try:
            session.query(f"DESCRIBE DETAIL {self.left.sql}")
        except WarehouseError as problem:
            assert is_missing(problem), problem
        else:
            raise AssertionError(f"{self.left} is left")

    def _findings(self, session: Session) -> repair.Findings:
        others = [self.world.request(f"{self.orders.identifier}_{n}", "", expose=self.expose) for n in range(20)]
        models = {other.unique_id: other.public for other in others}
        shown = tuple(models.values()) if self.expose == "table" else ()
        scope = repair.Scope("faults", "", frozenset({self.world.schema}), models, shown)
        return repair.examine(session, self.world.settings, scope)


def storages(world: World, request: Request) -> set[str]:
    rows = world.connect().query(f"SHOW TABLES IN {world.settings.change_schema} LIKE 'st_{request.pgt_id}_g*'")
    return {f"{world.settings.change_schema}.{row['tableName']}" for row in rows}


def boundaries(session: Mortal, every: bool) -> list[int]:
    """After how many statements to die: anywhere, but one moment between the catalog's nine views is enough."""
    views = [s.startswith("CREATE VIEW IF NOT EXISTS") for s in session.executed]
    inside = [n for n in range(2, len(views)) if views[n - 2] and views[n - 1] and views[n]]
    return [n for n in range(len(views)) if every or n not in inside]


# Each sequence of statements that a run may be in the middle of.
ALWAYS: Sequence[tuple[type[Case], str]] = [
    (FirstCreate, "view"),
    (Nothing, "view"),
    (BringIn, "view"),
    (OverwriteAndDescribe, "view"),
    (Alter, "view"),
    (Alter, "table"),
    (Drop, "view"),
    (Repair, "view"),
]
# The rest are parts of these, or the same in other company: `make soak`.
SOAK: Sequence[tuple[type[Case], str]] = [
    (Create, "view"),
    (Create, "table"),
    (Reinitialize, "view"),
    (Describe, "view"),
    (Placeholder, "view"),
    (Overwrite, "view"),
    (Overwrite, "table"),
    (ChangeOver, "view"),
    (Describe, "table"),
    (Placeholder, "table"),
    (Drop, "table"),
    (DropAgain, "view"),
    (DropAgain, "table"),
    (Repair, "table"),
]
