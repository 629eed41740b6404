"""`trickle health`: the lag of each source's slowest reader, and what is told of it once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from lagging_sources import NOW, SETTINGS, Source, append, catalog, reader

from dbt_trickle.catalog import store
from dbt_trickle.catalog.state import Dependency, StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.run.capture_health import SourceHealth, look, tell


def health(source: Source, *readers: tuple[StreamTable, Dependency]) -> SourceHealth:
    [found] = look(source, SETTINGS, catalog(*readers), NOW)
    return found


def test_the_slowest_reader_counts() -> None:
    source = Source(append(1, 1), append(2, 2, 5_000_000), append(3, 3, 7_000_000))
    found = health(source, reader(1, 3, 3, "WAL"), reader(2, 1, 1, "TRIGGER"))
    assert (found.consumers, found.slowest_consumer) == (("shop.st_1", "shop.st_2"), "shop.st_2")
    assert (found.cdc_mode, found.reason) == ("TRIGGER", "of 2"), "one still needs the feed"
    assert (found.confirmed_version, found.newest_version, found.lag_versions) == (1, 3, 2)
    assert (found.lag_bytes, found.lag_seconds) == (12_000_000, 2 * 86400)
    assert (found.oldest_readable_version, found.readable_until) == (1, "2026-01-09T00:00:00+00:00")
    assert (found.level, found.problem) == ("ok", "")


def test_who_is_recomputed_needs_no_old_version() -> None:
    source = Source(append(1, 1), append(2, 2, 10**10))
    assert health(source, reader(1, 1, 1, "NONE")).level == "ok"
    found = health(source, reader(1, 1, 1, "NONE"), reader(2, 2, 2, "WAL"))
    assert (found.slowest_consumer, found.cdc_mode, found.lag_versions) == ("shop.st_2", "WAL", 0)


@pytest.mark.parametrize(
    ("version", "problem"), [(100, "it was dropped and re-created"), (2, "it was dropped and re-created")]
)
def test_who_stands_on_a_table_that_was_dropped_is_not_hidden(version: int, problem: str) -> None:
    """Version 3 of the successor is not behind version 100 of what was there before."""
    source = Source(append(1, 4), append(2, 5), append(3, 6))
    gone, there = reader(1, version, 1, table_id="the one before"), reader(2, 3, 6, "WAL")
    for found in (health(source, gone, there), health(source, there, gone)):
        assert (found.slowest_consumer, found.confirmed_version) == ("shop.st_1", version)
        assert (found.level, found.problem) == ("critical", problem)
        assert (found.consumers, found.cdc_mode) == (("shop.st_1", "shop.st_2"), "TRIGGER")


def test_who_stands_on_a_replaced_table_can_go_on() -> None:
    source = Source(append(1, 1), {**append(2, 2), "operation": "CREATE OR REPLACE TABLE AS SELECT"})
    found = health(source, reader(1, 2, 2, table_id="new"), reader(2, 1, 1, table_id="id"))
    assert (found.slowest_consumer, found.lag_versions, found.level) == ("shop.st_2", 1, "ok")


def test_who_stands_on_an_older_generation_is_not_hidden() -> None:
    upstream = StreamTable(
        9, "shop", "orders", "model.shop.orders", storage_relation="changes.st_9_g2", is_populated=True
    )
    older = reader(1, 1, 4, table_id="changes.st_9_g1", kind="STREAM_TABLE")
    newer = reader(2, 1, 4, table_id="changes.st_9_g2", kind="STREAM_TABLE")
    source = Source(append(1, 4))
    [found] = look(source, SETTINGS, catalog(older, newer, (upstream, older[1])), NOW)[:1]
    told = (found.slowest_consumer, found.level, found.problem, found.newest_version)
    assert told == ("shop.st_1", "ok", "it was loaded anew since", None), "the next refresh goes on from there"
    cut_off = reader(1, 100, 1, table_id="changes.st_9_g1", kind="STREAM_TABLE")
    [found] = look(source, SETTINGS, catalog(cut_off, newer, (upstream, older[1])), NOW)[:1]
    assert (found.slowest_consumer, found.level) == ("shop.st_1", "critical")
    recomputed = reader(1, 100, 1, "NONE", table_id="changes.st_9_g1", kind="STREAM_TABLE")
    [found] = look(source, SETTINGS, catalog(recomputed, (upstream, older[1])), NOW)[:1]
    assert found.level == "ok", "what is recomputed needs no old version"


def test_paths_that_differ_in_case_are_two_sources() -> None:
    readers = []
    for number, path in enumerate(("delta./lake/Sales", "delta./lake/sales"), 1):
        table, row = reader(number, number, number)
        version = replace(table.frontier["shop.orders"], key=path, relation=path)
        readers.append((replace(table, frontier={path: version}), replace(row, source=path)))
    found = look(Source(append(1, 1), append(2, 2)), SETTINGS, catalog(*readers), NOW)
    assert [(each.source, each.confirmed_version) for each in found] == [
        ("delta./lake/Sales", 1),
        ("delta./lake/sales", 2),
    ]


OPTIMIZE = {**append(2, 2, 10**10), "operation": "OPTIMIZE"}
VACUUM = {
    **append(3, 3),
    "operation": "VACUUM START",
    "operationParameters": {"specifiedRetentionMillis": "0"},
    "operationMetrics": {"numFilesToDelete": "1"},
}


@pytest.mark.parametrize(
    ("source", "level", "problem"),
    [
        (Source(append(1, 1), append(2, 2, 200_000_000)), "warning", "200 MB were written since, 100 MB are allowed"),
        (Source(append(1, 1), append(2, 2, 10**9)), "critical", "1000 MB were written since, 1000 MB are allowed"),
        (Source(append(1, 1), OPTIMIZE), "ok", ""),
        (Source(append(1, 1), OPTIMIZE, VACUUM), "ok", ""),
        (Source(append(1, 1), {**VACUUM, "version": 2}, append(3, 4)), "ok", ""),
        (
            Source(append(1, 1), append(2, 2), properties={"delta.deletedFileRetentionDuration": "interval 5 days"}),
            "warning",
            "the version that was consumed last is kept for 24 h more",
        ),
        (
            Source(append(1, 1), append(2, 2), properties={"delta.logRetentionDuration": "interval 1 day"}),
            "critical",
            "the version that was consumed last is past its retention, it may go any time",
        ),
        (Source(append(1, 1), append(2, 2), VACUUM), "critical", "it was vacuumed past version 1"),
        (Source(append(2, 2), append(3, 3)), "critical", "its history does not go back to version 1"),
        (Source(append(0, 5), append(1, 5), append(2, 5)), "critical", "it was dropped and re-created"),
        (Source(append(0, 5)), "critical", "it was dropped and re-created"),
        (Source(), "critical", "it is not there any more"),
        (Source(*[append(n, 5) for n in range(2, 1102)]), "critical", "its history does not go back to version 1"),
        (
            Source(append(1, 1), *[append(n, 2, 10**6) for n in range(2, 1102)]),
            "critical",
            "1100 MB were written since, 1000 MB are allowed",
        ),
        (
            Source(append(1, 1), {**VACUUM, "version": 2}, *[append(n, 2) for n in range(3, 1102)]),
            "critical",
            "it was vacuumed past version 1",
        ),
    ],
)
def test_levels(source: Source, level: str, problem: str) -> None:
    found = health(source, reader(1, 1, 1))
    assert (found.level, found.problem) == (level, problem)


def test_what_has_no_versions_and_what_is_gone() -> None:
    table, row = reader(1, 1, 1, "NONE")
    unversioned = replace(row, source="shop.sheet", cdc_reason="shop.sheet: it is no Delta table")
    view = replace(row, source="shop.v", source_type="VIEW")
    found = look(Source(), SETTINGS, store.Catalog(2, {1: table}, {1: (unversioned, view), 9: (row,)}), NOW)
    assert [(each.source, each.confirmed_version, each.level) for each in found] == [("shop.sheet", None, "ok")]


def test_a_source_that_cannot_be_looked_at_hides_no_other() -> None:
    class Refusing(Source):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            if "orders" in sql:
                raise WarehouseError("TRK-301", "[EXPECT_TABLE_NOT_VIEW] it is a view")
            return super().query(sql)

    table, row = reader(1, 1, 1)
    other = replace(row, source="shop.customers")
    frontier = {
        **table.frontier,
        "shop.customers": replace(next(iter(table.frontier.values())), key="shop.customers", relation="shop.customers"),
    }
    known = store.Catalog(2, {1: replace(table, frontier=frontier)}, {1: (row, other)})
    found = {each.source: each for each in look(Refusing(append(1, 1)), SETTINGS, known, NOW)}
    assert found["shop.customers"].level == "ok"
    assert (found[row.source].level, found[row.source].problem) == (
        "critical",
        "it cannot be looked at: [EXPECT_TABLE_NOT_VIEW] it is a view",
    )


def test_who_cannot_be_asked_now_is_an_error() -> None:
    class Lost(Source):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            raise WarehouseError("TRK-306", "no answer")

    with pytest.raises(WarehouseError, match="TRK-306"):
        health(Lost(), reader(1, 1, 1))


def test_a_lag_is_told_once() -> None:
    source = Source(append(1, 1), append(2, 2, 10**9))
    found = look(source, SETTINGS, catalog(reader(1, 1, 1)), NOW)
    source.locked = True
    assert tell(source, SETTINGS, found, NOW) == ()
    source.locked = False
    [event] = tell(source, SETTINGS, found, NOW)
    assert (event.name, event.pgt_id, event.relation) == ("capture_lag_critical", 1, "shop.st_1")
    assert len(source.written) == 1
    source.events = [{"event": event.name, "pgt_id": 1, **json.loads(json.dumps({**event.payload, "version": "1"}))}]
    assert tell(source, SETTINGS, found, NOW) == ()
    assert tell(source, SETTINGS, [], NOW) == ()
    assert len(source.written) == 1
