"""What a session keeps while a change of few rows is brought in, and that it can always do so again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from dbt_trickle.apply.base import Applied, Few
from dbt_trickle.apply.few import CAME, IDS, MOST, WENT
from dbt_trickle.errors import WarehouseError
from dbt_trickle.run.narrowed import narrowed
from dbt_trickle.tree.identity import ROW_ID

KEEP, TOUCHED, LET_GO = "CACHE LAZY TABLE few", "SELECT ids", "DROP VIEW IF EXISTS few"
FEW = Few(KEEP, TOUCHED, f"REPLACE ({IDS})", "few rows replaced", LET_GO)
APPLIED = Applied("MERGE", "rows merged", few=FEW)
THERE = "[TEMP_TABLE_OR_VIEW_ALREADY_EXISTS] Cannot create the temporary view `few` because it already exists."


@dataclass
class Spark:
    """A session with at most one view, of that name."""

    touched: int = 1
    fails: list[str] = field(default_factory=list)  # statements, each once, which then do nothing
    kept: bool = False
    sent: list[str] = field(default_factory=list)

    def execute(self, sql: str) -> None:
        self.sent.append(sql)
        if sql in self.fails:
            self.fails.remove(sql)
            raise WarehouseError("TRK-301", f"{sql} failed")
        if sql == KEEP and self.kept:
            raise WarehouseError("TRK-301", THERE)
        self.kept = sql == KEEP

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        assert self.kept
        self.sent.append(sql)
        if sql in self.fails:
            raise WarehouseError("TRK-301", f"{sql} failed")
        return [{ROW_ID: number, CAME: 1, WENT: 0} for number in range(self.touched)]


def refreshed(spark: Spark) -> str:
    with narrowed(spark, APPLIED) as way:
        return way.applied.sql


def test_what_is_kept_is_let_go() -> None:
    spark = Spark(touched=2)
    assert refreshed(spark) == "REPLACE (0L, 1L)"
    assert spark.sent == [KEEP, TOUCHED, LET_GO]


@pytest.mark.parametrize(
    ("touched", "is_empty", "too_many"), [(0, True, False), (MOST, False, False), (MOST + 1, False, True)]
)
def test_how_many_are_few(touched: int, is_empty: bool, too_many: bool) -> None:
    spark = Spark(touched)
    with narrowed(spark, APPLIED) as way:
        assert (way.is_empty, way.too_many, way.applied is APPLIED) == (is_empty, too_many, too_many)
    assert not spark.kept


def test_what_is_known_before_is_told() -> None:
    with narrowed(Spark(touched=2), APPLIED) as way:
        assert (way.sent, way.moved, way.applied.work) == ((KEEP, TOUCHED), (2, 0), "replace")


def test_without_a_way_for_few_nothing_is_asked() -> None:
    spark = Spark()
    merge = Applied("MERGE", "rows merged")
    with narrowed(spark, merge) as way:
        assert (way.applied, way.sent, way.moved) == (merge, (), None)
    assert spark.sent == []


def test_what_is_kept_is_counted_where_it_is_all_that_is_known() -> None:
    spark = Spark(touched=MOST + 1)
    found = replace(APPLIED, kept=True, few=replace(FEW, numbers="SELECT numbers"))
    with narrowed(spark, found) as way:
        assert (way.applied, way.too_many, way.moved) == (found, True, (1, 0))
    assert spark.sent == [KEEP, TOUCHED, "SELECT numbers", LET_GO]


def test_rows_without_ids_are_merged_however_few_they_are() -> None:
    spark = Spark(touched=2)
    found = replace(APPLIED, kept=True, few=replace(FEW, sql=""))
    with narrowed(spark, found) as way:
        assert (way.applied, way.too_many, way.is_empty, way.moved) == (found, False, False, (2, 0))


@pytest.mark.parametrize("problem", [WarehouseError("TRK-306", "no answer"), KeyboardInterrupt()])
def test_a_view_is_let_go_whatever_happens(problem: BaseException) -> None:
    spark = Spark()
    with pytest.raises(type(problem)) as raised, narrowed(spark, APPLIED):
        raise problem
    assert raised.value is problem
    assert spark.sent == [KEEP, TOUCHED, LET_GO]
    assert not spark.kept


def test_rows_that_cannot_be_worked_out_are_told_also_where_the_view_stays() -> None:
    spark = Spark(fails=[TOUCHED, LET_GO])
    with pytest.raises(WarehouseError, match=f"{TOUCHED} failed"):
        refreshed(spark)
    assert spark.sent == [KEEP, TOUCHED, LET_GO]


def test_a_view_that_stayed_is_in_nobodys_way() -> None:
    spark = Spark(fails=[LET_GO])
    assert refreshed(spark) == "REPLACE (0L)"
    assert spark.kept
    assert refreshed(spark) == "REPLACE (0L)"
    assert not spark.kept
    assert spark.sent == [KEEP, TOUCHED, LET_GO, KEEP, LET_GO, KEEP, TOUCHED, LET_GO]


def test_what_cannot_be_kept_is_told_as_it_is() -> None:
    spark = Spark(fails=[KEEP])
    with pytest.raises(WarehouseError, match=f"{KEEP} failed"):
        refreshed(spark)
    assert spark.sent == [KEEP]


def test_a_view_that_cannot_be_removed_is_told() -> None:
    spark = Spark(fails=[LET_GO, LET_GO])
    refreshed(spark)
    with pytest.raises(WarehouseError, match=f"{LET_GO} failed"):
        refreshed(spark)


def test_of_two_failures_the_first_is_told() -> None:
    spark = Spark(fails=[LET_GO])
    with pytest.raises(ValueError, match="the commit"), narrowed(spark, APPLIED):
        raise ValueError("the commit")
    assert refreshed(spark) == "REPLACE (0L)"
