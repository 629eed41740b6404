"""What to write instead: of reasons that there are, and never of another construct."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbt_trickle.tree.advice import ADVICE, instead

PACKAGE = Path(__file__).parents[3] / "dbt_trickle"
SAID = "\n".join(
    path.read_text(encoding="utf-8")
    for folder in ("tree", "sql", "run", "apply")
    for path in sorted((PACKAGE / folder).glob("*.py"))
    if path.name != "advice.py"
)


@pytest.mark.parametrize("words", [words for words, _ in ADVICE])
def test_it_is_of_a_reason_that_is_told(words: str) -> None:
    assert re.sub(r"the function \w+", "the function {", words) in SAID


@pytest.mark.parametrize(("words", "advice"), ADVICE)
def test_the_narrower_one_comes_first(words: str, advice: str) -> None:
    assert instead(f"{words} is not maintained yet (line 1, column 8)") == advice


def test_where_nothing_is_known_nothing_is_said() -> None:
    assert instead("whatever there is") == ""
