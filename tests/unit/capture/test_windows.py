"""A window → the SQL of each capture (fixtures/windows.yml); names that try to be more than names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dbt_trickle.capture.base import Appended, Capture, Window, incomparable
from dbt_trickle.capture.difference import Difference
from dbt_trickle.capture.feed import Feed, table_changes
from dbt_trickle.capture.log import Log
from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import Relation

CASES = yaml.safe_load((Path(__file__).parent / "fixtures" / "windows.yml").read_text(encoding="utf-8"))


def window(relation: tuple[str, ...] = ("shop", "orders"), old: int = 0, new: int = 1, **columns: str) -> Window:
    return Window(Relation(relation), old, new, tuple(columns.items()))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_sql(case: dict[str, Any]) -> None:
    given = case["window"]
    made = window(tuple(given["relation"]), given["old"], given["new"], **given["columns"])
    captures: dict[str, Capture] = {
        "feed": Feed(),
        "difference": Difference(),
        "log": Log(Appended(tuple(case.get("files", ())), 1)),
    }
    expected = {name: sql for name, sql in case.items() if name in captures}
    assert expected
    assert {name: captures[name].changes(made) for name in expected} == expected


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        (("o'r`d", "${x}\\"), r"table_changes('`o\'r``d`.`\u0024{x}\\`', 1, 1)"),
        (("spark_catalog", "a.b", "c"), "table_changes('`spark_catalog`.`a.b`.`c`', 1, 1)"),
        (("delta", "/it's/x"), r"table_changes_by_path('/it\'s/x', 1, 1)"),
        (("delta", "s3://b/x"), "table_changes_by_path('s3://b/x', 1, 1)"),
        (("delta", "orders"), "table_changes('`delta`.`orders`', 1, 1)"),
    ],
)
def test_a_name_stays_a_name_inside_a_string(relation: tuple[str, ...], expected: str) -> None:
    assert table_changes(window(relation)) == expected


def test_columns_with_odd_names() -> None:
    made = Window(Relation.of("shop", "orders"), 0, 1, (("a`, 1; --", "int"), ("b.c", "double")))
    assert "`a``, 1; --`, any_value(`b.c`) AS `b.c`" in Feed().changes(made)


@pytest.mark.parametrize(("old", "new"), [(3, 3), (4, 3), (-1, 0)])
def test_a_window_holds_a_commit(old: int, new: int) -> None:
    with pytest.raises(TrickleBug, match="no window"):
        window(old=old, new=new, id="int")


def test_columns_of_one_name() -> None:
    with pytest.raises(TrickleBug, match="two columns"):
        window(id="int", ID="int")


def test_what_cannot_be_compared_is_never_read() -> None:
    made = window(id="int", tags="array<map<string,int>>")
    assert "holds a map" in str(incomparable(made))
    for capture in (Feed(), Difference(), Log(Appended(("a",), 1))):
        with pytest.raises(TrickleBug, match="holds a map"):
            capture.changes(made)


@pytest.mark.parametrize("name", ["__pgt_weight", "__PGT_row_weight"])
def test_reserved_names(name: str) -> None:
    assert "reserved" in str(incomparable(window(**{name: "int"})))
