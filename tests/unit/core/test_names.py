"""Names and values as SQL text: nothing a user writes can end its own quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from dbt_trickle import names
from dbt_trickle.errors import ConfigError, TrickleBug
from dbt_trickle.names import Relation, literal, quote, storage_column


@given(st.text(min_size=1))
def test_a_quoted_name_is_one_identifier(name: str) -> None:
    quoted = quote(name)
    assert quoted[0] == quoted[-1] == "`"
    assert "`" not in quoted[1:-1].replace("``", "")
    assert quoted[1:-1].replace("``", "`") == name


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs",), blacklist_characters="$")))
def test_a_literal_is_one_string(text: str) -> None:
    parsed = parse_one(f"select {literal(text)}", dialect="spark")
    (value,) = parsed.expressions
    assert isinstance(value, exp.Literal)
    assert literal(text).count("${") == 0


def test_spark_s_variables_are_not_substituted_in_literals() -> None:
    assert literal("a ${spark.x} b") == r"'a \u0024{spark.x} b'"


def test_an_empty_name_is_our_bug() -> None:
    with pytest.raises(TrickleBug):
        quote("")


def test_the_number_of_a_stream_table_is_stable_and_its_own() -> None:
    public = Relation.of("shop", "totals")
    assert names.pgt_id("model.shop.totals", public) == names.pgt_id("model.shop.totals", Relation.of("SHOP", "Totals"))
    assert names.pgt_id("model.shop.totals", public) != names.pgt_id("model.shop.totals", Relation.of("dev", "totals"))
    assert 0 <= names.pgt_id("x", public) < 2**53


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        (("Shop", "Orders"), "shop.orders"),
        (("Lake", "Shop", "Orders"), "lake.shop.orders"),
        (("Orders",), "orders"),
        (("DELTA", "/lake/v1.0/Sales"), "delta./lake/v1.0/Sales"),
        (("delta", "s3a://Bucket/Sales"), "delta.s3a://Bucket/Sales"),
    ],
)
def test_names_have_no_case_and_paths_have(parts: tuple[str, ...], key: str) -> None:
    relation = Relation(parts)
    assert relation.key == key
    assert names.key_of(str(relation)) == key
    assert names.key_of(key) == key


@pytest.mark.parametrize(
    "name", ["a/b", "a.b", "${x}", "tab\there", "a b", "größe", "it's", "x" * 256, "2024", "1d", "3e4", "07BD"]
)
def test_names_that_spark_would_garble_are_refused(name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        names.check_public_name(Relation.of("shop", name), "shop.x")
    assert raised.value.code == "TRK-105"


def test_a_schema_is_shorter_than_a_name() -> None:
    names.check_public_name(Relation.of("s" * 128, "n" * 255), "shop.x")
    with pytest.raises(ConfigError, match=r"TRK-105.*has 129 characters[\s\S]*`schema` of at most 128"):
        names.check_public_name(Relation.of("s" * 129, "s" * 129), "shop.x")


@pytest.mark.parametrize("name", ["_2024", "2024_orders", "d1", "1st", "e4"])
def test_names_that_only_begin_like_a_number_are_names(name: str) -> None:
    names.check_public_name(Relation.of("shop", name), "shop.x")


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("total", "total"),
        ("sum(amount)", "__pgt_out_3"),
        ("größe", "größe"),
        ("a b", "__pgt_out_3"),
        ("a`b", "__pgt_out_3"),
    ],
)
def test_storage_columns(name: str, stored: str) -> None:
    assert storage_column(name, 3) == stored


@pytest.mark.parametrize(
    ("value", "statement"),
    [
        ("UTC", "SET `spark.x.y` = `UTC`"),
        ("a;b`c", "SET `spark.x.y` = `a;b``c`"),
        ("", "SET `spark.x.y` ="),  # seen on Spark: the setting is there and empty
    ],
)
def test_a_setting_is_quoted(value: str, statement: str) -> None:
    assert names.setting("spark.x.y", value) == statement
