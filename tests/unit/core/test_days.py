"""Texts that are made moments of: by which plans that is seen."""

from __future__ import annotations

import pytest
import tree_cases

from dbt_trickle.tree import days

COLUMNS = [column for schema in tree_cases.SOURCES.values() for column in schema.columns]
PLAN = """\
== Parsed Logical Plan ==
whatever

== Analyzed Logical Plan ==
region: string
Project [region#12]
+- Filter ({analyzed})
   +- Relation spark_catalog.shop.orders[k#11L,region#12,amount#13L] parquet

== Optimized Logical Plan ==
Project [region#12]
+- Filter ({optimized})
   +- Relation spark_catalog.shop.orders[k#11L,region#12,amount#13L] parquet

== Physical Plan ==
AdaptiveSparkPlan isFinalPlan=false
"""


@pytest.mark.parametrize(
    ("cast", "is_of_today"),
    [
        ("cast(ordered_at#13 as timestamp)", False),
        ("cast(order_id#13L as timestamp)", False),
        ("cast(region#13 as timestamp)", True),
        ("cast(substr(region#13, 1, 5) as timestamp)", True),
        ("cast(cast(order_id#13 as string) as timestamp)", True),
        ("cast(region#13 as date)", False),
        ("cast(region#13 as timestamp_ntz)", False),
        ("cast(split(region#13, ,, -1) as array<timestamp>)", True),
        ("cast(region#13 as struct<a:int,at:timestamp>)", True),
        ("from_json(StructField(at,TimestampType,true), region#13, Some(UTC), false).at", True),
        ("variant_get(parse_json(region#13), $.at, TimestampType, true, Some(UTC))", True),
        ("try_variant_get(v#13, $.at, ArrayType(TimestampType,true), false, Some(UTC))", True),
        ("variant_get(parse_json(region#13), $.at, DateType, true, Some(UTC))", False),
        ("from_csv(StructField(at,DateType,true), region#13, Some(UTC), false, None).at", False),
        # Made above the relation, or the parameter of a function: called as a column is, and a text.
        ("cast(ordered_at#99 as timestamp)", True),
    ],
)
def test_no_moment_is_made_of_a_text(cast: str, is_of_today: bool) -> None:
    reason = days.of_today(PLAN.format(analyzed="", optimized=f"{cast} > ts#1"), COLUMNS)
    assert bool(reason) == is_of_today


@pytest.mark.parametrize(
    ("made", "is_of_today"),
    [
        ("cast(today as date)", True),
        ("cast(  Yesterday  as timestamp)", True),
        ("cast(now as timestamp_ntz)", True),
        ("cast(10:30 as timestamp)", True),
        ("cast(\t10:30 as timestamp)", True),
        ("cast(T08:00 as timestamp)", True),
        ("cast(concat(10, :30) as timestamp)", True),
        ("cast(lower(TODAY) as date)", True),
        ("cast(cast(today as string) as date)", True),
        ("try_cast(tomorrow as date)", True),
        ("datediff(d#1, cast(today as date))", True),
        ("to_date(today, None, Some(UTC), false)", True),
        ("to_timestamp(10:30, None, TimestampType, Some(UTC), false)", True),
        ("current_user()", True),
        ("cast(2024-01-31 as date)", False),
        ("cast(2024-01-31 10:30:00 as timestamp)", False),
        ("cast(todays as date)", False),
        ("cast(1 as timestamp)", False),
        ("cast(cast(2024-01-31 as date) as timestamp)", False),
        ("cast(date_add(cast(2024-01-31 as date), 3) as timestamp)", False),
        ("cast((cast(2024-01-31 as date) + INTERVAL '1' DAY) as timestamp)", False),
        ("cast(10:30 as time(6))", False),
        ("cast(region#12 as date)", False),
        ("cast(concat(region#12, :30) as date)", False),
        ("to_date(2024-01-31, None, Some(UTC), false)", False),
        ("to_date(10:30, Some(HH:mm), Some(UTC), false)", False),
    ],
)
def test_no_moment_is_made_of_a_constant(made: str, is_of_today: bool) -> None:
    """In the optimized plan it is a day like any other."""
    reason = days.of_today(PLAN.format(analyzed=f"d#1 = {made}", optimized="d#1 = 2024-05-01"), COLUMNS)
    assert bool(reason) == is_of_today, reason
    assert not reason or days.hangs_on_the_day(reason)
