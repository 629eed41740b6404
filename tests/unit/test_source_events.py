"""docs/source-events.md says what the test has seen."""

from __future__ import annotations

from source_events import PAGE, load, page


def test_the_page_is_what_the_data_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "`make update-fixtures` writes it"


def test_every_error_under_differential_says_what_auto_does() -> None:
    for cases in load():
        assert len({case.name for case in cases}) == len(cases)
        assert [case.name for case in cases if case.is_refused and not (case.auto and case.reason)] == []
