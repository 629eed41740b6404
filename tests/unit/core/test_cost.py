"""Full or differential, by what either took: fixtures/costs.yml, and that a wrong choice does not last."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from dbt_trickle.catalog.state import Experience, StreamTable
from dbt_trickle.plan.cost import Moved, begun, can_predict, choose, predicted_ms, remembered
from dbt_trickle.plan.decide import Decision, Work, predicted

CASES = yaml.safe_load((Path(__file__).parent / "fixtures" / "costs.yml").read_text(encoding="utf-8"))
KNOWN = StreamTable(1, "shop", "totals", "model.shop.totals", last_full_ms=10_000)
# Few rows; most of a small source; and what dbt does to the table of a model: nobody tells how many.
FEW, MOST, UNTOLD = Moved("shop.orders", 10, 1_000_000), Moved("shop.sizes", 4, 5), Moved("shop.products", None)
CHANGES = pytest.mark.parametrize("moved", [FEW, MOST, UNTOLD], ids=["few", "most", "untold"])


def experienced(state: StreamTable, *measured: tuple[int, int]) -> StreamTable:
    return replace(state, told=Experience(measured), untold=Experience(tuple((ms, 0) for ms, _ in measured)))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_choice(case: dict[str, Any]) -> None:
    moved = [Moved(**each) for each in case["moved"]]
    past = {k: Experience.from_row({"measured": (), **case.get(k, {})}) for k in ("told", "untold")}
    state = replace(KNOWN, last_full_ms=case.get("full_ms", KNOWN.last_full_ms), **past)
    choice = choose(state, moved, case.get("max_change_ratio", 0.15))
    assert (choice.differential, choice.reason) == (case["differential"], case["reason"])


def lived(
    state: StreamTable, *, differential_ms: int, full_ms: int, refreshes: int, moved: Moved | None = None
) -> list[bool]:
    """What was chosen, refresh by refresh, where both take as long as said and as many rows change each time."""
    found = []
    for _ in range(refreshes):
        choice = choose(state, [moved or FEW], 0.15)
        found.append(choice.differential)
        if not choice.differential:
            state = replace(state, last_full_ms=full_ms)
        state = remembered(state, choice, differential_ms)
    return found


SECONDS = st.integers(0, 10**7)


@CHANGES
@given(full_ms=SECONDS, believed=SECONDS, margin=SECONDS)
def test_a_wrong_choice_is_mended_within_three_refreshes(
    moved: Moved, full_ms: int, believed: int, margin: int
) -> None:
    """Whichever of the two is wrongly held to be cheaper, and if a full refresh saves no more than a second."""
    dear = round(full_ms * 1.26) + 1000 + margin
    held_cheap = experienced(replace(KNOWN, last_full_ms=full_ms), *((believed, 4),) * 3)
    chosen = lived(held_cheap, differential_ms=dear, full_ms=full_ms, refreshes=40, moved=moved)
    assert False in chosen[:4], "at most three were wrong"
    assert chosen.count(True) <= 7, "and but for ever rarer tries none is from then on"
    held_dear = experienced(replace(KNOWN, last_full_ms=believed), *((dear + believed, 4),) * 3)
    chosen = lived(held_dear, differential_ms=full_ms, full_ms=dear, refreshes=40, moved=moved)
    assert True in chosen[:3]
    assert chosen.count(False) <= 2


@CHANGES
@given(full_ms=SECONDS, margin=SECONDS)
def test_what_was_never_measured_is_found_out_as_well(moved: Moved, full_ms: int, margin: int) -> None:
    dear = round(full_ms * 1.26) + 1000 + margin
    chosen = lived(KNOWN, differential_ms=full_ms, full_ms=dear, refreshes=40, moved=moved)
    assert chosen.count(False) <= 2
    loaded = replace(KNOWN, last_full_ms=full_ms)
    chosen = lived(loaded, differential_ms=dear, full_ms=full_ms, refreshes=40, moved=moved)
    assert chosen.count(True) <= 8


@pytest.mark.parametrize(
    ("differential_ms", "full_ms", "moved", "differential"),
    [
        (1_000, 600_000, UNTOLD, 298),
        (1_000, 600_000, MOST, 298),
        (5_400, 500, FEW, 11),
        (5_400, 500, UNTOLD, 11),
        (1_400, 500, FEW, 300),
    ],
)
def test_of_300_refreshes(differential_ms: int, full_ms: int, moved: Moved, differential: int) -> None:
    chosen = lived(
        replace(KNOWN, last_full_ms=full_ms), differential_ms=differential_ms, full_ms=full_ms, refreshes=300,
        moved=moved,
    )  # fmt: skip
    assert chosen.count(True) == differential


def test_either_kind_is_tried_also_where_they_take_turns() -> None:
    state, found = KNOWN, []
    for number in range(20):
        moved = UNTOLD if number % 2 else FEW
        choice = choose(state, [moved], 0.15)
        found += [choice.differential] if moved is UNTOLD else []
        state = remembered(state, choice, 500)
    assert found == [False, False, *[True] * 8]


def test_one_slow_refresh_of_a_small_table_is_noise() -> None:
    """The first one of a process."""
    state = replace(KNOWN, last_full_ms=1_000)
    for took in (5_900, 1_500, 5_700, 5_500, 1_600, 5_200):
        choice = choose(state, [FEW], 0.15)
        assert choice.differential
        state = remembered(state, choice, took)


def test_what_is_dearer_is_tried_more_and_more_seldom() -> None:
    dear = experienced(replace(KNOWN, last_full_ms=1_000), *((60_000, 10),) * 3)
    chosen = lived(dear, differential_ms=60_000, full_ms=1_000, refreshes=200)
    tries = [number for number, differential in enumerate(chosen) if differential]
    assert tries == [2, 7, 16, 33, 66, 131, 196]


def test_a_try_that_was_right_is_not_outvoted_by_what_was_measured_before() -> None:
    chosen = lived(experienced(KNOWN, *((60_000, 10),) * 3), differential_ms=500, full_ms=10_000, refreshes=6)
    assert chosen == [False, False, True, True, True, True]


@CHANGES
def test_a_try_that_fails_is_not_made_again_at_once(moved: Moved) -> None:
    """Else what cannot be done in the memory there is would suspend a stream table that a full refresh serves."""
    state = experienced(replace(KNOWN, last_full_ms=1_000), *((60_000, 10),) * 3)
    for _ in range(2):
        state = remembered(state, choose(state, [moved], 0.15), 0)
    choice = choose(state, [moved], 0.15)
    assert choice.tried
    failed = begun(state, choice)
    assert [failed.told.patience, failed.untold.patience] == ([0, 4] if moved is UNTOLD else [4, 0])
    assert not choose(failed, [moved], 0.15).differential


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=3), st.integers(0, 10**7))
def test_a_prediction_is_no_less_for_more_rows(measured: list[tuple[int, int]], touched: int) -> None:
    assert 0 <= predicted_ms(measured, touched) <= predicted_ms(measured, touched + 1)


def test_what_is_not_told_is_predicted_by_its_like() -> None:
    told = replace(KNOWN, told=Experience(((100, 10),)))
    assert not can_predict(told, (Moved("a", None),))
    assert not can_predict(told, (Moved("a", 41),))
    assert can_predict(told, (Moved("a", 40),))
    untold = replace(KNOWN, untold=Experience(((100, 0),)))
    assert can_predict(untold, (Moved("a", None), Moved("b", 10**9)))
    assert not can_predict(untold, (Moved("a", 1),))
    assert not can_predict(replace(untold, last_full_ms=None), (Moved("a", None),))


def test_what_is_known_of_costs_is_stored() -> None:
    state = replace(KNOWN, told=Experience(((100, 10), (90, 3)), 1, 4), untold=Experience(((7, 0),)))
    assert StreamTable.from_row(state.to_row()) == state


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Decision("NO_DATA", "", Work.NOTHING), None),
        (Decision("SKIP", "", Work.NOTHING), None),
        (Decision("FULL", "", Work.OVERWRITE), 10_000),
        (Decision("ALTER", "", Work.LOAD), 10_000),
        (Decision("DIFFERENTIAL", "", Work.DELTA, changed={"shop.orders": 10}), 1_000),
        (Decision("DIFFERENTIAL", "", Work.DELTA, changed={"shop.orders": 10, "shop.customers": 10}), 2_000),
        (Decision("DIFFERENTIAL", "", Work.DELTA, changed={"shop.orders": None}), 700),
    ],
)
def test_what_a_decision_will_take(decision: Decision, expected: int | None) -> None:
    told = Experience(((1_000, 10), (2_000, 20)))
    assert predicted(replace(KNOWN, told=told, last_diff_ms=700), decision) == expected
    assert predicted(None, decision) is None


ROWS = 10_000_000


@given(
    fixed=st.integers(0, 30_000),
    per_row=st.floats(0, 0.1),
    full_ms=st.integers(1000, 60_000),
    sizes=st.lists(st.integers(1, ROWS), min_size=2, max_size=4),
    often=st.integers(1, 80),
)
@example(fixed=1500, per_row=0.02, full_ms=20_000, sizes=[3_000_000, 100], often=20)
def test_a_change_of_another_size_is_not_judged_by_those_before(
    fixed: int, per_row: float, full_ms: int, sizes: list[int], often: int
) -> None:
    """So many changes of one size, then of another: whatever was found out of the first, three are wrong at most."""
    state = replace(KNOWN, last_full_ms=full_ms)
    for touched in sizes:
        takes, wrong = round(fixed + per_row * touched), []
        clear = max(5000, 0.2 * takes, 0.2 * full_ms) < abs(takes - full_ms)
        for _ in range(often):
            choice = choose(state, [Moved("shop.orders", touched, ROWS)], 0.15)
            state = remembered(state, choice, takes)
            wrong.append(clear and choice.differential != (takes < full_ms))
        assert not any(all(wrong[at : at + 4]) for at in range(len(wrong) - 3)), (touched, takes, state.told)
        assert sum(wrong[4:]) <= 7, "but for ever rarer tries"
