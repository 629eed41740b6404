"""Columns with a collation below what takes rows together; the other doubts are asked of Spark, and tried there."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_trickle.apply.base import incomparable
from dbt_trickle.catalog.state import Column
from dbt_trickle.run.doubts import doubt
from dbt_trickle.tree.build import Schema, build

SOURCES = {"t": Schema("shop.t", (("k", "int"), ("c", "string collate UTF8_LCASE")))}


class Silent:
    def query(self, sql: str) -> Any:
        raise AssertionError(sql)


@pytest.mark.parametrize(
    ("text", "doubted"),
    [
        ("select distinct c from t", True),
        ("select ascii(c) as a, count(*) as n from (select c from t group by c) q group by ascii(c)", True),
        ("select c from t order by c limit 3", True),
        ("select distinct k from t", False),
        ("select c from t where k > 1", False),
    ],
)
def test_of_equal_texts_either_may_stand_for_a_group(text: str, doubted: bool) -> None:
    tree = build(text, SOURCES).tree
    session: Any = Silent()
    found = doubt(session, tree, tree.child, {"shop.t": "t"})
    assert ("collation" in found) == doubted


def test_a_column_of_a_collation_is_not_compared() -> None:
    """Rows of a result are told apart by what they hold: 'ANN' for 'ann' would be no change."""
    columns = [Column(name, kind, name) for name, kind in SOURCES["t"].columns]
    assert "column c has a collation" in (incomparable(columns) or "")
    assert incomparable(columns[:1]) is None
