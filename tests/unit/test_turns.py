"""Of what `make test` has not the time for, each case belongs to one turn; who names a test gets it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import turns

PARTS = 3
FOLDER = "tests/functional/adapter/"
CLASSES = ("a.py::TestA::one", "a.py::TestA::two", "a.py::TestB::one", "b.py::TestA::one")


class Item:
    def __init__(self, nodeid: str, parts: int | None) -> None:
        self.nodeid, self.parts = nodeid, parts

    def get_closest_marker(self, name: str) -> Any:
        assert name == "in_turn"
        return SimpleNamespace(args=(self.parts,)) if self.parts else None


def chosen(monkeypatch: pytest.MonkeyPatch, turn: str | None, *args: str, keyword: str = "") -> list[str]:
    items = [Item(f"a.py::of_{name}[{n}]", PARTS) for name in "xy" for n in range(5)]
    items += [Item("a.py::always", None), *(Item(f"{FOLDER}{name}", None) for name in CLASSES)]
    monkeypatch.setattr(turns, "ASKED", turn)
    monkeypatch.setattr(turns, "ALL", turn == "all")
    gone: list[Item] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: gone.extend(items))
    config: Any = SimpleNamespace(args=list(args), option=SimpleNamespace(keyword=keyword), hook=hook)
    found: Any = list(items)
    turns.deselect(config, found)
    assert {each.nodeid for each in [*found, *gone]} == {each.nodeid for each in items}
    return [each.nodeid for each in found]


def test_each_case_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    each = [chosen(monkeypatch, str(number), "tests") for number in range(PARTS)]
    assert sorted(name for names in each for name in names if "of_" in name) == [
        f"a.py::of_{name}[{n}]" for name in "xy" for n in range(5)
    ]
    assert all("a.py::always" in names for names in each)
    assert chosen(monkeypatch, str(PARTS), "tests") == each[0]


def test_a_class_stays_together(monkeypatch: pytest.MonkeyPatch) -> None:
    each = [chosen(monkeypatch, str(number), "tests") for number in range(turns.PARTS[FOLDER])]
    of_folder = [[name.removeprefix(FOLDER) for name in names if name.startswith(FOLDER)] for names in each]
    assert of_folder == [list(CLASSES[:2]), [CLASSES[2]], [CLASSES[3]]]


@pytest.mark.parametrize(
    ("turn", "args", "keyword"),
    [("all", ("tests",), ""), ("1", ("a.py::of_x",), ""), ("1", ("a.py",), ""), ("1", ("tests",), "of_x")],
)
def test_who_asks_for_it_gets_it(
    monkeypatch: pytest.MonkeyPatch, turn: str, args: tuple[str, ...], keyword: str
) -> None:
    assert len(chosen(monkeypatch, turn, *args, keyword=keyword)) == 11 + len(CLASSES)


def test_what_a_class_goes_through_comes_in_turn_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although it is always the same turns in which the class runs."""
    monkeypatch.setattr(turns.sys, "argv", ["pytest", "tests"])
    monkeypatch.setattr(turns, "ALL", False)
    met = set()
    for number in range(0, 24, 2):
        monkeypatch.setattr(turns, "ASKED", str(number))
        met |= set(turns.mine("abc", 2))
    assert met == set("abc")


def test_a_commit_has_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "ASKED", None)
    assert turns.turn(PARTS) in range(PARTS)
    turns._commit.cache_clear()
    monkeypatch.setattr(turns.subprocess, "run", lambda *_, **__: (_ for _ in ()).throw(OSError))
    assert turns.turn(PARTS) == 0
    turns._commit.cache_clear()
