"""Which entry of a key counts, where an append came twice or late: the statement's own order, run by SQLite."""

from __future__ import annotations

import re
import sqlite3

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.events import Event
from dbt_trickle.catalog.state import Refresh
from dbt_trickle.names import Relation


def newest(appends: list[tuple[int, str]]) -> dict[str, str]:
    """`appends`: when the server did each, and the statement."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE journal (kind, key, at, seq, invocation_id, payload)")
    for at, statement in appends:
        rows = statement.replace("current_timestamp()", str(at)).partition("VALUES\n")[2]
        connection.execute(f"INSERT INTO journal VALUES {rows}")
    order = ", ".join(f"{by} DESC" for by in tables.ORDER)
    found = connection.execute(
        f"SELECT key, payload FROM (SELECT key, payload, row_number() OVER (PARTITION BY key ORDER BY {order}) AS n "
        "FROM journal) WHERE n = 1"
    )
    return dict(found.fetchall())


def row(status: str) -> store.Entry:
    return store.refresh(Refresh("r", 5, "i", "then", action="FULL", status=status))


OPENED = store.append("trickle", "i", [store.opened("i", {5: Relation.of("shop", "totals")}), row("RUNNING")])
CLOSED = store.append("trickle", "i", [row("COMPLETED"), store.closed("i")])


def test_a_beginning_that_comes_late_is_no_news() -> None:
    for order in ([(1, OPENED), (2, CLOSED)], [(1, OPENED), (2, CLOSED), (3, OPENED)], [(1, CLOSED), (2, OPENED)]):
        found = newest(order)
        assert "COMPLETED" in found["r"]
        assert "CLOSED" in found["i"]


def test_of_two_ends_the_later_one_counts() -> None:
    failed = store.append("trickle", "j", [row("FAILED")])
    assert "COMPLETED" in newest([(1, failed), (2, CLOSED)])["r"]
    assert "FAILED" in newest([(2, failed), (1, CLOSED)])["r"]


def test_an_event_that_is_appended_twice_is_one_and_two_of_a_moment_are_two() -> None:
    """Two sources may lag at one moment."""
    both = [Event("capture_lag_warning", 5, "then", "shop.totals", {"source": source}) for source in ("a", "b")]
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE journal (kind, key, payload)")
    for entry in [*map(store.event, both), *map(store.event, both)]:
        connection.execute("INSERT INTO journal VALUES (?, ?, ?)", (entry.kind, entry.key, entry.payload))
    query = tables.views("trickle")["pgt_events"].replace("`trickle`.`pgt_journal`", "journal")
    inner = re.search(r"FROM \((SELECT payload .*)\)\)$", query)
    assert inner is not None
    assert len(connection.execute(inner.group(1)).fetchall()) == 2
