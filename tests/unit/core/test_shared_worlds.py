"""Whatever is refreshed when, and whatever fails: a stream table is its query at one version of each table below."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from shared_worlds import Agreeing, Content, Lake, Query, recorded, run, unheeding, went_back

from dbt_trickle.run import sources, together


@pytest.fixture(autouse=True)
def _short_histories(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that branches have to be asked for older states."""
    monkeypatch.setattr(sources, "FIRST_LOOK", 2)
    monkeypatch.setattr(sources, "FURTHER", 2)


TABLES = ("s", "t")
Shape = list[tuple[frozenset[str], str]]
Step = tuple[Any, ...]


def weight(content: Content) -> int:
    return content if isinstance(content, int) else sum((n + 2) * weight(each) for n, each in enumerate(content))


# A stream table that stays as it was while its sources move is one that nothing was committed to.
MADE = {"all": tuple, "parity": lambda contents: weight(contents) % 2, "rest": lambda contents: weight(contents) % 3}


def queries(shape: Shape) -> dict[str, Query]:
    return {f"st{n}": Query(tuple(sorted(inputs)), MADE[made]) for n, (inputs, made) in enumerate(shape, start=1)}


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Few tables, so that much is shared, and chains."""
    found: Shape = []
    tables = TABLES[: draw(st.integers(1, 2))]
    for number in range(1, 6):
        known = [*tables, *(f"st{n}" for n in range(max(1, number - 3), number))]
        inputs = draw(st.frozensets(st.sampled_from(known), min_size=1 + (number > 3), max_size=3))
        found.append((inputs, draw(st.sampled_from([*MADE]))))
    return found


NAMES = st.sampled_from([f"st{n}" for n in range(1, 6)])
SELECTIONS = st.one_of(NAMES.map(lambda name: [name]), st.lists(NAMES, min_size=2, unique=True).map(sorted))
STEPS = st.one_of(
    st.tuples(st.just("written"), st.sampled_from(TABLES)),
    st.tuples(st.just("written"), st.sampled_from(TABLES)),
    st.tuples(st.sampled_from(["optimized", "replaced", "made"]), st.sampled_from(TABLES)),
    st.tuples(st.just("optimized"), NAMES),
    st.tuples(st.just("run"), SELECTIONS),
    st.tuples(st.just("run"), SELECTIONS),
    st.tuples(st.just("run"), st.just(["st1", "st2", "st3", "st4", "st5"])),
    st.tuples(st.sampled_from(["fails", "dies", "anew"]), NAMES),
    # Another run goes on meanwhile, with what it knew of the catalog when it began.
    st.tuples(st.sampled_from(["meanwhile", "fails meanwhile"]), NAMES),
    st.tuples(st.sampled_from(["the other ends", "the other dies"]), st.none()),
)
LIVES = st.tuples(shapes(), st.lists(STEPS, min_size=15, max_size=30))


def live(shape: Shape, steps: list[Step], agreeing: Agreeing) -> Iterator[Lake]:
    """After each step; at the end one run has refreshed all."""
    lake, other = Lake(queries(shape), agreeing), None
    for content, (what, of) in enumerate(steps, start=1):
        match what:
            case "written" | "replaced" if of in lake.seen:
                getattr(lake, what)(of, content)
            case "made" if of in lake.seen and other is None:  # a pin of a table that is dropped then is nobody's
                lake.made(of, content)
            case "optimized" if of in lake.seen or of in lake.queries:
                lake.optimized(of)
            case "run":
                run(lake, of)
            case "fails" | "anew":
                run(lake, [of], fails=what == "fails", anew=what == "anew")
            case "dies":
                lake.invocation().refresh(of)
            case "meanwhile" | "fails meanwhile":
                other = other or lake.invocation()
                other.refresh(of, fails=what == "fails meanwhile")
            case "the other ends" if other is not None:
                other.close()
                other = None
            case "the other dies":
                other = None
        yield lake
    run(lake, lake.queries)
    yield lake


@settings(max_examples=100)
@given(LIVES)
def test_each_is_its_query_at_one_version_of_each_table(life: tuple[Shape, list[Step]]) -> None:
    lake = Lake({})
    for lake in live(*life, together.agreeing):
        for name in lake.queries:
            if lake.storage(name) is not None:
                assert recorded(lake, name) == lake.content(name), name
    for name in lake.queries:
        assert lake.content(name) == lake.newest(name), f"{name} was left behind by a run of all"
    if not any(what.endswith("meanwhile") for what, _ in life[1]):  # a run that began before has older pins
        assert list(went_back(lake)) == []


def test_without_agreement_it_would_be_wrong() -> None:
    """Whatever versions one assumes of the tables below."""
    as_found = settings(phases=[Phase.generate], max_examples=2000, database=None)
    shape, steps = find(
        LIVES, lambda life: any(lake.wrong() for lake in live(*life, unheeding)), settings=as_found, random=Random(1)
    )
    assert not any(lake.wrong() for lake in live(shape, steps, together.agreeing))
