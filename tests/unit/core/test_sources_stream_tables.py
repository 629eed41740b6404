"""Pinning another stream table: by the storage behind its name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pinned_sources import LATER, MEANING, NOW, Warehouse, a_view, commit, pin, table

from dbt_trickle.catalog.state import Column, ForeignWrite, StreamTable
from dbt_trickle.errors import ModelError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.names import Relation
from dbt_trickle.plan.points import states
from dbt_trickle.run import guard
from dbt_trickle.run.pins import PinnedQuery, Wanted
from dbt_trickle.run.sources import Sources


def test_a_stream_table_is_read_from_its_storage_at_its_newest_change() -> None:
    upstream = StreamTable(
        5,
        "shop",
        "totals",
        "model.shop.totals",
        storage_relation="trickle_changes.st_5_g1",
        is_populated=True,
        data_timestamp="2026-01-01T00:00:00+00:00",
        columns=(Column("sum(x)", "bigint", "__pgt_out_0"),),
    )
    commits = [commit(9, "OPTIMIZE"), commit(8, "WRITE")]
    pinned = pin(
        "select * from shop.totals",
        {"DESCRIBE HISTORY `trickle_changes`.`st_5_g1` LIMIT 10": commits},
        upstream=upstream,
    )
    assert pinned.text == (
        "select * from (SELECT `__pgt_out_0` AS `sum(x)` FROM `trickle_changes`.`st_5_g1` VERSION AS OF 9) AS `totals`"
    )
    found = pinned.frontier["pgt_5"]
    assert (found.version, found.read_version) == (8, 9), "an OPTIMIZE changes no row, and a VACUUM may follow it"
    assert pinned.as_of == ("2026-01-01T00:00:00+00:00",)


def test_a_stream_table_is_read_as_it_was_found_for_the_whole_run() -> None:
    """Whatever else this run refreshes meanwhile, and although another run refreshes it."""
    upstream = StreamTable(
        5, "shop", "totals", "model.shop.totals", storage_relation="changes.st_5_g1", is_populated=True,
        columns=(Column("n", "bigint", "n"),),
    )  # fmt: skip
    history = "DESCRIBE HISTORY `changes`.`st_5_g1` LIMIT 10"
    warehouse = Warehouse({history: [commit(8)], **a_view("`shop`.`v`", "select 1 as k", ["k"])})
    sources = Sources(lambda relation: upstream if relation.key == "shop.totals" else None, lambda: NOW)

    def version() -> int:
        return sources.pin_query(warehouse, "select * from shop.totals", Wanted(MEANING, {})).frontier["pgt_5"].version

    assert version() == 8
    warehouse.answers[history] = [commit(9), commit(8)]
    sources.forget(Relation.of("shop", "other"))
    assert version() == 8
    sources.forget(Relation.of("shop", "totals"))
    assert version() == 9


def test_of_a_stream_table_that_nobody_has_written_to_the_history_is_not_asked() -> None:
    upstream = StreamTable(
        5, "shop", "totals", "model.shop.totals", storage_relation="changes.st_5_g1", is_populated=True,
        storage_version=8, storage_at=NOW, seen_version=8, seen_at=LATER, columns=(Column("n", "bigint", "n"),),
        frontier={"shop.orders": SourceVersion("shop.orders", "TABLE", "shop.orders", "id", 3, NOW)},
    )  # fmt: skip

    def pinned(upstream: StreamTable = upstream, **listed: str) -> PinnedQuery:
        found = {int(version.strip("v")): at for version, at in listed.items()}
        warehouse = Warehouse({"DESCRIBE HISTORY `changes`.`st_5_g1` LIMIT 10": [commit(9), commit(8)]})
        sources = Sources(lambda _: upstream, lambda: NOW, lambda state: guard.stands(state, found, ours=False))
        return sources.pin_query(warehouse, "select * from shop.totals", Wanted(MEANING, {}))

    stands = pinned(v8=LATER)
    version = stands.frontier["pgt_5"]
    assert (version.version, version.committed_at, version.read_version, version.read_at) == (8, NOW, 8, NOW)
    known, *_ = states(stands.branches["pgt_5"], lambda _: None, None)
    assert known.point == {**upstream.frontier, "pgt_5": version}
    for otherwise in ({}, {"v8": LATER, "v9": LATER}, {"v8": NOW}):
        assert pinned(**otherwise).frontier["pgt_5"].version == 9
    # Of what came behind its last commit, and changed no row, the time of the file alone is known.
    assert pinned(replace(upstream, storage_version=7), v8=LATER).frontier["pgt_5"].version == 9
    written_to = replace(upstream, hidden_write=ForeignWrite("DELETE", 8))
    assert pinned(written_to, v8=LATER).frontier["pgt_5"].version == 9


def test_what_another_run_has_read_later_is_found_anew() -> None:
    answers = {**table("`shop`.`orders`", 7), **table("`shop`.`other`", 3)}
    warehouse, sources = Warehouse(answers), Sources(lambda _: None, lambda: NOW)

    def versions() -> dict[str, int]:
        found = sources.pin_query(warehouse, "select * from shop.orders, shop.other", Wanted(MEANING, {})).frontier
        return {key: version.version for key, version in found.items()}

    first = sources.pin_query(warehouse, "select * from shop.orders, shop.other", Wanted(MEANING, {})).frontier
    warehouse.answers |= {**table("`shop`.`orders`", 8), **table("`shop`.`other`", 4)}
    sources.forget_older(first)
    assert versions() == {"shop.orders": 7, "shop.other": 3}, "all that a run reads is of one moment"
    sources.forget_older({"shop.orders": replace(first["shop.orders"], version=8)})
    assert versions() == {"shop.orders": 8, "shop.other": 3}


def test_a_stream_table_whose_storage_somebody_has_dropped_is_named() -> None:
    upstream = StreamTable(
        5, "shop", "totals", "model.shop.totals", storage_relation="trickle_changes.st_5_g1", is_populated=True
    )
    with pytest.raises(ModelError, match=r"TRK-202.*trickle_changes\.st_5_g1.*shop\.totals") as raised:
        pin("select * from shop.totals", {}, upstream=upstream)
    assert "Run that stream table" in str(raised.value)
