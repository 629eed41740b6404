"""Pinning: each source is read in one state, the same for the whole invocation, whatever stands between."""

from __future__ import annotations

import pytest
from pinned_sources import MEANING, NOW, Warehouse, a_view, pin, reasons, table

from dbt_trickle.catalog.state import StreamTable, Unversioned
from dbt_trickle.errors import ModelError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.names import Relation, placeholder
from dbt_trickle.run.pins import Wanted, dependencies
from dbt_trickle.run.sources import Sources


def test_a_table_is_read_at_its_version() -> None:
    pinned = pin("select o.k from shop.orders o -- end", table("`shop`.`orders`", 7))
    assert pinned.text == "select o.k from `shop`.`orders` VERSION AS OF 7 o -- end"
    assert {k: v.version for k, v in pinned.frontier.items()} == {"shop.orders": 7}
    assert pinned.unversioned == ()


def test_a_table_by_its_path_has_versions() -> None:
    pinned = pin("select * from delta.`/wh/Orders`", table("`delta`.`/wh/Orders`", 7))
    assert pinned.text == "select * from `delta`.`/wh/Orders` VERSION AS OF 7"


def test_paths_that_differ_in_case_are_two_tables() -> None:
    answers = {**table("`delta`.`/lake/Sales`", 7), **table("`delta`.`/lake/sales`", 2)}
    pinned = pin(
        "select * from delta.`/lake/Sales` a join DELTA.`/lake/sales` b using (k)",
        {**answers, **table("`DELTA`.`/lake/sales`", 2)},
    )
    assert "`delta`.`/lake/Sales` VERSION AS OF 7 a" in pinned.text
    assert "`DELTA`.`/lake/sales` VERSION AS OF 2 b" in pinned.text
    assert {key: found.version for key, found in pinned.frontier.items()} == {
        "delta./lake/Sales": 7,
        "delta./lake/sales": 2,
    }
    assert len({placeholder(key) for key in pinned.frontier if placeholder(key) in pinned.template}) == 2


def test_files_by_their_path_have_none() -> None:
    """Spark says of their history that there is no such table; the path it names when the query is planned."""
    pinned = pin("select * from parquet.`/data/orders`", {})
    assert pinned.text == "select * from parquet.`/data/orders`"
    assert reasons(pinned) == ["parquet./data/orders: it is no Delta table and keeps no history"]


@pytest.mark.parametrize("form", ["delta", "parquet"])
def test_a_path_with_a_password_is_kept_nowhere(form: str) -> None:
    with pytest.raises(ModelError, match="TRK-218") as refused:
        pin(f"select * from {form}.`s3a://AKIA:wJalrXUtn@bucket/orders`", {})
    assert "wJalr" not in str(refused.value)
    account = "delta.`abfss://container@account.dfs.core.windows.net/orders`"
    with pytest.raises(ModelError, match="TRK-202"):
        pin(f"select * from {account}", {})


def test_an_unqualified_name_may_be_anything() -> None:
    pinned = pin("select * from orders", table("`shop`.`orders`", 7))
    assert pinned.text == "select * from orders"
    assert reasons(pinned) == ["orders is named without its schema"]


def test_spark_s_own_catalog_may_be_named() -> None:
    assert set(pin("select * from spark_catalog.shop.orders", table("`shop`.`orders`", 7)).frontier) == {"shop.orders"}


def test_one_invocation_asks_once_and_sees_one_state() -> None:
    warehouse = Warehouse(table("`shop`.`orders`", 7))
    sources = Sources(lambda _: None, lambda: NOW)
    first = sources.pin_query(warehouse, "select 1 from shop.orders", Wanted(MEANING, {}))
    warehouse.answers = table("`shop`.`orders`", 8)
    assert sources.pin_query(warehouse, "select 1 from SHOP.ORDERS", Wanted(MEANING, {})).frontier == first.frontier
    assert len(warehouse.asked) == 2
    sources.forget(Relation.of("shop", "orders"))
    later = sources.pin_query(warehouse, "select 1 from shop.orders", Wanted(MEANING, {}))
    assert later.frontier["shop.orders"].version == 8, "a node of this run has written it"


def test_an_unmoved_source_costs_one_question() -> None:
    known = {
        "shop.orders": SourceVersion("shop.orders", "TABLE", "shop.orders", "id", 7, "2026-01-02T03:04:05.000+00:00")
    }
    warehouse = Warehouse(table("`shop`.`orders`", 7))
    sources, wanted = Sources(lambda _: None, lambda: NOW), Wanted(MEANING, known)
    pinned = sources.pin_query(warehouse, "select 1 from shop.orders", wanted)
    assert warehouse.asked == ["DESCRIBE HISTORY `shop`.`orders` LIMIT 1"]
    assert pinned.frontier == known


def test_data_are_as_old_as_their_pin() -> None:
    """A stream table that comes late in a run reads what an earlier one has pinned."""
    times = iter(["10:00", "10:30"])
    sources = Sources(lambda _: None, lambda: next(times))
    warehouse = Warehouse({**table("`shop`.`orders`", 7), **table("`shop`.`items`", 1)})
    assert sources.pin_query(warehouse, "select 1 from shop.orders", Wanted(MEANING, {})).as_of == ("10:00",)
    assert sources.pin_query(warehouse, "select 1 from shop.orders, shop.items", Wanted(MEANING, {})).as_of == (
        "10:00",
        "10:30",
    )


def test_a_missing_source_is_named() -> None:
    with pytest.raises(ModelError, match=r"TRK-202.*shop\.nix does not exist"):
        pin("select * from shop.nix", {})


def test_another_format_has_no_versions() -> None:
    history = {"DESCRIBE HISTORY `shop`.`p` LIMIT 1": "[DELTA_TABLE_ONLY_OPERATION] parquet"}
    pinned = pin("select * from shop.p", history)
    assert reasons(pinned) == ["shop.p: it is no Delta table and keeps no history"]


def test_a_version_of_the_user_s_own_choice_stays() -> None:
    pinned = pin("select * from shop.orders version as of 3", table("`shop`.`orders`", 7))
    assert pinned.text == "select * from shop.orders version as of 3"
    assert reasons(pinned) == ["shop.orders is read at a version that the query chooses"]


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("select rand() as r from shop.orders", []),
        ("select my_udf(k) as k from shop.orders", []),
        ("select * from shop.orders, range(3)", []),
        ("select * from unqualified", []),
        ("select * from shop.p", ["shop.p"]),
        ("select * from shop.orders version as of 3", ["shop.orders"]),
        ("select * from shop.v", ["raw.p"]),
    ],
)
def test_only_relations_are_dependencies(text: str, sources: list[str]) -> None:
    no_delta = "[DELTA_TABLE_ONLY_OPERATION] parquet"
    answers = {
        **table("`shop`.`orders`", 7),
        **a_view("`shop`.`v`", "select rand() as k from raw.p", ["k"]),
        "SHOW SYSTEM FUNCTIONS": [{"function": "rand"}],
        "DESCRIBE HISTORY `shop`.`p` LIMIT 1": no_delta,
        "DESCRIBE HISTORY `raw`.`p` LIMIT 1": no_delta,
    }
    pinned = pin(text, answers)
    found = dependencies(5, {}, pinned.unversioned)
    assert [row.source for row in found] == sources
    assert all(row.cdc_reason in reasons(pinned) for row in found)


def test_reasons_that_were_stored_as_texts_are_still_known() -> None:
    row = {
        "pgt_id": 5,
        "pgt_schema": "shop",
        "pgt_name": "t",
        "dbt_unique_id": "u",
        "unversioned": ["shop.p: no Delta"],
    }
    assert StreamTable.from_row(row).unversioned == (Unversioned("shop.p: no Delta"),)
