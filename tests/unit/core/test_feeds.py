"""A change feed that was asked for by name, and does not hold what changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbt_trickle.config import StreamTableConfig
from dbt_trickle.errors import ModelError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan.decide import Decision, Work
from dbt_trickle.run import feeds

ORDERS = SourceVersion("shop.orders", "TABLE", "shop.orders", "id", 9, "then")
TOTALS = SourceVersion("pgt_5", "STREAM_TABLE", "shop.totals", "changes.st_5_g1", 9, "then")
OFF = "cdc_mode is feed; its change feed is off"


def here(refresh_mode: str) -> Any:
    return SimpleNamespace(request=SimpleNamespace(config=StreamTableConfig(refresh_mode=refresh_mode)))


def test_it_is_recomputed_with_the_reason() -> None:
    found = feeds.stopped(here("auto"), ORDERS, OFF)
    assert found == Decision("FULL", f"shop.orders: {OFF}", Work.OVERWRITE)


@pytest.mark.parametrize(
    ("source", "switch"),
    [
        (ORDERS, "ALTER TABLE shop.orders SET TBLPROPERTIES (delta.enableChangeDataFeed = true)"),
        (TOTALS, "give that stream table `tblproperties: {delta.enableChangeDataFeed: true}`"),
    ],
)
def test_where_that_is_forbidden_it_is_an_error_that_says_what_helps(source: SourceVersion, switch: str) -> None:
    with pytest.raises(ModelError) as raised:
        feeds.stopped(here("differential"), source, OFF)
    assert (raised.value.code, raised.value.what) == ("TRK-214", f"{source.relation}: {OFF}")
    for text in (switch, "`cdc_mode: auto`", "--full-refresh"):
        assert text in raised.value.remedy


@pytest.mark.parametrize(
    ("before", "asked", "is_off"),
    [
        (None, False, True),
        ({}, False, True),
        ({"shop.orders": ORDERS}, False, False),
        ({"shop.orders": ORDERS}, True, True),
    ],
    ids=["a new stream table", "a new source of it", "it stands where it stood", "it moved"],
)
def test_a_source_that_stands_still_for_another_stream_table_is_asked(
    monkeypatch: pytest.MonkeyPatch, before: Any, asked: bool, is_off: bool
) -> None:
    """Which of two runs first must not decide whether the feed that was allowed is switched on."""
    monkeypatch.setattr(feeds, "_facts", lambda *_: SimpleNamespace(feed=False))
    state = SimpleNamespace(frontier=before) if before is not None else None
    pinned = SimpleNamespace(tables={"shop.orders": None} if asked else {})
    assert feeds._is_off(SimpleNamespace(before=state, pinned=pinned), "shop.orders", ORDERS) == is_off  # type: ignore[arg-type]
