"""A full refresh that writes what differs, broken in the ways that are nearest to hand, is found out as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from breaking import STATE_IS_NOT_COMPARED, Breaks, Broken, few_says, find_out, instead_of
from checked import check_whole
from lake import Lake

from dbt_trickle.apply import stored, whole
from dbt_trickle.apply.base import GONE, WAS
from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta.context import Cte, Delta
from dbt_trickle.names import quote

_W, _GONE = quote(WEIGHT), quote(GONE)


def differing(old: str, new: str) -> Breaks:
    was: Callable[..., Delta] = whole.differing

    def instead(*arguments: Any) -> Delta:
        found = was(*arguments)
        (cte,) = found.ctes
        if old not in cte.sql:
            raise LookupError(f"{old!r} is not in\n{cte.sql}")
        return Delta((Cte(cte.name, cte.sql.replace(old, new)),))

    return instead_of(whole, "differing", instead)


BROKEN = (
    Broken("what is stored does not go", "filter", differing("CAST(-1 AS", "CAST(0 AS")),
    Broken("what is there now does not come", "filter", differing("CAST(1 AS", "CAST(0 AS")),
    Broken("copies are not counted", "filter", differing(f"SUM({_W})", f"MAX({_W})")),
    Broken("what only came is passed over", "filter", differing("<> 0", "< 0")),
    Broken("what only went is passed over", "groups", differing("<> 0", "> 0")),
    Broken(
        "the state of groups is not compared",
        "groups",
        STATE_IS_NOT_COMPARED,
    ),
    Broken("rows without ids are found by another one", "filter", instead_of(stored.Stored, "id_of", lambda *_: "7")),
    Broken("many rows: what comes is not counted", "filter", few_says("bag", "numbers", f"greatest({_W}, 0)", "0")),
    Broken(
        "many keys: what comes is not counted", "groups", few_says("keyed", "numbers", f"NOT {quote(GONE)}", "NULL")
    ),
    Broken("many keys: what goes is not counted", "groups", few_says("keyed", "numbers", quote(WAS), "NULL")),
)


@pytest.mark.parametrize("this", [replace(each, check=check_whole) for each in BROKEN], ids=[b.about for b in BROKEN])
def test_what_is_broken_is_found_out(lake: Lake, this: Broken) -> None:
    find_out(lake, this)
