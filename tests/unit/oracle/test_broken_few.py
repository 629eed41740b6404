"""A change of few rows, broken in the ways that are nearest to hand, is found out as well (see test_broken_rules)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from breaking import Breaks, Broken, few_says, find_out, instead_of
from checked import check_twice
from lake import Lake
from random_cases import MOST_ROWS

from dbt_trickle.apply import few
from dbt_trickle.apply.base import GONE, NOT_STORED, WAS
from dbt_trickle.apply.few import IDS
from dbt_trickle.apply.shape import SAME_KEY
from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta.aggregate import state
from dbt_trickle.names import quote

_W, _GONE, _WAS = quote(WEIGHT), quote(GONE), quote(WAS)
_COME, _GO = f"greatest({_W}, 0)", f"greatest(-{_W}, 0)"
_WHOLE = "\nLIMIT"


def statement(way: str, old: str, new: str) -> Breaks:
    return few_says(way, "sql", old, new)


def question(way: str, old: str, new: str) -> Breaks:
    return few_says(way, "touched", old, new)


def without(name: str, word: str) -> Breaks:
    """A function of kept state is called without a word that it should be called with."""
    was: Callable[..., str] = getattr(state, name)

    def instead(*arguments: Any, **words: Any) -> str:
        return was(*arguments, **{**words, word: False})

    return instead_of(state, name, instead)


BROKEN = (
    Broken("keys: others of their ids go", "groups", statement("keyed", "FULL OUTER", "LEFT"), least=MOST_ROWS),
    Broken("keys: new ones do not come", "groups", statement("keyed", "FULL OUTER", "RIGHT")),
    Broken("keys: what went stays", "groups", statement("keyed", f"ELSE NOT s.{_GONE}", "ELSE true")),
    Broken("keys: found by their row id alone", "groups", instead_of(few, "all_equal", lambda *_: [])),
    Broken("keys: what went is not asked for", "groups", question("keyed", _WHOLE, f"\nWHERE NOT {_GONE}{_WHOLE}")),
    Broken("keys: what comes is not counted", "groups", question("keyed", f"CAST(NOT {_GONE} AS", "CAST(false AS")),
    Broken("keys: what goes is not counted", "groups", question("keyed", f"CAST({_WAS} AS", "CAST(false AS")),
    Broken(
        "keys: one that is not stored is not missed",
        "groups",
        statement("keyed", f"CAST(raise_error('{NOT_STORED}') AS BOOLEAN)", "false"),
        check=check_twice,
    ),
    Broken(
        "keys: one that is stored comes",
        "groups",
        statement("keyed", f"CAST(raise_error('{SAME_KEY}') AS BOOLEAN)", "true"),
        check=check_twice,
    ),
    Broken("bag: what is stored is forgotten", "filter", statement("bag", f"{IDS}))", f"{IDS}) AND false)")),
    Broken("bag: copies are lost", "filter", statement("bag", f"SUM({_W})", f"sign(SUM({_W}))")),
    Broken("bag: what went is not asked for", "filter", question("bag", _WHOLE, f"\nWHERE {_W} > 0{_WHOLE}")),
    Broken(
        "bag: copies that come are not counted",
        "filter",
        question("bag", _COME, f"least({_COME}, 1)"),
    ),
    Broken(
        "bag: copies that go are not counted",
        "filter",
        question("bag", _GO, f"least({_GO}, 1)"),
    ),
    Broken(
        "bag: one that is not stored is not missed",
        "filter",
        statement("bag", f"raise_error('{NOT_STORED}')", "0"),
        check=check_twice,
    ),
    Broken("groups: others of their ids go", "groups", without("brought_forward", "with_stored"), least=MOST_ROWS),
    Broken("groups: what went stays", "groups", statement("groups", f"WHERE NOT {_GONE}", "")),
    Broken("groups: what is stored is not added", "groups", statement("groups", "coalesce(t.", "0 * coalesce(t.")),
    Broken(
        "groups: more may leave one than were in it",
        "groups",
        statement("groups", f"raise_error('{state.TOO_FEW}')", "true"),
        check=check_twice,
    ),
)


@pytest.mark.parametrize("this", BROKEN, ids=[this.about for this in BROKEN])
def test_what_is_broken_is_found_out(lake: Lake, this: Broken) -> None:
    find_out(lake, this)
