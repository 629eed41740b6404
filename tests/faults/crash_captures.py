"""How a source is captured changes, by its state machine, when a run dies; see crash_cases.py."""

from __future__ import annotations

from unittest.mock import patch

from crash_cases import BringIn
from engine_world import World

from dbt_trickle.capture.transition import LOG_WRONG
from dbt_trickle.catalog import tables
from dbt_trickle.names import Relation
from dbt_trickle.run import windows
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.session import Session

COMPARED = ("WAL", "its log told what its change feed told")
TO_BE_COMPARED = ("TRANSITIONING", "its log is to be compared: files were only added")


class ChangeOver(BringIn):
    """A source is about to go from its change feed to its log: both are read, and compared."""

    asks = "AS differs"

    def __init__(self, world: World, expose: str, orders: Relation, number: int) -> None:
        super().__init__(world, expose, orders, number)
        if number == 0:
            world.sql(f"ALTER TABLE {orders.sql} SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")

    def provoke(self) -> None:
        self.world.run(self.request)
        self.move()

    def recover(self) -> None:
        if self.number == 0:  # one more window is for all of them: where it had not changed over, it does now
            self.move()

    def captured(self, told: bool) -> tuple[str, str] | None:
        return COMPARED


class _Told(ChangeOver):
    """What a run has found out is told when it closes; its other statements are those of `BringIn`."""

    asks = ""

    def leaves_as_is(self, statement: str) -> bool:
        if tables.JOURNAL in statement:
            return f"('{tables.DEPENDENCIES}'," not in statement
        return not statement.startswith("INSERT INTO")


class BeginToChangeOver(_Told):
    """Its log could serve: from the next run on both are read."""

    def provoke(self) -> None:
        pass

    def captured(self, told: bool) -> tuple[str, str] | None:
        return COMPARED if told else TO_BE_COMPARED


class FailToChangeOver(_Told):
    """The two do not tell the same, and its versions say that the log is wrong."""

    def act(self, session: Session, run: Invocation) -> None:
        with patch.object(windows, "disagreed", lambda *_: LOG_WRONG):
            super().act(session, run)

    def captured(self, told: bool) -> tuple[str, str] | None:
        return ("TRIGGER", LOG_WRONG) if told else COMPARED
