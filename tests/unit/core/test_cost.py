"""Full or differential, by what either took: fixtures/costs.yml, and that a wrong choice does not last."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.plan.cost import Moved, can_predict, choose, predicted_ms, remembered

CASES = yaml.safe_load((Path(__file__).parent / "fixtures" / "costs.yml").read_text(encoding="utf-8"))
KNOWN = StreamTable(1, "shop", "totals", "model.shop.totals", last_full_ms=10_000)
FEW = (Moved("shop.orders", 10, 1_000_000),)


def state_of(case: dict[str, Any]) -> StreamTable:
    given = dict(case.get("state", {}))
    given["measured"] = tuple(tuple(each) for each in given.get("measured", ()))
    return replace(KNOWN, **given)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_choice(case: dict[str, Any]) -> None:
    moved = [Moved(**each) for each in case["moved"]]
    choice = choose(state_of(case), moved, case.get("max_change_ratio", 0.15))
    assert (choice.differential, choice.reason) == (case["differential"], case["reason"])


def lived(state: StreamTable, *, differential_ms: int, full_ms: int, refreshes: int) -> list[bool]:
    """What was chosen, refresh by refresh, where both take as long as said and ten rows change each time."""
    found = []
    for _ in range(refreshes):
        choice = choose(state, FEW, 0.15)
        found.append(choice.differential)
        if not choice.differential:
            state = replace(state, last_full_ms=full_ms)
        state = remembered(state, choice, differential_ms)
    return found


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_a_wrong_choice_is_mended_within_three_refreshes(full_ms: int, believed: int, margin: int) -> None:
    """Whichever of the two is wrongly held to be cheaper."""
    dear = round(full_ms * 1.3) + 6000 + margin
    cheap_differential = replace(KNOWN, last_full_ms=full_ms, measured=((believed, 10),) * 3)
    assert lived(cheap_differential, differential_ms=dear, full_ms=full_ms, refreshes=3).count(False) >= 1
    dear_differential = replace(KNOWN, last_full_ms=believed, measured=((dear + believed, 10),) * 3)
    assert lived(dear_differential, differential_ms=full_ms, full_ms=dear, refreshes=3).count(True) >= 1


def test_what_is_dearer_is_tried_more_and_more_seldom() -> None:
    dear = replace(KNOWN, last_full_ms=1_000, measured=((60_000, 10),) * 3)
    chosen = lived(dear, differential_ms=60_000, full_ms=1_000, refreshes=200)
    tries = [number for number, differential in enumerate(chosen) if differential]
    assert tries == [2, 7, 16, 33, 66, 131, 196]


def test_a_try_that_was_right_is_not_outvoted_by_what_was_measured_before() -> None:
    chosen = lived(replace(KNOWN, measured=((60_000, 10),) * 3), differential_ms=500, full_ms=10_000, refreshes=6)
    assert chosen == [False, False, True, True, True, True]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=3), st.integers(0, 10**7))
def test_a_prediction_is_no_less_for_more_rows(measured: list[tuple[int, int]], touched: int) -> None:
    assert 0 <= predicted_ms(measured, touched) <= predicted_ms(measured, touched + 1)


def test_what_is_not_told_is_not_predicted() -> None:
    assert not can_predict(replace(KNOWN, measured=((100, 10),)), (Moved("a", None),))
    assert not can_predict(replace(KNOWN, measured=((100, 10),)), (Moved("a", 41),))
    assert can_predict(replace(KNOWN, measured=((100, 10),)), (Moved("a", 40),))
