"""What the question for the touched rows was answered, and how their ids get into the statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dbt_trickle.apply import few
from dbt_trickle.apply.base import Few
from dbt_trickle.tree.identity import ROW_ID

SMALLEST, LARGEST = -(2**63), 2**63 - 1
FEW = Few("keep", "touched", f"REPLACE WHERE id IN ({few.IDS}) SELECT id IN ({few.IDS})", "few rows replaced", "let go")


def row(number: int, came: int | None = 1, went: int | None = 0) -> Mapping[str, Any]:
    return {ROW_ID: number, few.CAME: came, few.WENT: went}


def test_ids_are_told_once_each_and_all_rows_are_counted() -> None:
    rows = [row(7, 1, 1), row(SMALLEST, 0, 3), row(7, 2, 0)]
    assert few.touched(rows) == few.Touched((SMALLEST, 7), (3, 4))


def test_what_moves_is_known_of_all_rows_or_of_none() -> None:
    assert few.touched([row(1), row(2, None, None)]) == few.Touched((1, 2), None)


def test_no_row_is_few() -> None:
    assert few.touched([]) == few.Touched((), (0, 0))


def test_as_many_as_are_just_few_and_one_more() -> None:
    found = few.touched([row(number) for number in range(few.MOST)])
    assert found is not None
    assert (len(found.ids), found.moved) == (few.MOST, (few.MOST, 0))
    assert few.touched([row(number) for number in range(few.MOST + 1)]) is None
    assert few.touched([row(1)] * (few.MOST + 1)) is None, "the rest of them was not asked for"


@pytest.mark.parametrize("ids", [(0,), (SMALLEST,), (SMALLEST, SMALLEST + 1, -1, 0, LARGEST)])
def test_every_bigint_is_written_as_one(ids: tuple[int, ...]) -> None:
    found = few.replaced(FEW, ids)
    assert (found.how, found.work, found.few) == (FEW.how, "replace", None)
    first, second = (part.split(")")[0] for part in found.sql.split("IN (")[1:])
    assert first == second
    numbers = [[int(each) for each in one.replace("L", "").split(" - ")] for one in first.split(", ")]
    assert tuple(number - sum(less) for number, *less in numbers) == ids
    assert all(abs(each) <= LARGEST for number in numbers for each in number), "no literal is larger, whatever its sign"
