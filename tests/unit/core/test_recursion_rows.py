"""Where the rows of a recursion come from, and when they cost what recomputing the query does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dbt_trickle.apply.base import Applied
from dbt_trickle.apply.choose import applied, never_cheaper
from dbt_trickle.apply.recursion import as_dear_as_anew
from dbt_trickle.apply.shape import Shape
from dbt_trickle.catalog.state import Column
from dbt_trickle.delta.context import Context, Source
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run.doubts import doubt
from dbt_trickle.run.refresh import only_anew
from dbt_trickle.tree.build import Schema, build
from dbt_trickle.tree.identity import identity, with_keys

SOURCES = {
    "e": Schema("shop.e", (("a", "int"), ("b", "int"))),
    "n": Schema("shop.n", (("id", "int"), ("name", "string"))),
}
STORAGE = Relation.of("changes", "st_1")
STORED = "`changes`.`st_1` VERSION AS OF 7"
OF_TWO = "with recursive r(i, d) as (select id, 0 from n union all select e.b, d + 1 from r join e on e.a = r.i)"
OF_ONE = "with recursive r(i, d) as (select a, 0 from e union all select e.b, d + 1 from r join e on e.a = r.i)"
BY_ITSELF = "with recursive r(i, d) as (select id, 0 from n union all select i + 1, d + 1 from r where d < 3)"
CALENDAR = "with recursive r(i) as (select 1 union all select i + 1 from r where i < 9)"


def shape(query: str) -> Shape:
    built = build(query, SOURCES)
    tree = with_keys(built.tree)
    columns = [Column(name, "", name) for name in built.output_names]
    columns += [Column(item.value.sql, "", item.name) for item in tree.items[len(columns) :]]
    return Shape(tuple(columns), tree, identity(tree), None, "", len(columns) - len(built.output_names))


def refreshed(query: str, moved: Sequence[str]) -> tuple[Shape, Applied]:
    sources = {
        schema.key: Source(f"old_{name}", f"new_{name}", f"SELECT * FROM changes_{name}" if name in moved else None)
        for name, schema in SOURCES.items()
    }
    found = shape(query)
    return found, applied(found, Context(sources), STORAGE, 7, append_only=False)


@pytest.mark.parametrize(
    ("query", "moved", "dear"),
    [
        (f"{OF_TWO} select i, d from r", "en", False),
        (f"{OF_TWO} select d * 2 as twice from r", "en", False),
        (f"{OF_TWO} select i from r where i > 1", "e", True),
        (f"{OF_TWO} select i from r where i > 1", "n", False),
        (f"{OF_ONE} select i, count(*) as n from r group by i", "e", True),
        (f"{OF_ONE} select r.i, n.name from r join n n on n.id = r.i", "e", False),
        (f"{OF_ONE} select r.i, n.name from r join n n on n.id = r.i", "n", False),
        (f"{BY_ITSELF} select i from r where d > 0", "n", False),
        (f"{BY_ITSELF} select d, max(i) as m from r group by d", "n", True),
        (f"{CALENDAR} select r.i, n.name from r left join n n on n.id = r.i", "n", False),
    ],
)
def test_to_work_out_the_rows_of_a_recursion_is_to_recompute_what_reads_nothing_else(
    query: str, moved: str, dear: bool
) -> None:
    assert bool(as_dear_as_anew(*refreshed(query, moved))) == dear


@pytest.mark.parametrize(
    ("query", "never"),
    [
        (f"{OF_ONE} select i, d from r", False),
        (f"{OF_ONE} select i from r where i > 1", True),
        (f"{OF_TWO} select i from r where i > 1", False),
        (f"{BY_ITSELF} select d, max(i) as m from r group by d", True),
        (f"{OF_ONE} select r.i, n.name from r join n n on n.id = r.i", False),
        ("select id from n", False),
    ],
)
def test_what_is_never_cheaper_is_told_at_the_load(query: str, never: bool) -> None:
    assert bool(never_cheaper(shape(query))) == never


def test_stored_rows_are_read_where_they_are_all_of_it() -> None:
    _, done = refreshed(f"{OF_TWO} select i * 2 as twice from r", "e")
    assert f"SELECT `__pgt_by_0` AS `r.i`, `__pgt_by_1` AS `r.d`\nFROM {STORED}" in done.sql
    assert "`__pgt_recursion_was` AS (" not in done.sql


def test_rows_that_nobody_reads_are_not_worked_out() -> None:
    _, done = refreshed(f"{OF_TWO} select r.i, n.name from r join n n on n.id = r.i", "e")
    assert "`__pgt_recursion_was` AS (" in done.sql
    assert "`__pgt_recursion_now` AS (" not in done.sql


class Types:
    """Everything is of this type."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def query(self, sql: str) -> Any:
        assert sql.startswith("DESCRIBE QUERY")
        return [{"col_name": "c", "data_type": self.kind, "comment": None}]


@pytest.mark.parametrize(
    ("kind", "doubted"),
    [("int", ""), ("string", ""), ("double", "is double"), ("array<float>", "is array<float>"),
     ("map<string,int>", "holds a map"), ("string collate UTF8_LCASE", "has a collation")],
)  # fmt: skip
def test_what_followed_from_a_row_must_follow_from_it_again(kind: str, doubted: str) -> None:
    session: Any = Types(kind)
    found = doubt(session, build(f"{OF_TWO} select i from r", SOURCES).tree, None, {"shop.e": "e", "shop.n": "n"})
    assert doubted in found
    assert bool(doubted) == bool(found)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("[RECURSION_LEVEL_LIMIT_EXCEEDED] Recursion level limit 100 reached", "limits of a recursion"),
        ("[RECURSION_ROW_LIMIT_EXCEEDED] Recursion row limit 1000000 reached", "limits of a recursion"),
        ("[USER_RAISED_EXCEPTION] [TRK-315] too many of the first rows went", "first rows went"),
        ("[DIVIDE_BY_ZERO] Division by zero", ""),
    ],
)
def test_what_only_the_statement_knows(said: str, why: str) -> None:
    found = only_anew(WarehouseError("TRK-301", said))
    assert why in found
    assert bool(why) == bool(found)
