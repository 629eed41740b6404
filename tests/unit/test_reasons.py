"""Every reason and every event that the product gives has a row that says what it means and what to do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import reasons

from dbt_trickle.catalog import events

ROOT = Path(__file__).parents[2]
# Arguments that are other programs' words: what stands before them has a row.
OTHERS_WORDS = {
    "sql/analysis.py: str(problem).splitlines()[0] if str(problem) else type(problem).__name__",
    "sql/verbatim.py: _first_line(problem)",
    # Of limits that were passed, each of which has a row.
    "run/capture_health.py: '; '.join((reason for _, reason in passed))",
    "run/compared.py: '; '.join(map(str, current.unversioned))",
    # Of two reasons, each of which has a row.
    "run/orphans.py: orphan.reason + between + why",
    # Of the last time that it was asked.
    "run/understand.py: known",
}
# Parts of one text, whose other parts have rows.
PARTS = {
    "of … rows": "… of … changed",
    "no …": "it was made with …, the session has …",
    "column … of type … …": "holds a …, by which Spark cannot group",
    r"\bLocalRelation (?!<empty>)": "the plan has rows that it does not show",
    "is not known": "the name … …",
    "if that one died, the next dbt run finds it out": "but a dbt run with it has not ended",
}


def plain(text: str) -> str:
    return text.replace("`", "").strip()


def rows(page: str) -> dict[str, list[str]]:
    """The first cells of a page's tables, and the other cells."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {plain(first): rest for first, *rest in cells}


@pytest.fixture(scope="module")
def found() -> reasons.Found:
    return reasons.collect()


def test_every_reason_has_a_row(found: reasons.Found) -> None:
    known = {*rows("reasons.md"), *map(plain, PARTS)}
    missing = {f"{place}: {text}" for text, place in found.templates.items() if plain(text) not in known}
    assert len(found.templates) > 120, "the test sees what it looks for"
    assert missing == set()


def test_every_row_is_of_a_reason(found: reasons.Found) -> None:
    given = set(map(plain, found.templates))
    assert set(rows("reasons.md")) - given == {"reason"}
    assert set(map(plain, PARTS)) - given == set()
    assert set(map(plain, PARTS.values())) - given == set()


def test_no_reason_comes_from_where_nobody_looks(found: reasons.Found) -> None:
    """A new variable or function that gives one is to be named in reasons.py."""
    unknown = {f"{place.split(':')[0]}:{place.split(':', 2)[2]}" for place in found.unknown}
    assert unknown - OTHERS_WORDS == set()
    assert OTHERS_WORDS - unknown == set()


def test_every_row_says_what_to_do() -> None:
    assert [first for first, rest in rows("reasons.md").items() if len(rest) != 2 or not all(rest)] == []


def emitted() -> set[str]:
    """What is given to an event as its name, wherever one is made; in catalog/events.py a function does that."""
    names = set()
    for path in (ROOT / "dbt_trickle").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="Event" | "event"), args=[ast.Constant(value=str(name)), *_]):
                    names.add(name)
    return names


def test_every_event_has_a_row() -> None:
    values = {value for name, value in vars(events).items() if name.isupper() and isinstance(value, str)}
    known = rows("operations.md")
    assert "stale" in values
    assert values - known.keys() == set()
    assert emitted() <= values, "events are named in catalog/events.py"
    assert [name for name in values if len(known[name]) != 2 or not all(known[name])] == []


@pytest.mark.parametrize(
    ("text", "templates", "unknown"),
    [
        ("Decision('FULL', 'it rains', x)", {"it rains"}, 0),
        ("Decision('FULL', f'{why}; it rains in {place}', x)", {"it rains in …"}, 0),
        ("Decision('FULL', why, x)", set(), 0),
        ("Decision('FULL', weather(), x)", set(), 1),
        ("Decision('FULL', why or 'it rains' if x else f'{y} snows', x)", {"it rains", "… snows"}, 0),
        ("reason = 'it rains' if x else 'it snows'", {"it rains", "it snows"}, 0),
        ("replace(row, reason='it rains')", {"it rains"}, 0),
        ("print('it rains')", set(), 0),
    ],
)
def test_what_is_looked_for(text: str, templates: set[str], unknown: int) -> None:
    found = reasons.of_text(text)
    assert (set(found.templates), len(found.unknown)) == (templates, unknown)
