"""What of a result rests on an order that nobody gave: values, and rows that are chosen by such values."""

from __future__ import annotations

import pytest
from tree_cases import FUNCTIONS, cases
from tree_cases import SOURCES as CASES

from dbt_trickle.tree.build import Schema, build
from dbt_trickle.tree.leeway import Leeway, leeway, leeway_of_text

SOURCES = {
    "o": Schema("shop.o", (("k", "int"), ("cid", "int"), ("amount", "int"), ("x", "double"))),
    "c": Schema("shop.c", (("cid", "int"), ("name", "string"))),
}
NUMBERED = "select k, cid, row_number() over (partition by cid order by amount) as n from o"
LISTED = "select cid, collect_list(k) as l, count(*) as n from o group by cid"
CERTAIN = [
    "select k, cid from o where amount > 1",
    "select cid, count(*) as n, sum(amount) as total, max(k) as high from o group by cid",
    "select cid, sum(x) as total, stddev(x) as s from o group by cid",
    "select k, rank() over (partition by cid order by amount) as n from o",
    "select k, row_number() over (partition by k order by cid) as n from (select k, cid from o group by k, cid) q",
    f"select k, cid from ({NUMBERED}) q",
    "select distinct k from o order by k limit 3",
    "select cid, sort_array(collect_list(k)) as l, size(collect_set(k)) as s from o group by cid",
]
# The names of the columns that have other values, or why not even the rows are certain.
VALUES = [
    (NUMBERED, ["n"]),
    (LISTED, ["l"]),
    (f"select cid, n + 1 as next, upper(cid) as c from ({NUMBERED}) q", ["next"]),
    (f"select q.cid, q.l, c.name from ({LISTED}) q left join c on q.cid = c.cid", ["l"]),
    (f"select n as a from ({NUMBERED}) q union all select cid from c", ["a"]),
    (f"select cid, max(n) as m, count(*) as c from ({NUMBERED}) q group by cid", ["m"]),
    ("select k, (select any_value(name) from c c where c.cid = o.cid) as name from o o", ["name"]),
    ("select k, amount from o order by amount limit 3", ["k"]),
    (f"select cid, size(l) as s, l from ({LISTED}) q", ["l"]),
    (f"select k, exists (select 1 from ({NUMBERED}) q where q.n = o.k) as there from o o", ["there"]),
]
ROWS = [
    (f"select k from ({NUMBERED}) q where n = 1", "row_number()"),
    (f"select n, count(*) as often from ({NUMBERED}) q group by n", "row_number()"),
    (f"select q.k from ({NUMBERED}) q join c on q.n = c.cid", "row_number()"),
    (f"select n from ({NUMBERED}) q order by n limit 2", "row_number()"),
    (f"select k from o where cid in (select n from ({NUMBERED}) q)", "row_number()"),
    (f"select n from ({NUMBERED}) q except select cid from c", "row_number()"),
    (f"select cid, e from ({LISTED}) q lateral view explode(l) t as e", "collect_list()"),
]


@pytest.mark.parametrize("text", CERTAIN)
def test_certain(text: str) -> None:
    assert leeway(build(text, SOURCES).tree) == Leeway()


@pytest.mark.parametrize(("text", "names"), VALUES)
def test_values(text: str, names: list[str]) -> None:
    built = build(text, SOURCES)
    found = leeway(built.tree)
    uncertain = {name for name, _ in found.columns}
    shown = zip(built.tree.columns, built.output_names, strict=True)
    assert ([name for column, name in shown if column in uncertain], found.rows) == (names, "")


@pytest.mark.parametrize(("text", "why"), ROWS)
def test_rows(text: str, why: str) -> None:
    assert leeway(build(text, SOURCES).tree).rows == why


@pytest.mark.parametrize("text", [case["sql"] for case in cases() if "tree" in case])
def test_every_operator_is_known(text: str) -> None:
    leeway(build(text, CASES, FUNCTIONS).tree)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("select FIRST (a) from t", "first()"),
        ("select k, row_number() over (order by a) as n from t for update", "row_number()"),
        ("select k from t order by a limit\n3", "LIMIT, where ORDER BY leaves rows equal"),
        ("select k from t limit(3)", "LIMIT, where ORDER BY leaves rows equal"),
        ("select k from t order by a offset 3", "LIMIT, where ORDER BY leaves rows equal"),
        ("select k, first_a, nolimit from t", ""),
        ("select k /* first (of all) */, 'the limit 3' as limit, t.limit, `limit` from t -- no limit 3", ""),
        ("select lib.first (x) as x from t", ""),
        ("select sum(a) as total from t tablesample (3 rows)", ""),
    ],
)
def test_one_that_is_not_understood_is_known_by_its_words(text: str, why: str) -> None:
    assert leeway_of_text(text) == Leeway(rows=why)
