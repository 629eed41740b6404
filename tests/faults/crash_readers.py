"""What a run or a command may be doing when it dies while others begin or cease to read a stream table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crash_cases import Case, storages

from dbt_trickle.capture.table import FEED_PROPERTY
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.names import Relation, changes_view, literal
from dbt_trickle.run import leave
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.session import Session


class Read(Case):
    """What of it is for its readers is there with the first one, whole, and gone with the last one."""

    def provoke(self) -> None:
        name, query = f"reads_{self.request.public.identifier}", f"SELECT total FROM {self.request.public.sql}"
        self.reader = self.world.request(name, query, refresh_mode="full")

    def leaves_as_is(self, statement: str) -> bool:
        """What it has in common with other loads, and with other drops, is met there."""
        of_a_buffer = statement.startswith(("ALTER TABLE", "DROP VIEW")) or "changes" in statement.split("\n")[0]
        return not of_a_buffer and "INSERT INTO" not in statement

    def ended(self) -> None:
        states = self.world.states()
        is_read, state = self.reader.pgt_id in states, states[self.request.pgt_id]
        staged = self.config.get("change_buffer") == "table"
        assert (state.buffer is not None) == is_read
        assert self._has_view() == is_read
        assert self._has_feed(state) == (is_read and not staged)
        assert (f"{state.storage_relation}_changes" in storages(self.world, self.request)) == (is_read and staged)

    def _has_view(self) -> bool:
        view = changes_view(self.world.settings.change_schema, self.request.pgt_id)
        schema = Relation(view.parts[:-1])
        return bool(self.world.looking.query(f"SHOW VIEWS IN {schema.sql} LIKE {literal(view.identifier)}"))

    def _has_feed(self, state: StreamTable) -> bool:
        rows = self.world.looking.query(f"SHOW TBLPROPERTIES {state.storage.sql}")
        return any((row["key"], row["value"]) == (FEED_PROPERTY, "true") for row in rows)


class FirstReader(Read):
    """A stream table that begins to read it is loaded, and its changes are kept from then on."""

    def act(self, session: Session, run: Invocation) -> None:
        self.readers = (self.reader,)
        self.world.run(self.reader, session=session, run=run)

    def recover(self) -> None:
        self.readers = (self.reader,)


class LastReader(Read):
    """The only stream table that reads it is dropped."""

    def provoke(self) -> None:
        super().provoke()
        self.world.run(self.reader)

    def act(self, session: Session, run: Invocation) -> None:
        tables = self.world.states()
        if self.reader.pgt_id in tables:
            reader = tables[self.reader.pgt_id]
            leave.drop(session, self.world.settings, reader, list(tables.values()), cascade=False, reads={})

    def recover(self) -> None:
        self.act(self.world.looking, self.world.invocation())


class FirstReaderOfStaged(FirstReader):
    config: Mapping[str, Any] = {"change_buffer": "table"}


class LastReaderOfStaged(LastReader):
    config: Mapping[str, Any] = {"change_buffer": "table"}
