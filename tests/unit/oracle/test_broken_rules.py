"""The oracle can fail: each rule, broken in the way that is nearest to hand, is found out.

As a wrong result, or as the product's own error for what is stored and should not be; statements that do not even
run would prove nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from breaking import Broken, find_out, instead_of, last, new_twice, text
from lake import Lake

from dbt_trickle.apply import bag, groups
from dbt_trickle.capture import feed
from dbt_trickle.capture.base import WEIGHT
from dbt_trickle.delta import rules
from dbt_trickle.delta.aggregate import functions, state
from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import Filter, InnerJoin, Project, Scan

_W = quote(WEIGHT)


def only_new(rows: str) -> str:
    return rows if "VERSION AS OF 1" in rows else f"SELECT * FROM (\n{rows}\n) WHERE false"


BROKEN = (
    Broken(
        "a scan takes what goes for what comes",
        "project",
        rule=(Scan, last(lambda s: s.replace(_W, f"abs({_W}) AS {_W}"))),
    ),
    Broken("a filter lets all pass", "filter", rule=(Filter, last(lambda s: s.split("\nWHERE ")[0]))),
    Broken(
        "a projection loses copies",
        "project",
        rule=(Project, last(lambda s: s.replace("SELECT", "SELECT DISTINCT", 1))),
    ),
    Broken("a join without its second term", "join", rule=(InnerJoin, last(lambda s: s.split("\nUNION ALL\n")[0]))),
    Broken("a join with the new state in both terms", "join", rule=(InnerJoin, new_twice)),
    Broken("a cross join with the new state in both terms", "cross join", rule=(InnerJoin, new_twice)),
    Broken("groups as they were are forgotten", "groups, keys hidden", text(rules, "groups", only_new)),
    Broken(
        "groups are found by rows that came", "having", text(rules, "touched_keys", lambda s: f"{s}\nWHERE {_W} > 0")
    ),
    Broken("NULL is no group", "having", text(rules, "groups", lambda s: s.replace("<=>", "="))),
    Broken(
        "NULLs are counted", "groups", instead_of(functions, "_COUNT", replace(functions._COUNT, of_changes="SUM({w})"))
    ),
    Broken(
        "what is stored of a group is not added",
        "groups",
        text(state, "brought_forward", lambda s: s.replace("coalesce(t.", "0 * coalesce(t.")),
    ),
    Broken(
        "stored groups are found by their row id alone",
        "groups",
        text(state, "brought_forward", lambda s: re.sub(" AND t.`[^`]+` <=> d.`[^`]+`", "", s)),
    ),
    Broken("an empty group stays", "groups", text(state, "gone", lambda _: "false")),
    Broken("HAVING lets all pass", "having", instead_of(groups, "_kept", lambda _, rows: rows)),
    Broken("of like rows all go", "project", text(bag, "_copies", lambda s: s.replace("'come'", "'none'", 1))),
    Broken("rows are found by their row id alone", "filter", instead_of(bag, "all_equal", lambda *_: ["true"])),
    Broken(
        "what an update replaced stays",
        "project",
        text(feed, "_WEIGHT", lambda s: s.replace("'update_preimage' THEN -1L", "'update_preimage' THEN 0L")),
    ),
)


@pytest.mark.parametrize("this", BROKEN, ids=[this.about for this in BROKEN])
def test_what_is_broken_is_found_out(lake: Lake, this: Broken) -> None:
    find_out(lake, this)
