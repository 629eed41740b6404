"""Pinning functions of the user's own: by their texts."""

from __future__ import annotations

import json
from typing import Any

from pinned_sources import MEANING, NOW, Warehouse, a_view, pin, reasons, table

from dbt_trickle.run.pins import Wanted, dependencies
from dbt_trickle.run.sources import Sources


def test_a_function_of_another_database_may_be_the_user_s_own_here() -> None:
    """sqlglot knows safe_divide and normalize; Spark does not."""
    answers = {**table("`shop`.`orders`", 7), "SHOW SYSTEM FUNCTIONS": [{"function": "hll_union"}]}
    pinned = pin("select safe_divide(a, b), upper(normalize(c)) from shop.orders", answers)
    assert [why.split("(")[0] for why in reasons(pinned)] == ["normalize", "safe_divide"]
    assert pinned.functions == ("normalize", "safe_divide", "upper")


def test_functions_of_the_user_s_own_are_read_anew_each_time() -> None:
    answers = {**table("`shop`.`orders`", 7), "SHOW SYSTEM FUNCTIONS": [{"function": "hll_union"}]}
    text = "select my_udf(k), hll_union(a, b) from shop.orders"
    assert reasons(pin(text, answers)) == ["my_udf() is no function of Spark's own, and is named without its schema"]


FUNCTIONS = {"SHOW SYSTEM FUNCTIONS": [{"function": "hll_union"}]}


def a_function(name: str, expression: str, deterministic: bool = True) -> dict[str, Any]:
    return {f"DESCRIBE FUNCTION EXTENDED {name}": described(expression, deterministic=deterministic)}


def described(expression: str, *, deterministic: bool) -> list[dict[str, str]]:
    told = {
        "sqlFunction.isTableFunc": "false",
        "sqlFunction.inputParam": "x INT",
        "sqlFunction.returnType": "INT",
        "sqlFunction.deterministic": str(deterministic).lower(),
        "sqlFunction.expression": expression,
    }
    return [{"function_desc": f"Usage: {json.dumps(told)}"}]


def test_a_sql_function_s_text_stands_for_a_version() -> None:
    text = "select shop.F(k), `lib`.`g`(k) filter (where lib.h(k) > 1) from shop.orders"
    answers = {
        **table("`shop`.`orders`", 7),
        **FUNCTIONS,
        **a_function("`shop`.`f`", "lib.h(x) + 1"),
        **a_function("`lib`.`g`", "x"),
        **a_function("`lib`.`h`", "x"),
    }
    pinned = pin(text, answers)
    assert pinned.unversioned == ()
    assert set(pinned.frontier) == {"shop.orders", "shop.f()", "lib.g()", "lib.h()"}
    assert set(pinned.functions) == {"shop.f", "lib.g", "lib.h"}
    assert [row.source for row in dependencies(5, pinned.frontier, ())] == ["shop.orders"], "it has no rows"
    other = pin(text, {**answers, **a_function("`lib`.`h`", "x + 1")})
    moved = {key for key, version in other.frontier.items() if not version.same_state(pinned.frontier[key])}
    assert moved == {"lib.h()"}


def test_a_function_below_a_view_is_the_query_s() -> None:
    answers = {
        **a_view("`shop`.`v`", "select lib.g(k) as k from orders", ["k"]),
        **table("`shop`.`orders`", 7),
        **FUNCTIONS,
        **a_function("`lib`.`g`", "x + 1"),
    }
    pinned = pin("select * from shop.v", answers)
    assert "lib.g(k)" in pinned.text
    assert set(pinned.frontier) == {"shop.v", "shop.orders", "lib.g()"}
    assert pinned.functions == ("lib.g",)
    assert pin("select * from shop.v", {**answers, **a_function("`lib`.`g`", "rand()")}).volatile == (
        "rand in lib.g()",
    )


def test_a_view_that_calls_one_by_its_bare_name_stays_a_view() -> None:
    answers = {
        **a_view("`shop`.`v`", "select g(k) as k from orders", ["k"]),
        **table("`shop`.`orders`", 7),
        **FUNCTIONS,
    }
    pinned = pin("select * from shop.v", answers)
    assert pinned.text == "select * from shop.v"
    assert reasons(pinned) == ["shop.v: g() is no function of Spark's own, and is named without its schema"]


def test_a_function_of_a_schema_is_not_the_one_of_spark_s_that_is_called_so() -> None:
    answers = {**table("`shop`.`orders`", 7), **FUNCTIONS, **a_function("`lib`.`now`", "x", deterministic=False)}
    assert pin("select lib.now(k) from shop.orders", answers).volatile == ("lib.now()",)
    assert pin("select lib.cast(k as int) from shop.orders", {**answers, **a_function("`lib`.`cast`", "x")}).functions


def test_where_statements_of_the_user_s_ran_texts_are_read_again() -> None:
    answers = {
        **a_view("`shop`.`v`", "select lib.g(k) as k from orders", ["k"]),
        **table("`shop`.`orders`", 7),
        **FUNCTIONS,
        **a_function("`lib`.`g`", "x + 1"),
    }
    warehouse, sources = Warehouse(answers), Sources(lambda _: None, lambda: NOW)
    first = sources.pin_query(warehouse, "select * from shop.v", Wanted(MEANING, {}))
    warehouse.answers |= a_function("`lib`.`g`", "x + 2")
    assert sources.pin_query(warehouse, "select * from shop.v", Wanted(MEANING, {})) == first
    sources.forget_texts()
    second = sources.pin_query(warehouse, "select * from shop.v", Wanted(MEANING, {}))
    assert second.frontier["lib.g()"] != first.frontier["lib.g()"]
    assert warehouse.asked.count("DESCRIBE HISTORY `shop`.`orders` LIMIT 1") == 1, "the table is in one state for all"
