"""What must hold of every case, and how many are tried.

Q(old) ⊎ ΔQ = Q(new)     the delta, summed up, is what came and what went
stored = Q(new)          what was stored, refreshed by the one statement, is what the query gives
came, went               where the product tells them before: what the query gives more, and less
"""

from __future__ import annotations

import os

import duckdb
from hypothesis import HealthCheck, Phase, reject, settings
from kept import Case, Kept
from lake import History, Lake
from spark_in_duckdb import Bag

from dbt_trickle.apply import few
from dbt_trickle.apply.top import INCOMPLETE
from dbt_trickle.tree.unsupported import Unsupported

# The same examples on every run, unless somebody asks for more of them.
TIMES = int(os.environ.get("TRICKLE_ORACLE_TIMES", "1"))
HISTORIES = 2  # of each query
# Operators of the grammar that are not maintained in one query.
REFUSED = "in a query with a correlated scalar subquery"
TOLD = ("[TRK-310]", "[TRK-311]")  # what is stored is not what it should be


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


def _kept(lake: Lake, case: Case) -> Kept:
    try:
        return Kept(lake, case)
    except Unsupported as problem:
        if REFUSED in problem.reason:
            reject()
        raise


def check(lake: Lake, case: Case) -> None:
    kept = _kept(lake, case)
    for history in case.histories:
        kept.load(history)
        was = kept.query(0)
        now = kept.query(1)
        if not kept.is_first_rows:
            changes = kept.delta(0)
            summed = was.copy()
            summed.update(changes)
            assert_same(_without_zeros(summed), now, f"by a delta of {dict(changes)}", case, history)
        try:
            done = kept.refreshed(history, 0)
        except duckdb.Error as problem:
            if INCOMPLETE not in str(problem):
                raise
            continue  # the product recomputes then
        how = f"after\n{done.statement}"
        assert_same(kept.rows(), now, how, case, history)
        if done.few:
            assert_same(kept.stored(), kept.anew(1), how, case, history)
        if done.moved is not None:
            old, new = kept.anew(0), kept.anew(1)  # also by what is not shown
            assert done.moved == ((new - old).total(), (old - new).total()), f"{case}\n\n{how}\nof\n{history}"


def check_twice(lake: Lake, case: Case) -> None:
    """Wherever a row is to go that went, or to come that is there, the product's own error says so."""
    kept = _kept(lake, case)
    for history in case.histories:
        kept.load(history)
        due = kept.twice_is_wrong(kept.anew(0), kept.anew(1))
        done = kept.refreshed(history, 0)
        kept.turn()  # the same way once more
        try:
            kept.refreshed(history, 0)
        except duckdb.Error as problem:
            if not any(code in str(problem) for code in TOLD):
                raise
            told = True
        else:
            told = False
        assert told or not due, f"{case}\n\nnot told after\n{done.statement}\nof\n{history}"


def check_whole(lake: Lake, case: Case) -> None:
    """Computed anew and written where it differs, in each way: as after a load, and counted to the row."""
    kept = _kept(lake, case)
    for history in case.histories:
        for bare in (False, True):
            for most in (few.MOST, 0):
                if bare:
                    stored = kept.load_bare(history)
                else:
                    stored = kept.shape
                    kept.load(history)
                was = kept.stored()
                done = kept.differed(stored, most)
                due = kept.anew(1) if not bare else kept.query(1)
                assert_same(kept.stored(), due, f"after\n{done.statement}", case, history)
                moved = ((due - was).total(), (was - due).total())
                assert done.moved == moved, f"{case}\n\nafter\n{done.statement}\nof\n{history}"


def check_staged(lake: Lake, case: Case) -> None:
    """By way of a table: as after a load, and what was staged is what came and what went of all that is stored."""
    kept = _kept(lake, case)
    for history in case.histories:
        for most in (few.MOST, 0):
            kept.load(history)
            was = kept.stored()
            try:
                done = kept.by_table(history, most)
            except duckdb.Error as problem:
                if INCOMPLETE not in str(problem):
                    raise
                continue
            if done is None:
                continue
            _assert_staged(kept, was, done.statement, case, history)
            assert_same(kept.stored(), kept.anew(1), f"after\n{done.statement}", case, history)
            stored = kept.load_bare(history)
            was = kept.stored()
            done = kept.differed_by_table(stored, most)
            _assert_staged(kept, was, done.statement, case, history)
            assert_same(kept.stored(), kept.query(1), f"after\n{done.statement}", case, history)


def _assert_staged(kept: Kept, was: Bag, statement: str, case: Case, history: History) -> None:
    summed, staged = was.copy(), kept.staged()
    summed.update(staged)
    assert_same(_without_zeros(summed), kept.stored(), f"by staging {dict(staged)} with\n{statement}", case, history)


def content(lake: Lake, case: Case) -> list[Bag]:
    """What is stored at the end of each history, however many refreshes it takes."""
    kept = _kept(lake, case)
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
