"""Whatever is refreshed when, and whatever fails: readers of an atomic diamond see one moment of it."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from published_worlds import Lake, run
from test_shared_worlds import SELECTIONS, TABLES, Shape, queries, shapes

from dbt_trickle.run import held_back


@pytest.fixture(autouse=True)
def _soon_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that a reader may stay with: it gets a commit of today, mostly."""
    monkeypatch.setattr(held_back, "FRESH", timedelta(seconds=5))


Step = tuple[Any, ...]
NAMES = ["st1", "st2", "st3", "st4", "st5"]
FAILING = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 5), max_size=2)
STEPS = st.one_of(
    st.tuples(st.just("written"), st.sampled_from(TABLES)),
    st.tuples(st.just("written"), st.sampled_from(TABLES)),
    st.tuples(st.just("optimized"), st.sampled_from([*TABLES, *NAMES])),
    st.tuples(st.just("run"), SELECTIONS, FAILING),
    st.tuples(st.just("run"), st.just(NAMES), FAILING),
    st.tuples(st.just("dies"), SELECTIONS, FAILING),
    st.tuples(st.just("dies"), st.just(NAMES), FAILING),
    st.tuples(st.just("anew"), SELECTIONS, FAILING),
    # Another run goes on meanwhile, with what it knew of the catalog when it began.
    st.tuples(st.just("meanwhile"), st.sampled_from(NAMES)),
    st.tuples(st.just("the other ends"), st.none()),
)
LIVES = st.tuples(shapes(), st.lists(STEPS, min_size=8, max_size=16))


def live(shape: Shape, steps: list[Step], consistency: str) -> Lake:
    """All is loaded first: of what was never there is nothing older to show."""
    lake, other = Lake(queries(shape), consistency=consistency), None
    run(lake, NAMES, {})
    for content, (what, of, *failing) in enumerate(steps, start=1):
        match what:
            case "written" if of in lake.seen:
                lake.written(of, content)
            case "optimized" if of in lake.seen or of in lake.queries:
                lake.optimized(of)
            case "run" | "dies" | "anew":
                run(lake, of, failing[0], dies=what == "dies", anew=what == "anew")
            case "meanwhile":
                other = other or lake.invocation()
                other.refresh(of)
                other.release(())
            case "the other ends" if other is not None:
                other.close()
                other = None
    return lake


@settings(max_examples=100)
@given(LIVES)
def test_readers_see_one_moment_of_an_atomic_diamond(life: tuple[Shape, list[Step]]) -> None:
    lake = live(*life, "atomic")
    assert lake.torn == []
    run(lake, NAMES, {})
    assert lake.torn == []
    assert [name for name in NAMES if lake.shown(name) != lake.newest(name)] == [], "held back by a run of all"
    assert [name for name, text in lake.views.items() if "VERSION" in text] == []
    assert [state.pgt_name for state in lake.catalog.values() if state.held_back is not None] == []


def test_without_it_they_would_not() -> None:
    as_found = settings(phases=[Phase.generate], max_examples=2000, database=None)
    shape, steps = find(LIVES, lambda life: bool(live(*life, "none").torn), settings=as_found, random=Random(1))
    assert live(shape, steps, "atomic").torn == []
