"""What reads a window: the SQL of the capture that was chosen, and of the question whether two agree."""

from __future__ import annotations

from dbt_trickle.capture.base import WEIGHT, Appended, Batches, LogFacts, Window, netted, weighted
from dbt_trickle.capture.choose import Chosen
from dbt_trickle.capture.difference import Difference
from dbt_trickle.capture.feed import Feed
from dbt_trickle.capture.log import Log
from dbt_trickle.capture.staged import ByTable
from dbt_trickle.errors import TrickleBug
from dbt_trickle.names import quote


def changes(chosen: Chosen, facts: LogFacts) -> str:
    match chosen.capture:
        case "feed":
            return Feed().changes(facts.window)
        case "difference":
            return Difference().changes(facts.window)
        case "staged" if isinstance(facts.staged, Batches):
            return ByTable(facts.staged).changes(facts.window)
        case "log" if isinstance(facts.log, Appended):
            return Log(facts.log).changes(facts.window)
        case other:
            raise TrickleBug(f"{other} was chosen and its facts were not gathered")


def disagreement(window: Window, one: str, other: str) -> str:
    """A row where two captures of one window are different bags, none where they are the same."""
    rows = [
        weighted(window, f"(\n{changes}\n)", f"{sign}{quote(WEIGHT)}") for sign, changes in (("", one), ("-", other))
    ]
    differing = netted(window, "\nUNION ALL\n".join(rows))
    return f"SELECT 1 AS differs FROM (\n{differing}\n) LIMIT 1"
