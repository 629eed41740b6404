"""What would be worked out from all rows is recomputed, and says so; what reads only some of them is maintained."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from sqlglot import parse_one
from tree_cases import ORDERS, SOURCES

from dbt_trickle.apply.unrestricted import ALL_ROWS, obstacle
from dbt_trickle.config import ProjectSettings, StreamTableConfig
from dbt_trickle.delta.aggregate.state import Stateful
from dbt_trickle.errors import ModelError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.names import placeholder
from dbt_trickle.run.columns import described
from dbt_trickle.run.pins import PinnedQuery
from dbt_trickle.run.understand import Understood, understand
from dbt_trickle.tree.build import build
from dbt_trickle.tree.identity import grouped


@pytest.mark.parametrize(
    ("text", "of_all"),
    [
        ("select median(amount) as m from o", True),
        ("select count(*) as n from o having count(*) > 1", True),
        ("select n + 1 as m from (select count(*) as n from o) q", True),
        ("select a.n, b.n as m from (select count(*) as n from o) a, (select count(*) as n from c) b", True),
        ("select (select max(amount) from o) as high", True),
        ("select count(*) as n from (select sum(amount) as s from o) q", True),
        ("select n from (select count(*) as n from o) q union all select 0", True),
        ("select region, median(amount) as m from o group by region", False),
        ("select region, q.n from o as p, (select count(*) as n from c) q", False),
        ("select region, (select max(name) from c) as last from o", False),
        ("select (select max(name) from c where region = q.r) as n from (select max(region) as r from o) q", False),
        ("select distinct region from o", False),
    ],
)
def test_whether_a_change_would_be_worked_out_from_all_rows(text: str, of_all: bool) -> None:
    tree = build(text, SOURCES).tree
    assert obstacle(tree, None, "for a reason") == (f"{ALL_ROWS}; for a reason" if of_all else "")


def test_kept_state_makes_it_a_change_like_others() -> None:
    tree = build("select count(*) as n from o", SOURCES).tree
    groups = grouped(tree)
    assert groups is not None
    assert obstacle(tree, None, "") == ALL_ROWS
    assert obstacle(tree, Stateful(groups, ()), "") == ""


def test_above_one_group_kept_state_is_of_no_use() -> None:
    tree = build("select count(*) as n from (select median(amount) as m from o) q", SOURCES).tree
    groups = grouped(tree)
    assert groups is not None
    assert obstacle(tree, Stateful(groups, ()), "") == ALL_ROWS


class Spark:
    """Every column is a BIGINT, and a query has the one plan."""

    def __init__(self, today: str = "") -> None:
        self.asked: list[str] = []
        plan = f"{today}Relation shop.orders[order_id#1L]"
        self.plan = f"== Optimized Logical Plan ==\n{plan}\n\n== Physical Plan ==\nnone"

    def execute(self, sql: str) -> None:
        self.asked.append(sql)

    def query(self, sql: str) -> list[dict[str, str]]:
        self.asked.append(sql)
        if sql == "SET":
            return []
        if sql.startswith("EXPLAIN"):
            return [{"plan": self.plan}]
        text = sql.removeprefix("DESCRIBE QUERY ")
        if text.startswith("SELECT * FROM"):
            return [{"col_name": name, "data_type": kind} for name, kind in ORDERS.columns]
        return [{"col_name": name, "data_type": "bigint"} for name in parse_one(text, dialect="spark").named_selects]


AUTO = StreamTableConfig()


class Variant(Spark):
    def query(self, sql: str) -> list[dict[str, str]]:
        of_source = sql.startswith("DESCRIBE QUERY SELECT * FROM")
        return [{"col_name": "v", "data_type": "variant"}] if of_source else super().query(sql)


def understood(
    spark: Spark, text: str, engine: dict[str, Any] | None = None, config: StreamTableConfig = AUTO
) -> Understood:
    source = SourceVersion("shop.orders", "TABLE", "shop.orders", "1", 1, "")
    template = text.format(o=placeholder("shop.orders"))
    pinned = PinnedQuery(template.replace(placeholder("shop.orders"), "o"), {"shop.orders": source}, template=template)
    here: Any = SimpleNamespace(
        request=SimpleNamespace(config=config, query=pinned.text, capture_of=lambda _: config.cdc_mode),
        pinned=pinned,
        session=spark,
        run=SimpleNamespace(settings=ProjectSettings()),
        before=None if engine is None else SimpleNamespace(engine=engine, frontier={"shop.orders": source}),
    )
    columns = tuple(SimpleNamespace(name=n, type=k, stored=n) for n, k in described(spark, template))
    found: Any = columns
    return understand(here, found, anew=engine is None)


def test_what_is_computed_of_all_rows_is_recomputed_for_this_reason() -> None:
    spark = Spark()
    found = understood(spark, "select median(amount) as m from {o}")
    assert found.shape is None
    assert found.reason == f"{ALL_ROWS}; median(`orders.amount`) cannot be brought forward from what is stored"
    spark.asked.clear()
    again = understood(spark, "select median(amount) as m from {o}", found.remembered())
    assert again == found
    assert [sql for sql in spark.asked if "median" in sql] == [spark.asked[0]], "only the columns are asked for"


def test_what_is_brought_forward_is_maintained() -> None:
    found = understood(Spark(), "select count(*) as n from {o}")
    assert (found.shape is not None, found.reason) == (True, "")


def test_whether_it_hangs_on_the_day_is_known_of_it_as_well() -> None:
    """What is recomputed where a source moved would be wrong tomorrow."""
    found = understood(Spark("Project [cast(x#7 as timestamp)]\n+- "), "select median(amount) as m from {o}")
    assert "another moment tomorrow" in found.reason


@pytest.mark.parametrize(
    ("text", "leeway"),
    [
        ("select order_id, lag(amount) over (partition by region order by order_id) as n from {o}", {"n": "lag()"}),
        ("select amount as n from {o} order by amount limit 3 offset 1", {}),
    ],
)
def test_what_is_recomputed_as_asked_is_as_certain_as_what_is_maintained(text: str, leeway: dict[str, str]) -> None:
    config = StreamTableConfig(refresh_mode="full")
    found = understood(Spark(), text, config=config)
    assert (dict(found.leeway.columns), bool(found.leeway.rows)) == (leeway, not leeway)
    assert understood(Spark(), text, found.remembered(), config=config).leeway == found.leeway


def test_a_capture_that_was_asked_for_and_cannot_be() -> None:
    """Only `auto` falls back; what worked once goes on with the reason."""
    text = "select cast(v as string) as s from {o}"
    for mode, refused in (("auto", False), ("feed", True), ("log", True)):
        config = StreamTableConfig(cdc_mode=mode)
        if refused:
            with pytest.raises(ModelError, match=rf"TRK-214.*`cdc_mode: {mode}` cannot capture shop.orders"):
                understood(Variant(), text, config=config)
        assert "variant" in understood(Variant(), text, {} if refused else None, config=config).reason


@pytest.mark.parametrize(
    ("text", "why"),
    [
        # Nothing of it could be maintained more cheaply, and
        ("with recursive r(i) as (select 1L union all select o.order_id from r join {o} o on o.order_id > r.i) "
         "select i % 2 as odd, count(*) as n from r group by i % 2", "the rows of its recursion are not stored"),
        # of this nothing is asked for either.
        ("with recursive r(i) as (select double(order_id) from {o} union all select i + 1 from r where i < 3) "
         "select i from r", "of which values that differ are equal"),
    ],
)  # fmt: skip
def test_nor_does_a_recursion_hide_it(text: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    doubtful = "column i of a recursion is double, of which values that differ are equal"
    monkeypatch.setattr("dbt_trickle.run.understand.doubt", lambda *_: doubtful if "double" in text else "")
    found = understood(Spark("Project [cast(x#7 as timestamp)]\n+- "), text)
    assert why in found.reason
    assert "another moment tomorrow" in found.reason
