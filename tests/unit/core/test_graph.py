"""Order, cycles and diamonds of what reads what."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt_trickle.plan.graph import Diamond, components, cycles, diamonds, levels


def graph(text: str) -> dict[str, frozenset[str]]:
    """`a < s t; b < a`: a reads s and t, b reads a."""
    lines = (line.split("<") for line in text.split(";") if line.strip())
    return {name.strip(): frozenset(inputs.split()) for name, inputs in lines}


DIAMONDS = {
    "none in a chain": ("a < s; b < a; c < b", []),
    "none in a fan-out": ("a < s; b < s; c < a", []),
    "none without anything shared": ("a < s; b < t; c < a b", []),
    "two branches": ("a < s; b < s; c < a b", [Diamond(("s",), ("a", "b", "c"), ("c",))]),
    "a table read directly too": ("a < s; c < a s", [Diamond(("s",), ("a", "c"), ("c",))]),
    "behind a stream table": ("r < s; a < r; b < r; c < a b", [Diamond(("r",), ("a", "b", "c"), ("c",))]),
    "branches of other lengths": ("a < s; d < a; b < s; c < d b", [Diamond(("s",), ("a", "b", "c", "d"), ("c",))]),
    "what is on one branch only is no member": (
        "x < t; a < s x; b < s; c < a b",
        [Diamond(("s",), ("a", "b", "c"), ("c",))],
    ),
    "two of one branch": (
        "a < s; b < s; c < a b; d < a b",
        [Diamond(("s",), ("a", "b", "c", "d"), ("c", "d"))],
    ),
    "one behind the other": (
        "a < s; b < s; c < a b; d < c; e < c; f < d e",
        [Diamond(("s",), ("a", "b", "c"), ("c",)), Diamond(("c",), ("d", "e", "f"), ("f",))],
    ),
    "two apart": (
        "a < s; b < a s; c < t; d < c t",
        [Diamond(("s",), ("a", "b"), ("b",)), Diamond(("t",), ("c", "d"), ("d",))],
    ),
}


@pytest.mark.parametrize("case", DIAMONDS)
def test_diamonds(case: str) -> None:
    text, expected = DIAMONDS[case]
    assert list(diamonds(graph(text))) == expected


def test_cycles() -> None:
    assert cycles(graph("a < s; b < a")) == ()
    assert cycles(graph("a < s b; b < c; c < a; d < c; e < e")) == (("a", "b", "c"), ("e",))


def test_levels() -> None:
    assert levels(graph("a < s; b < a s; c < b a; d < t")) == {"a": 1, "b": 2, "c": 3, "d": 1}


def test_a_chain_may_be_long() -> None:
    chain = {f"t{n}": frozenset([f"t{n - 1}"] if n else ["s"]) for n in range(5000)}
    assert levels(chain)["t4999"] == 5000


NAMES = "abcdefg"
GRAPHS = st.dictionaries(st.sampled_from(NAMES), st.frozensets(st.sampled_from(NAMES + "xy"), max_size=3))


def reached(reads: Mapping[str, frozenset[str]], name: str) -> set[str]:
    found: set[str] = set()
    ahead = [name]
    while ahead:
        for each in reads.get(ahead.pop(), frozenset()) - found:
            found.add(each)
            ahead.append(each)
    return found


@given(GRAPHS)
def test_components_are_what_reach_each_other_and_come_after_what_they_read(reads: dict[str, frozenset[str]]) -> None:
    found = components(reads)
    assert sorted(name for each in found for name in each) == sorted(reads)
    place = {name: number for number, each in enumerate(found) for name in each}
    for name in reads:
        for other in reached(reads, name) & reads.keys():
            assert place[other] <= place[name]
            assert (place[other] == place[name]) == (name == other or name in reached(reads, other))


@given(GRAPHS.map(lambda reads: {name: frozenset(filter(name.__lt__, inputs)) for name, inputs in reads.items()}))
def test_where_branches_meet_a_diamond_says_so(reads: dict[str, frozenset[str]]) -> None:
    converging = {name for each in diamonds(reads) for name in each.converges}
    for name, inputs in reads.items():
        below = [reached(reads, each) | {each} for each in inputs]
        meets = any(one & other for at, one in enumerate(below) for other in below[at + 1 :])
        assert (name in converging) == meets
