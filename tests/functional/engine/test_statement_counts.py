"""A refresh's cost is its statements: how many each action takes is written down, and does not grow unseen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from statement_counts import counted, engine, load, told

from dbt_trickle.run.session import Session

pytestmark = pytest.mark.spark


class TestStatementCounts:
    def test_each_action_takes_as_many_as_are_written_down(
        self, connect: Callable[[], Session], embedded_home: Path
    ) -> None:
        by = engine(connect, embedded_home / "warehouse")
        found = counted(by)
        assert found == load(), f"`make update-fixtures` writes down what it is now.\n{told(by)}"
