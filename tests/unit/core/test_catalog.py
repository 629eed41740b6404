"""The journal: what is written comes back, and the views show the design's columns."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt_trickle.catalog import store, tables
from dbt_trickle.catalog.state import Column, Dependency, Refresh, StreamTable, Unversioned
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats.base import Marker, SourceVersion, frontier_from, frontier_json
from dbt_trickle.names import Relation

VERSION = SourceVersion("shop.orders", "TABLE", "shop.orders", "id", 7, "then")
TABLE = StreamTable(
    5,
    "shop",
    "totals",
    "model.shop.totals",
    frontier={"shop.orders": VERSION},
    columns=(Column("n", "bigint", "n"),),
    retired=((1, "then"),),
    unversioned=(Unversioned("shop.p: no Delta", "shop.p"), Unversioned("rand is volatile")),
)


def row(entry: store.Entry) -> dict[str, str]:
    return {"kind": entry.kind, "key": entry.key, "payload": entry.payload}


def test_a_stream_table_comes_back_as_it_was() -> None:
    catalog = store.parse([row(store.stream_table(TABLE)), row(store.schema_version())])
    assert catalog.stream_tables == {5: TABLE}
    assert catalog.version == tables.SCHEMA_VERSION


def test_what_it_reads_comes_back_as_it_was_captured() -> None:
    captured = Dependency(
        5, "shop.orders", "id", "TABLE", ("id",), "f", "TRANSITIONING", "why", 7, "then", "m", True, 60
    )
    entry = row(store.dependencies(5, [captured]))
    assert store.parse([entry]).dependencies == {5: (captured,)}
    older = json.dumps(
        {"rows": [{"pgt_id": 5, "source": "s", "source_table_id": "", "source_type": "TABLE", "later": 1}]}
    )
    assert store.parse([{**entry, "payload": older}]).dependencies == {5: (Dependency(5, "s", "", "TABLE"),)}


def test_a_dropped_one_does_not() -> None:
    catalog = store.parse([row(entry) for entry in store.dropped(5)])
    assert (catalog.stream_tables, catalog.dependencies) == ({}, {})


def test_an_open_invocation_puts_its_stream_tables_in_doubt() -> None:
    planned = {5: TABLE.public, 6: Relation.of("shop", "other")}
    assert store.parse([row(store.opened("a", planned)), row(store.closed("b"))]).in_doubt == planned


def test_a_newer_catalog_is_refused() -> None:
    with pytest.raises(WarehouseError, match="TRK-302"):
        store.parse([{"kind": tables.META, "key": "schema_version", "payload": "99"}])


def test_unknown_fields_of_a_later_version_are_passed_over() -> None:
    entry = store.stream_table(TABLE)
    payload = json.dumps({**json.loads(entry.payload), "later": 1})
    assert store.parse([{**row(entry), "payload": payload}]).stream_tables == {5: TABLE}


@pytest.mark.parametrize(
    ("shown", "made"),
    [
        (tables.STREAM_TABLE_COLUMNS, StreamTable),
        (tables.DEPENDENCY_COLUMNS, Dependency),
        (tables.HISTORY_COLUMNS, Refresh),
    ],
)
def test_every_shown_column_is_written(shown: dict[str, str], made: type) -> None:
    assert set(shown) <= {field.name for field in fields(made)}


@given(st.text(), st.text())
def test_a_marker_survives_the_commit(reason: str, name: str) -> None:
    marker = Marker(5, 2, 1, "FULL", reason, "f", {"k": VERSION}, "t", "run", 0, {"pgt_name": name})
    text = marker.to_json()
    assert "\n" not in text
    assert "$" not in text
    assert Marker.from_json(text) == marker


def test_an_older_frontier_had_lost_the_case_of_its_paths() -> None:
    """What is known is known of the path that it names, and of no other one."""
    by_path = {**asdict(VERSION), "key": "delta./lake/sales", "relation": "delta./lake/Sales"}
    found = frontier_from({"delta./lake/sales": by_path, "shop.orders": asdict(VERSION)})
    assert {key: version.key for key, version in found.items()} == {
        "delta./lake/Sales": "delta./lake/Sales",
        "shop.orders": "shop.orders",
    }
    assert frontier_from(frontier_json(found)) == found


@pytest.mark.parametrize("text", [None, "", "{}", "not json", '{"trickle": 5}', '{"trickle": {"pgt_id": 5}}'])
def test_other_people_s_metadata_is_no_marker(text: str | None) -> None:
    assert Marker.from_json(text) is None


def test_entries_of_one_instant_keep_their_order() -> None:
    first = store.append("trickle", "run", [store.schema_version(), store.schema_version()])
    numbers = [int(line.split("current_timestamp(), ")[1].split(",")[0]) for line in first.splitlines()[1:]]
    assert numbers == sorted(set(numbers))


def test_a_state_is_frozen() -> None:
    with pytest.raises(AttributeError):
        TABLE.batch = 3  # type: ignore[misc]
    assert replace(TABLE, batch=3).batch == 3


def test_design_columns_are_all_there() -> None:
    """The published columns are a contract: removing one must be a decision, not an accident."""
    published = json.loads((Path(__file__).parent / "fixtures" / "catalog_columns.json").read_text())
    assert list(tables.STREAM_TABLE_COLUMNS) == published["pgt_stream_tables"]
    assert list(tables.DEPENDENCY_COLUMNS) == published["pgt_dependencies"]
    assert list(tables.HISTORY_COLUMNS) == published["pgt_refresh_history"]
