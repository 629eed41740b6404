"""Which keys a storage holds beside what its query shows."""

from __future__ import annotations

import pytest

from dbt_trickle.apply.shape import Shape, same_query
from dbt_trickle.catalog.state import Column
from dbt_trickle.tree.build import Schema, build
from dbt_trickle.tree.identity import ROW_ID, Identity, identity, partitioned, with_keys

SOURCES = {"t": Schema("shop.t", (("k", "int"), ("s", "string"), ("d", "double")))}
GROUPS = [
    ("select k, count(*) as n from t group by k", 0, (0,)),
    ("select count(*) as n from t", 0, ()),
    ("select count(*) as n, upper(s) as u from t group by s", 1, (2,)),
    ("select n from (select s, k, sum(d) as n from t group by s, k having count(*) > 1) q", 2, (1, 2)),
    ("select s, sum(d) as n from t group by s, k + 1", 2, (2, 3)),
]
WINDOWS = [
    ("select s, rank() over (partition by s order by d) as n from t", 0),
    ("select k, rank() over (partition by s order by d) as n from t", 1),
    ("select k from (select k, rank() over (partition by upper(s) order by d) as n from t) q where n = 1", 1),
]


@pytest.mark.parametrize(("text", "added", "key"), GROUPS)
def test_groups_have_theirs(text: str, added: int, key: tuple[int, ...]) -> None:
    root = build(text, SOURCES).tree
    tree = with_keys(root)
    assert tree.items[: len(root.items)] == root.items
    assert len(tree.items) - len(root.items) == added
    assert identity(tree) == Identity(key, "its groups", by_groups=True)


@pytest.mark.parametrize(("text", "added"), WINDOWS)
def test_partitions_have_theirs(text: str, added: int) -> None:
    root = build(text, SOURCES).tree
    tree = with_keys(root)
    assert len(tree.items) - len(root.items) == added
    assert (partitioned(root) is None) == (added > 0)
    assert partitioned(tree) is not None
    assert identity(tree).is_bag


@pytest.mark.parametrize("text", ["select k from t", "select distinct s from t", "select s from t order by s limit 3"])
def test_nothing_is_added_to_others(text: str) -> None:
    root = build(text, SOURCES).tree
    assert with_keys(root) is root


def test_a_query_is_the_same_in_whichever_order_its_source_has_the_columns() -> None:
    """And whatever else that has: a stream table upstream may be altered."""

    def mark(columns: str, text: str = "select b, sum(a) as n from u where c > 0 group by b") -> str:
        root = build(text, {"u": Schema("pgt_5", tuple((name, "int") for name in columns))}).tree
        shown = tuple(Column(name, "int", name) for name in ("b", "n"))
        return Shape(shown, root, identity(root), None, "").mark

    assert mark("abc") == mark("cba") == mark("dbca")
    assert mark("abc") != mark("abc", "select b, sum(c) as n from u where c > 0 group by b")
    assert mark("abc") != mark("abc", "select b, sum(c) as n from u where a > 0 group by b")


def test_a_query_is_the_same_however_it_is_stored() -> None:
    root = build("select n from (select s, sum(d) as n from t group by s) q", SOURCES).tree
    other = build("select n from (select s, min(d) as n from t group by s) q", SOURCES).tree
    tree = with_keys(root)
    shown = (Column("n", "double", "n"),)
    plain = Shape(shown, root, identity(root), None, "")
    keyed = Shape((*shown, Column("`s`", "string", "__pgt_by_0")), tree, identity(tree), None, "", 1)
    assert plain.mark != keyed.mark
    assert same_query(plain.mark, keyed.mark)
    assert not same_query(plain.mark, Shape(shown, other, identity(other), None, "").mark)
    assert not same_query("", keyed.mark)
    assert (keyed.shown, keyed.stored) == (("n",), ("n", "__pgt_by_0", ROW_ID))
