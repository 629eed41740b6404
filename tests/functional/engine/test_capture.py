"""On Spark: whatever happened to a table, each capture that may be chosen says what Python says of its rows."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import turns
from engine_world import embedded_sessions

pytest.register_assert_rewrite("capture_history", "capture_looked")

from capture_history import ALWAYS, COLUMNS, History  # noqa: E402 (its assertions are rewritten as it is imported)
from capture_looked import Looked, asked, look  # noqa: E402

from dbt_trickle.capture.base import Appended, Unlogged  # noqa: E402
from dbt_trickle.capture.choose import Chosen, choose  # noqa: E402
from dbt_trickle.names import Relation  # noqa: E402
from dbt_trickle.run.session import Session  # noqa: E402

pytestmark = pytest.mark.spark

# More of both: TRICKLE_HISTORIES=20 TRICKLE_HISTORY_COMMITS=30, as `make soak` has them.
HISTORIES = int(os.environ.get("TRICKLE_HISTORIES", "1"))
# Partitioned, with deletion vectors, with mapped columns (whose files have other names for them: no log is read there).
KINDS = [(False, False, False), (True, True, False), (False, True, True), (False, True, False), (True, False, True)]
AT_ONCE, SEEDS_IN_TURN = 2, 4
# `make test` has time for two kinds: which, and of which seed, the commit of this checkout says.
TURN = turns.turn(len(KINDS) * SEEDS_IN_TURN)
SEEDS = range(1, HISTORIES + 1)
if HISTORIES == 1:
    SEEDS = range(TURN // len(KINDS) + 1, TURN // len(KINDS) + 2)
    KINDS = [KINDS[(TURN + number) % len(KINDS)] for number in range(AT_ONCE)]
IDS = [
    "-".join(("partitioned" if p else "flat", "vectors" if v else "files", *["mapped"][: int(m)])) for p, v, m in KINDS
]
COMMITS = int(os.environ.get("TRICKLE_HISTORY_COMMITS", "0"))  # there are never fewer than what happens in any case
SCHEMA = "capture_histories"
# What a change of the definition does to the window across it: the columns that are read, and what is to come of it.
REDEFINED = {
    "widen": {
        ("id", "x"): "column id was int at version {old} and is bigint",
        ("x", "t"): "feed (its change feed is on)",
    },
    "rename": {
        ("id", "renamed"): "column renamed was not there at version {old}",
        ("id", "x"): "difference (RENAME COLUMN at version {at}; RENAME COLUMN at version {at})",
    },
    "drop": {("id", "x"): "difference (DROP COLUMNS at version {at}; DROP COLUMNS at version {at})"},
    "replace": {("id", "x"): "difference (replaced at version {at}; replaced at version {at})"},
}


@pytest.fixture(scope="class")
def connect(dbt_profile_target: dict[str, Any]) -> Callable[[], Session]:
    return embedded_sessions(dbt_profile_target)


@pytest.fixture(scope="class")
def session(connect: Callable[[], Session]) -> Session:
    found = connect()
    found.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    return found


class TestRandomHistories:
    @pytest.mark.parametrize(("partitioned", "vectors", "mapped"), KINDS, ids=IDS)
    @pytest.mark.parametrize("seed", SEEDS)
    def test_every_capture_tells_the_same(
        self, session: Session, seed: int, partitioned: bool, vectors: bool, mapped: bool
    ) -> None:
        chance = random.Random(f"{seed} {partitioned} {vectors} {mapped}")
        relation = Relation.of(SCHEMA, f"t_{seed}_{partitioned}_{vectors}_{mapped}".lower())
        history = History(session, relation, chance, partitioned, vectors, mapped)
        history.create()
        history.live(COMMITS, ALWAYS[KINDS.index((partitioned, vectors, mapped)) :: len(KINDS)])
        looked = list(look(history, spans(history)))
        compared, with_vectors = Counter[str](), 0
        told = asked(history, [(each.window, each.captures) for each in looked])
        by_window = {each.window: each for each in looked}
        for window, name, weights in told:
            expected = history.expected(window)
            assert weights == expected, (name, window, history.statements[window.old + 1 : window.new + 1])
            chosen = name != "log" or isinstance(by_window[window].facts.log, Appended)
            compared[name] += bool(expected) and chosen
            with_vectors += bool(expected) and name == "log" and chosen and by_window[window].vectors
        for each in looked:
            assert each.choice is not None or history.expected(each.window) == {}, each.window
            choice_is_right(history, each)
        # A proof that compared nothing would be none.
        reasons = Counter(each.by_log.reason for each in looked if isinstance(each.by_log, Unlogged))
        assert compared["feed"] == compared["difference"] >= 8, compared
        if mapped:
            assert set(reasons) == {"its columns are mapped to other names in its files"}
            return
        assert compared["log"] >= 4, (compared, reasons)
        assert (with_vectors >= 3) is vectors, compared
        assert (reasons["column p is in the paths of its files"] >= 3) is partitioned, reasons
        # And where a row went, it is the log itself that says so: by a file, or by a file's deletion vector.
        deleted = history.kinds.index("do_delete_one")
        (one,) = (each for each in looked if (each.window.old, each.window.new) == (deleted - 1, deleted))
        assert one.by_log == Unlogged("a file was removed")
        assert any(each.vectors for each in looked if each.window.old == deleted) is vectors

    def test_a_change_of_the_definition_is_compared_or_says_why_not(self, session: Session) -> None:
        for mapped, kinds in ((True, ("widen", "rename", "drop")), (False, ("replace",))):
            relation = Relation.of(SCHEMA, f"redefined_{mapped}".lower())
            history = History(session, relation, random.Random(1), False, mapped, mapped)
            history.create()
            history.surely("do_insert_two")
            # A feed cannot be read any more once a column was renamed, so each is looked at before the next one.
            for kind in kinds:
                across(history, kind)


def spans(history: History) -> list[tuple[int, int, list[str]]]:
    """All commits, in spans of a few; those by themselves that only added rows; what is longer; and the whole."""
    chance, newest = history.random, history.newest
    ends = [0, 1, 2, 3]
    while ends[-1] < newest:
        ends.append(min(newest, ends[-1] + chance.choice((1, 1, 2, 3))))
    found = list(pairwise(ends))
    found += [(version, version + 1) for version in range(newest) if history.only_appended(version, version + 1)]
    found += [*history.appended(), tuple(sorted(chance.sample(range(newest + 1), 2)))]
    known = [name for name in COLUMNS if name != "unread" and not (history.partitioned and name == "p")]
    several = [(old, new, chance.sample(known, chance.randint(1, len(known)))) for old, new in dict.fromkeys(found)]
    if history.partitioned:  # what is in the files' paths keeps the log from being read
        several += [(old, new, [*names, "p"]) for old, new, names in several if history.only_appended(old, new)][:3]
    return [*several, (0, newest, [*COLUMNS][:-1])]


def choice_is_right(history: History, looked: Looked) -> None:
    window, choice = looked.window, looked.choice
    if choice is None:
        return
    assert isinstance(choice, Chosen), choice
    assert choice.capture == ("log" if isinstance(looked.facts.log, Appended) else "difference")
    if isinstance(looked.facts.log, Appended):
        assert isinstance(looked.by_log, Appended)
        assert sorted(looked.facts.log.files) == sorted(looked.by_log.files)
    elif history.only_appended(window.old, window.new) and not history.mapped and "p" not in window.names:
        assert choice.reason.endswith(("more than 16 files were added", "a file's path is not plain")), choice


def across(history: History, kind: str) -> None:
    old, new = history.redefined(kind)
    read = []
    for looked, text in zip(
        look(history, [(old, new, names) for names in REDEFINED[kind]]), REDEFINED[kind].values(), strict=True
    ):
        choice = choose("auto", looked.facts)
        said = f"{choice.capture} ({choice.reason})" if isinstance(choice, Chosen) else choice.reason
        assert said == text.format(old=old, at=old + 1)
        if isinstance(choice, Chosen):
            read.append((looked.window, {name: looked.captures[name] for name in {choice.capture, "difference"}}))
    assert read
    for window, name, weights in asked(history, read):
        assert weights == history.expected(window) != {}, (name, window)
