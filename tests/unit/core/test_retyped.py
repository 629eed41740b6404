"""Which changes of a column's type are told of."""

from __future__ import annotations

import pytest

from dbt_trickle.catalog.state import Column
from dbt_trickle.plan.retyped import incompatibly


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name, kind, name) for name, kind in types.items())


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("int", "int"),
        ("int", "bigint"),
        ("tinyint", "int"),
        ("smallint", "float"),
        ("int", "double"),
        ("float", "double"),
        ("int", "decimal(10,0)"),
        ("bigint", "decimal(22,2)"),
        ("decimal(10,2)", "decimal(12,4)"),
    ],
)
def test_no_value_loses_anything(was: str, now: str) -> None:
    assert incompatibly(columns(a=was), columns(a=now)) == ()


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("int", "string"),
        ("bigint", "int"),
        ("bigint", "double"),
        ("int", "float"),
        ("double", "float"),
        ("int", "decimal(10,1)"),
        ("decimal(10,0)", "bigint"),
        ("decimal(10,2)", "decimal(12,1)"),
        ("decimal(10,2)", "decimal(10,3)"),
        ("decimal(10,2)", "double"),
        ("date", "timestamp"),
        ("array<int>", "array<bigint>"),
    ],
)
def test_values_are_something_else(was: str, now: str) -> None:
    assert incompatibly(columns(a=was), columns(a=now)) == (f"a was {was} and is {now}",)


def test_columns_are_told_apart_by_their_names() -> None:
    before, now = columns(A="int", b="int", gone="int"), columns(b="string", new="string", a="int")
    assert incompatibly(before, now) == ("b was int and is string",)
