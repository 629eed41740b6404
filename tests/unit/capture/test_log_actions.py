"""What the transaction log says: the files that were added, or why reading them would not be exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dbt_trickle.capture import log
from dbt_trickle.capture.base import Appended, CommitFacts, Effect, LogFacts, Unlogged, Window
from dbt_trickle.names import Relation

WINDOW = Window(Relation.of("shop", "orders"), 3, 5, (("id", "int"), ("at", "timestamp")))
SPARK = "Apache-Spark/4.1.4 Delta-Lake/4.4.0"
PLACE = "file:/wh/orders"


def row(version: int, kind: str, **values: Any) -> dict[str, Any]:
    return {"file": f"{version:020d}.json", "kind": kind, "path": None, "size": None, "has_vector": False, **values}


COMMITS = [row(4, "commit"), row(5, "commit")]


def facts(**changed: Any) -> LogFacts:
    commits = tuple(CommitFacts(v, "12:00", "WRITE", Effect.APPEND, engine=SPARK) for v in (4, 5))
    return replace(LogFacts(WINDOW, commits), **changed)


def test_files_that_were_added() -> None:
    found = log.appended(
        WINDOW,
        PLACE,
        [*COMMITS, row(4, "add", path="a.parquet", size=3), row(5, "add", path="p%3D1/b.parquet", size=4)],
    )
    assert found == Appended((f"{PLACE}/a.parquet", f"{PLACE}/p=1/b.parquet"), 7)


def test_an_insert_of_no_rows_adds_no_file() -> None:
    assert log.appended(WINDOW, PLACE, COMMITS) == Appended((), 0)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([row(4, "commit"), row(4, "add", path="a", size=1)], "its transaction log is not complete"),
        ([*COMMITS, row(5, "remove")], "a file was removed"),
        ([*COMMITS, row(5, "definition")], "its schema, properties or protocol changed"),
        ([*COMMITS, row(5, "add", path="a", size=1, has_vector=True)], "a file came with a deletion vector"),
        ([*COMMITS, *(row(5, "add", path=f"a{n}", size=1) for n in range(17))], "more than 16 files were added"),
        ([*COMMITS, row(5, "add", path="file:/other/a", size=1)], "a file's path is not plain"),
        ([*COMMITS, row(5, "add", path="/other/a", size=1)], "a file's path is not plain"),
        ([*COMMITS, row(5, "add", path="p=%2520/a", size=1)], "a file's path is not plain"),
        ([*COMMITS, row(5, "add", path="p=%7Ba,b%7D", size=1)], "a file's path is not plain"),
        ([*COMMITS, row(5, "add", path="a%60b", size=1)], "a file's path is not plain"),
    ],
)
def test_what_is_not_only_added(rows: list[dict[str, Any]], reason: str) -> None:
    assert log.appended(WINDOW, PLACE, rows) == Unlogged(reason)


def test_no_obstacle() -> None:
    assert log.obstacle(facts(), PLACE, ["region"]) is None


@pytest.mark.parametrize(
    ("changed", "location", "partitions", "reason"),
    [
        ({}, "file:/my tables/orders", [], "the path of the table has signs that are not plain"),
        ({}, "file:/wh/{a}*", [], "the path of the table has signs that are not plain"),
        ({}, PLACE, ["ID"], "column ID is in the paths of its files"),
        (
            {"properties": {"delta.columnMapping.mode": "name"}},
            PLACE,
            [],
            "its columns are mapped to other names in its files",
        ),
        (
            {"window": replace(WINDOW, columns=(("code", "char(4)"),))},
            PLACE,
            [],
            "column code is of a type with a length",
        ),
        (
            {"commits": (replace(facts().commits[0], engine="Kernel"), facts().commits[1])},
            PLACE,
            [],
            "version 4 was written by Kernel",
        ),
        (
            {"commits": (replace(facts().commits[0], engine=""), facts().commits[1])},
            PLACE,
            [],
            "version 4 was written by an unknown writer",
        ),
        ({"commits": facts().commits * 33}, PLACE, [], "more than 64 commits"),
    ],
)
def test_obstacles(changed: dict[str, Any], location: str, partitions: list[str], reason: str) -> None:
    assert log.obstacle(facts(**changed), location, partitions) == reason


def test_files_have_the_types_of_the_table() -> None:
    found = Appended((f"{PLACE}/a.parquet",), 1)
    assert log.as_written(WINDOW, found, [("ID", "int"), ("at", "timestamp"), ("x", "int")]) is found
    assert log.as_written(WINDOW, found, [("id", "int")]) == Unlogged("column at is absent in its files")
    written = [("id", "int"), ("at", "timestamp_ntz")]
    assert log.as_written(WINDOW, found, written) == Unlogged("column at is timestamp_ntz in its files")
