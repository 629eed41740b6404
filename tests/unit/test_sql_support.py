"""The page on what is maintained says what the builder does."""

from __future__ import annotations

import pytest
from sql_support import PAGE, Line, load, page, reason

LINES = [line for lines in load().values() for line in lines]


@pytest.mark.parametrize("line", LINES, ids=[line.what for line in LINES])
def test_each_line_is_so(line: Line) -> None:
    assert reason(line) == line.why


def test_the_page_is_written_from_the_data() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make update-fixtures"
