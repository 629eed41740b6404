"""Pinning a view: by its text, read through to its tables."""

from __future__ import annotations

from typing import Any

import pytest
from pinned_sources import MEANING, NOW, Warehouse, a_view, pin, reasons, table

from dbt_trickle.errors import ModelError
from dbt_trickle.run.pins import Wanted
from dbt_trickle.run.sources import Sources


def test_views_are_read_through_to_their_tables() -> None:
    answers = {
        **a_view("`shop`.`v`", "select k as a from w", ["A"], view_query_output_columns=["a"]),
        **a_view("`shop`.`w`", "select * from raw.t", ["k"]),
        **table("`raw`.`t`", 3),
    }
    pinned = pin("select * from shop.v", answers)
    assert "`raw`.`t` VERSION AS OF 3" in pinned.text
    assert pinned.text.endswith("AS `v`")
    assert "`a` AS `A`" in pinned.text
    assert set(pinned.frontier) == {"raw.t", "shop.w", "shop.v"}


@pytest.mark.parametrize(
    ("query", "then"),
    [
        ("select shop.v.k from shop.v", "select `__pgt_v_1`.k from {} AS `__pgt_v_1`"),
        ("select Shop.v.*, k from shop.V", "select `__pgt_V_1`.*, k from {} AS `__pgt_V_1`"),
        ("select spark_catalog.shop.v.k from shop.v", "select `__pgt_v_1`.k from {} AS `__pgt_v_1`"),
        (
            "with v as (select shop.v.k from shop.v) select v.k from v union all select shop.V.k from shop.V",
            "with v as (select `__pgt_v_1`.k from {} AS `__pgt_v_1`) select v.k from v "
            "union all select `__pgt_V_2`.k from {} AS `__pgt_V_2`",
        ),
        # What is nearer may have a field of that name: an alias, a column, an argument. Spark refuses it otherwise.
        (
            "select 1 from shop.v where exists (select 1 from a.t shop where shop.v.k = 1)",
            "select 1 from {} AS `v` where exists (select 1 from `a`.`t` VERSION AS OF 2 shop where shop.v.k = 1)",
        ),
        ("select transform(a, Shop -> shop.v.k) from shop.v", "select transform(a, Shop -> shop.v.k) from {} AS `v`"),
        (
            "select q.y from (select shop.v.k as y from a.t shop) q cross join shop.v",
            "select q.y from (select shop.v.k as y from `a`.`t` VERSION AS OF 2 shop) q cross join {} AS `v`",
        ),
        ("select v.k, shop.v.k from shop.v", "select v.k, shop.v.k from {} AS `v`"),
        ("select a.t.k from a.t", "select a.t.k from `a`.`t` VERSION AS OF 2"),
    ],
)
def test_columns_may_be_named_by_schema_and_table(query: str, then: str) -> None:
    views = (a_view(name, "select 1 as k", ["k"]) for name in ("`shop`.`v`", "`shop`.`V`"))
    pinned = pin(query, {**next(views), **next(views), **table("`a`.`t`", 2)})
    assert pinned.text.replace("(SELECT `k` AS `k` FROM (\nselect 1 as k\n))", "{}") == then


@pytest.mark.parametrize("read", ["orders", "orders version as of 3", "orders as o"])
def test_a_bare_name_in_a_view_is_no_cte_of_the_query(read: str) -> None:
    """What cannot be pinned keeps its name, but not one that means something else outside of the view."""
    answers = {
        **a_view("`shop`.`v`", f"select * from {read}", ["k"]),
        "DESCRIBE HISTORY `shop`.`orders` LIMIT 1": "[DELTA_TABLE_ONLY_OPERATION] a file",
    }
    pinned = pin("with orders as (select 1 as k) select * from shop.v join orders using (k)", answers)
    assert f"select * from `shop`.{read.replace('orders', '`orders`', 1)}" in pinned.text
    assert pinned.unversioned


def test_a_changed_view_text_is_a_moved_source() -> None:
    one = pin("select * from shop.v", {**a_view("`shop`.`v`", "select 1 as k", ["k"])})
    two = pin("select * from shop.v", {**a_view("`shop`.`v`", "select 2 as k", ["k"])})
    assert one.frontier != two.frontier


def test_a_view_of_other_settings_is_not_inlined() -> None:
    other = {"view_creation_spark_configuration": {"spark.sql.ansi.enabled": "true"}}
    pinned = pin("select * from shop.v", a_view("`shop`.`v`", "select 1 as k", ["k"], **other))
    assert pinned.text == "select * from shop.v"
    assert "spark.sql.ansi.enabled=true" in reasons(pinned)[0]


@pytest.mark.parametrize("made", [{"spark.sql.legacy.timeParserPolicy": "LEGACY"}, {}])
def test_a_view_made_before_or_after_a_setting_is_not_inlined(made: dict[str, str]) -> None:
    """Whichever of the two has it: a date is read by the one as it is not by the other."""
    view_has = {"view_creation_spark_configuration": {**MEANING, **made}}
    session_has = {} if made else {"spark.sql.legacy.timeParserPolicy": "LEGACY"}
    sources = Sources(lambda _: None, lambda: NOW)
    answers = a_view("`shop`.`v`", "select 1 as k", ["k"], **view_has)
    pinned = sources.pin_query(Warehouse(answers), "select * from shop.v", Wanted({**MEANING, **session_has}, {}))
    assert "spark.sql.legacy.timeParserPolicy" in reasons(pinned)[0]


def test_a_view_is_pinned_for_the_settings_of_who_reads_it() -> None:
    """Hooks of one model have set another zone; of another model they have not."""
    warehouse = Warehouse(
        {**a_view("`shop`.`v`", "select k from orders", ["k"]), **table("`shop`.`orders`", 7)},
    )
    sources = Sources(lambda _: None, lambda: NOW)
    elsewhere = {**MEANING, "spark.sql.session.timeZone": "America/New_York"}
    for _ in range(2):
        assert not sources.pin_query(warehouse, "select * from shop.v", Wanted(MEANING, {})).unversioned
        assert "New_York" in reasons(sources.pin_query(warehouse, "select * from shop.v", Wanted(elsewhere, {})))[0]
    assert warehouse.asked.count("DESCRIBE HISTORY `shop`.`orders` LIMIT 1") == 1, "the table is in one state for all"


def test_volatile_functions_below_a_view_are_found() -> None:
    assert pin("select * from shop.v", a_view("`shop`.`v`", "select rand() as k", ["k"])).volatile == ("rand",)


def test_too_many_views_are_refused() -> None:
    answers: dict[str, Any] = {}
    for depth in range(12):
        answers |= a_view(f"`shop`.`v{depth}`", f"select * from v{depth + 1}", ["k"])
    with pytest.raises(ModelError, match="TRK-205"):
        pin("select * from shop.v0", answers)
