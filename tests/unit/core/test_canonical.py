"""Types as Spark tells them, and the expressions by which values of any type are compared."""

from __future__ import annotations

import pytest

from dbt_trickle.plan import canonical, compare
from dbt_trickle.plan.canonical import Type, exact, parse, rounded

INT, STRING, DOUBLE = Type("int"), Type("string"), Type("double")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", INT),
        ("decimal(10,2)", Type("decimal(10,2)")),
        ("varchar(5)", STRING),
        ("char(5)", STRING),
        ("array<int>", Type("array", (("element", INT),))),
        ("map<string,array<int>>", Type("map", (("key", STRING), ("value", parse("array<int>"))))),
        ("struct<>", Type("struct")),
        (
            "struct<a:int,b:struct<c:decimal(3,1),d:map<string,double>>>",
            Type(
                "struct",
                (
                    ("a", INT),
                    ("b", Type("struct", (("c", Type("decimal(3,1)")), ("d", parse("map<string,double>"))))),
                ),
            ),
        ),
    ],
)
def test_types_are_read(text: str, expected: Type) -> None:
    assert parse(text) == expected


def test_what_groups_as_it_is_stays_as_it_is() -> None:
    for text in ("int", "array<struct<a:int,b:double>>", "string", "binary"):
        assert exact("x", parse(text)) == "x"


def test_maps_become_their_entries_in_order() -> None:
    assert exact("x", parse("map<string,int>")) == (
        "array_sort(transform(map_entries(x), __pgt_x0 -> "
        "named_struct('key', __pgt_x0.`key`, 'value', __pgt_x0.`value`)))"
    )
    assert canonical.exact_type(parse("map<string,int>")) == parse("array<struct<key:string,value:int>>")


def test_a_null_struct_is_no_struct_of_nulls() -> None:
    text = exact("x", parse("struct<m:map<int,int>>"))
    assert text.startswith("IF(x IS NULL, NULL, named_struct('m', array_sort(transform(map_entries(x.`m`)")


def test_strings_of_a_collation_are_compared_by_their_bytes() -> None:
    assert exact("x", parse("string collate UTF8_LCASE")) == "CAST(x AS STRING)"
    assert canonical.exact_type(parse("array<string collate UTF8_LCASE>")) == parse("array<string>")


def test_doubles_are_rounded_wherever_they_are() -> None:
    assert rounded("x", INT, False) == "x"
    assert rounded("x", DOUBLE, False) == "format_string('%.11e', x + 0.0D)"
    assert rounded("x", Type("float"), False) == "format_string('%.5e', x + 0.0D)"
    assert rounded("x", parse("array<double>"), False) == (
        "transform(x, __pgt_x0 -> format_string('%.11e', __pgt_x0 + 0.0D))"
    )
    assert rounded("x", DOUBLE, True) != rounded("x", DOUBLE, False)


@pytest.mark.parametrize(
    ("text", "comparable"), [("variant", False), ("array<struct<v:variant>>", False), ("map<int,int>", True)]
)
def test_what_spark_cannot_group_is_said(text: str, comparable: bool) -> None:
    assert canonical.not_comparable(parse(text)) is not comparable


def test_a_comment_at_the_end_of_a_query_ends_there() -> None:
    text = compare.differing_rows("select 1 -- has", "select 1 -- should", [("n", INT)])
    assert all(line.rstrip().endswith(("-- has", "-- should")) for line in text.splitlines() if "-- " in line)


def test_only_doubles_are_compared_a_second_time() -> None:
    assert "format_string" not in compare.report("a", "b", [("n", INT)], 5)
    assert "format_string" in compare.report("a", "b", [("n", INT), ("d", DOUBLE)], 5)
