"""What a command, or the end of a run, may be doing when it dies; see crash_cases.py."""

from __future__ import annotations

from unittest.mock import patch

from crash_cases import Case, storages

from dbt_trickle.catalog import store
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation, quote
from dbt_trickle.run import leave, maintain, repair
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.session import Session, is_missing


class Drop(Case):
    """`trickle drop`; the next run makes it again."""

    gap = True

    def act(self, session: Session, run: Invocation) -> None:
        tables = self.tables(session)
        if self.request.pgt_id in tables:
            table = tables[self.request.pgt_id]
            leave.drop(session, self.world.settings, table, list(tables.values()), cascade=False, reads={})

    def tables(self, session: Session) -> dict[int, StreamTable]:
        return dict(store.parse(session.query(store.read_query(self.world.settings.catalog_schema))).stream_tables)


class DropAgain(Drop):
    """`trickle drop` twice: nothing is left of it."""

    known = True

    def recover(self) -> None:
        session = self.world.looking
        self.act(session, self.world.invocation())
        assert self.request.pgt_id not in self.tables(session)
        assert self.world.kind_of(self.request.public) is None
        assert not storages(self.world, self.request)


class DropAll(DropAgain):
    """`trickle drop --cascade`: a stream table, and one that reads it."""

    known = False

    def provoke(self) -> None:
        text = f"SELECT total FROM {self.request.public.sql}"
        name = f"reads_{self.request.public.identifier}"
        self.reader = self.world.request(name, text, expose=self.expose, refresh_mode=self.mode)
        self.world.run(self.reader)

    def act(self, session: Session, run: Invocation) -> None:
        tables = self.tables(session)
        for request in (self.request, self.reader):  # the reader is left where its upstream went, and the run died
            if request.pgt_id in tables:
                leave.drop(
                    session,
                    self.world.settings,
                    tables[request.pgt_id],
                    list(tables.values()),
                    cascade=True,
                    reads={},
                )
                tables = self.tables(session)

    def recover(self) -> None:
        super().recover()
        assert self.reader.pgt_id not in self.tables(self.world.looking)
        assert self.world.kind_of(self.reader.public) is None
        assert not storages(self.world, self.reader)


class Leave(Drop):
    """Its model is a table now: dbt drops the view in its way, and builds it. Then the model is what it was."""

    materialized = "table"

    def act(self, session: Session, run: Invocation) -> None:
        public = self.request.public
        leave.before_other_materialization(session, run, public, self.materialized)
        self.build(session, public.sql)
        leave.after_other_materialization(session, run, public, built=True)
        run.close(session)

    def build(self, session: Session, public: str) -> None:
        if self.world.kind_of(self.request.public) == "view":
            session.execute(f"DROP VIEW {public}")
        session.execute(f"CREATE OR REPLACE TABLE {public} USING delta AS {self.request.query}")

    def recover(self) -> None:
        session = self.world.looking
        self.act(session, self.world.invocation())  # dbt run
        assert self.request.pgt_id not in self.tables(session)
        assert self.world.kind_of(self.request.public) == "table"
        assert not storages(self.world, self.request)
        columns = session.query(f"DESCRIBE TABLE {self.request.public.sql}")
        assert not [row for row in columns if row["col_name"].startswith("__pgt_")], columns


class LeaveForIncremental(Leave):
    """Its model is an incremental one now, which goes on with the table that it finds."""

    materialized = "incremental"
    gap = False
    mode = "auto"  # with hidden columns

    def build(self, session: Session, public: str) -> None:
        session.execute(f"INSERT OVERWRITE {public} {self.request.query}")


class Compact(Case):
    """The catalog's journal is due."""

    own_world = True

    def provoke(self) -> None:
        self.world.run(self.request)  # one of those that have ended, and need not be remembered

    def act(self, session: Session, run: Invocation) -> None:
        with patch.object(maintain, "EVERY", 1):
            super().act(session, run)


class Repair(Case):
    """The catalog has lost a stream table, a model was removed, and a dead run left a storage behind."""

    own_world = True

    def leaves_as_is(self, statement: str) -> bool:
        catalog = f"ALTER VIEW {quote(self.world.settings.catalog_schema)}."
        return statement.startswith(catalog) or super().leaves_as_is(statement)

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
        others = [self.world.request(f"{self.orders.identifier}_{n}", "", expose=self.expose) for n in range(40)]
        models = {other.unique_id: other.public for other in others}
        shown = tuple(models.values()) if self.expose == "table" else ()
        scope = repair.Scope("faults", "", frozenset({self.world.schema}), models, shown)
        return repair.examine(session, self.world.settings, scope)
