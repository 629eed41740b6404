"""The same definition keeps its fingerprint; another one must not have it."""

from __future__ import annotations

import pytest

from dbt_trickle.names import Relation
from dbt_trickle.tree import fingerprint

MEANING = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}
ORDERS = {Relation.of("dev", "orders"): "model.shop.orders"}


def of(text: str, relations: dict[Relation, str] | None = None, **meaning: str) -> str:
    return fingerprint.of(text, ORDERS if relations is None else relations, {**MEANING, **meaning})


@pytest.mark.parametrize(
    "same",
    [
        "SELECT a, 'X' FROM dev.orders WHERE b > 1",
        "select a,\n  'X'\nfrom dev.orders -- comment\nwhere b>1",
        "select a, 'X' from `dev`.`orders` where b > 1;",
        "select /* hint? no: comment */ A, 'X' from DEV.Orders where B > 1",
    ],
)
def test_no_change(same: str) -> None:
    assert of(same) == of("select a, 'X' from dev.orders where b > 1")


@pytest.mark.parametrize(
    "other",
    [
        "select a, 'x' from dev.orders where b > 1",
        "select a, 'X' from dev.orders where b > 2",
        "select a, 'X' from dev.orders where b >= 1",
        "select a, 'X' from dev.orders2 where b > 1",
        "select a, 'X' from prod.orders where b > 1",
        "select a, 'X' from x.dev.orders where b > 1",
        "select 'X', a from dev.orders where b > 1",
        "select a, 'X' as z from dev.orders where b > 1",
    ],
)
def test_changes(other: str) -> None:
    assert of(other) != of("select a, 'X' from dev.orders where b > 1")


def test_another_schema_of_the_same_node_is_no_change() -> None:
    prod = {Relation.of("prod", "orders"): "model.shop.orders"}
    assert of("select 1 from prod.orders", prod) == of("select 1 from dev.orders")


def test_two_sources_at_paths_that_differ_in_case() -> None:
    lake = {
        Relation.of("delta", "/lake/Sales"): "source.lake.new",
        Relation.of("delta", "/lake/sales"): "source.lake.old",
    }
    texts = ["select * from delta.`/lake/Sales`", "select * from delta.`/lake/sales`"]
    assert of(texts[0], lake) != of(texts[1], lake)


def test_strings_that_touch_are_one_word() -> None:
    # sqlglot reads both as CONCAT('it', 's'); Spark 4 reads the first as it's.
    assert of("select 'it''s'") != of("select 'it' 's'")
    assert of("select 'it''s'") != of("select concat('it', 's')")


def test_the_case_of_a_path_into_a_variant_counts() -> None:
    assert of("select v:aB from dev.orders") != of("select v:ab from dev.orders")


def test_the_case_of_a_field_counts() -> None:
    """to_json() shows it."""
    assert of("select to_json(STRUCT(k as A)) as j from o") == of("SELECT to_json(struct(k as A)) AS J FROM O")
    assert of("select to_json(struct(k as A)) from o") != of("select to_json(struct(k as a)) from o")
    assert of("select to_json(struct(upper(k) as x, B)) from o") != of(
        "select to_json(struct(upper(k) as x, b)) from o"
    )


def test_settings_that_change_the_meaning_belong_to_it() -> None:
    text = "select cast(a as int) from dev.orders"
    assert of(text) != of(text, **{"spark.sql.ansi.enabled": "true"})
    assert of(text) != of(text, **{"spark.sql.session.timeZone": "Europe/Berlin"})
    assert of(text) != of(text, **{"spark.sql.legacy.timeParserPolicy": "LEGACY"})
    assert of(text) != of(text, **{"spark.sql.decimalOperations.allowPrecisionLoss": "false"})
    assert of(text) != of(text, **{"spark.sql.function.concatBinaryAsString": "true"})
    assert of(text) == of(text, **{"spark.sql.binaryOutputStyle": "UTF-8"}), "a server sets it after a statement"
    assert of(text) == of(text, **{"spark.app.name": "x", "spark.sql.shuffle.partitions": "7"})
