"""The ways to bring a change in, each as what a run is doing when it dies; see crash_cases.py.

They differ in the statements of the refresh alone, so what a run does before and after these is not met again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

from crash_cases import BringIn, Overwrite

from dbt_trickle.apply import few
from dbt_trickle.catalog import tables
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.session import Session


class Way(BringIn):
    known = True
    most = few.MOST  # rows that are few

    def move(self) -> None:
        orders = self.orders.sql
        self.world.sql(
            f"INSERT INTO {orders} VALUES ('west', 4)",
            f"UPDATE {orders} SET region = 'east' WHERE amount = 2",
            f"DELETE FROM {orders} WHERE amount = 3",
        )

    def act(self, session: Session, run: Invocation) -> None:
        with patch.object(few, "MOST", self.most):
            super().act(session, run)

    def leaves_as_is(self, statement: str) -> bool:
        return tables.JOURNAL in statement or super().leaves_as_is(statement)


class Merged(Way):
    """However few rows they are."""

    most = 0
    due = ("MERGE INTO",)


class Keyed(Way):
    """Rows that have a key, few of them."""

    query = "SELECT amount, region AS total FROM {orders}"
    config: Mapping[str, Any] = {"primary_key": ("amount",)}


class KeyedMerged(Merged, Keyed):
    pass


class Bag(Way):
    """Few rows of which some are there several times."""

    query = "SELECT region AS total FROM {orders}"


class BagMerged(Merged, Bag):
    pass


class Appended(Bag):
    """Rows that only come."""

    due = ("INSERT INTO",)

    def move(self) -> None:
        Overwrite.move(self)


class Replaced(Merged):
    """Partitions of which what is stored is not compared with what comes."""

    query = "SELECT region AS total, row_number() OVER (PARTITION BY region ORDER BY 1) AS place FROM {orders}"


class First(Way):
    """The first rows, of which one goes and one comes."""

    query = "SELECT amount AS total FROM {orders} ORDER BY amount DESC LIMIT 3"


class FirstMerged(Merged, First):
    pass


class MoreThanFew(Way):
    """A change of few rows that turns out to touch many groups: what was kept for it is merged."""

    query = (
        "SELECT a.amount, count(*) AS total FROM {orders} AS a JOIN {orders} AS b ON a.amount >= b.amount "
        "GROUP BY a.amount"
    )
    most = 1
    due = ("CACHE LAZY TABLE", "MERGE INTO", "DROP VIEW IF EXISTS")

    def move(self) -> None:
        self.world.sql(f"INSERT INTO {self.orders.sql} VALUES ('west', 0)")


class Staged(Way):
    """What changes is written down before, for who reads it: `change_buffer: table`."""

    config: Mapping[str, Any] = {"change_buffer": "table"}
    due = (
        "CREATE TABLE IF NOT EXISTS",
        "ALTER VIEW",
        "DELETE FROM",
        "INSERT INTO",
        "CACHE LAZY TABLE",
        "INSERT INTO",
        "DROP VIEW IF EXISTS",
    )

    def provoke(self) -> None:
        name, query = f"reads_{self.request.public.identifier}", f"SELECT total FROM {self.request.public.sql}"
        reader = self.world.request(name, query, refresh_mode="differential")
        self.world.run(reader)
        self.readers = (reader,)


WAYS = (Keyed, Bag, Appended, Replaced, First, MoreThanFew, KeyedMerged, BagMerged, FirstMerged, Staged)
# What differs in how the server does it, when it is told so late.
LATE_WAYS = (Appended, BagMerged, Staged)
