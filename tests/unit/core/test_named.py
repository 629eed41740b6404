"""Whether a selection asks for a model itself, as dbt's `--select` has it."""

from __future__ import annotations

import pytest

from dbt_trickle.run.request import is_named


@pytest.mark.parametrize(
    "selector",
    [
        "orders_2024", "+orders_2024", "2+orders_2024+1", "@orders_2024", "other orders_2024", "orders_2024,tag:x",
        "shop.orders_2024", "fqn:shop.marts.orders_2024", "shop.marts.orders_2024+", "model.shop.orders_2024",
    ],
)  # fmt: skip
def test_it_is(selector: str) -> None:
    assert is_named("model.shop.orders_2024", [selector])


@pytest.mark.parametrize("selector", ["orders", "+orders2", "orders_202", "tag:orders_2024", "other.orders_2024", ""])
def test_it_is_not(selector: str) -> None:
    assert not is_named("model.shop.orders_2024", [selector])


def test_a_version() -> None:
    assert is_named("model.shop.orders.v2", ["orders.v2"])
    assert is_named("model.shop.orders.v2", ["+orders"])
    assert not is_named("model.shop.orders.v2", ["orders.v1"])
