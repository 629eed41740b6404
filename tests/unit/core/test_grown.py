"""Of which changes it is known that no row went: only then may rows just be appended."""

from __future__ import annotations

import pytest

from dbt_trickle.capture.base import CommitFacts, Effect, LogFacts, Window
from dbt_trickle.names import Relation
from dbt_trickle.run.differential import grew

OLD, NEW = Relation.of("changes", "st_5_g1"), Relation.of("changes", "st_5_g2")


def commits(*effects: Effect) -> tuple[CommitFacts, ...]:
    return tuple(CommitFacts(version, "", "", effect) for version, effect in enumerate(effects, 4))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (LogFacts(Window(OLD, 3, 5, ()), commits(Effect.APPEND, Effect.NOTHING)), True),
        (LogFacts(Window(OLD, 3, 5, ()), commits(Effect.APPEND, Effect.ROWS)), False),
        # There are no commits from one table to another, so none says that a row went.
        (LogFacts(Window(NEW, 3, 0, (), OLD), ()), False),
    ],
)
def test_what_only_grew(facts: LogFacts, expected: bool) -> None:
    assert grew(facts) is expected
