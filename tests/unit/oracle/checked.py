"""What must hold of every case, and how many are tried.

Q(old) ⊎ ΔQ = Q(new)     the delta, summed up, is what came and what went
stored = Q(new)          what was stored, refreshed by the one statement, is what the query gives
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings
from kept import Case, Kept
from lake import History, Lake
from spark_in_duckdb import Bag

# The same examples on every run, unless somebody asks for more of them.
TIMES = int(os.environ.get("TRICKLE_ORACLE_TIMES", "1"))
HISTORIES = 3  # of each query


def tried(queries: int, *, shrinks: bool = True) -> settings:
    """Time counts for nothing: a busy machine must not fail a test. Nor is a failure explained, which takes minutes."""
    return settings(
        max_examples=queries * TIMES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
    )


def check(lake: Lake, case: Case) -> None:
    kept = Kept(lake, case)
    for history in case.histories:
        kept.load(history)
        before = kept.query(0)
        changes = kept.delta(0)
        now = kept.query(1)
        before.update(changes)
        assert_same(_without_zeros(before), now, f"by a delta of {dict(changes)}", case, history)
        statement = kept.refreshed(history, 0)
        assert_same(kept.rows(), now, f"after\n{statement}", case, history)


def content(lake: Lake, case: Case) -> list[Bag]:
    """What is stored at the end of each history, however many refreshes it takes."""
    kept = Kept(lake, case)
    found = []
    for history in case.histories:
        kept.load(history)
        for number in range(len(history.windows)):
            kept.refreshed(history, number)
        found.append(kept.rows())
    return found


def assert_same(found: Bag, due: Bag, how: str, case: Case, history: History) -> None:
    if found != due:
        raise AssertionError(f"{case}\n\n{how}\nof\n{history}\nsurplus {found - due}, missing {due - found}")


def _without_zeros(bag: Bag) -> Bag:
    """Counts beneath zero stay: no bag has them."""
    return Bag({row: count for row, count in bag.items() if count})
