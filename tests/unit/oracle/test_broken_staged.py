"""Staging what changes, broken in the ways that are nearest to hand, is found out as well."""

from __future__ import annotations

from dataclasses import replace

import pytest
from breaking import Broken, find_out, instead_of, text
from checked import check_staged
from lake import Lake

from dbt_trickle.apply import choose, groups, staged
from dbt_trickle.delta.context import Cte, Delta
from dbt_trickle.formats.delta import at_version

WAS = "LEFT SEMI JOIN"


def what_is_stored_stays(*arguments: object) -> Delta:
    """As if no group had been there before."""
    *before, last = groups.forwarded(*arguments).ctes  # type: ignore[arg-type]
    assert WAS in last.sql
    return Delta((*before, Cte(last.name, last.sql.replace(WAS, "LEFT ANTI JOIN"))))


BROKEN = (
    Broken(
        "what a dead run has staged is read, too",
        "filter",
        instead_of(staged, "those_of", lambda table, version, _: at_version(table.sql, version)),
    ),
    Broken("copies are staged once", "filter", text(staged, "exploded", lambda _: "")),
    Broken("what goes is staged as what comes", "filter", instead_of(staged, "WENT", staged.CAME)),
    Broken("what goes is brought in as what comes", "groups", text(staged, "sign", lambda _: "1L")),
    Broken("the groups that are stored do not go", "groups", instead_of(choose, "forwarded", what_is_stored_stays)),
)


@pytest.mark.parametrize("this", [replace(each, check=check_staged) for each in BROKEN], ids=[b.about for b in BROKEN])
def test_what_is_broken_is_found_out(lake: Lake, this: Broken) -> None:
    find_out(lake, this)
