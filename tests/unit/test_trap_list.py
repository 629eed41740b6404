"""tests/traps.yml: each trap has tests, and each of them is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).parents[1]
TRAPS = yaml.safe_load((TESTS / "traps.yml").read_text(encoding="utf-8"))
NAMED = sorted({test for trap in TRAPS for test in trap["tests"]})


@cache
def functions(path: Path) -> frozenset[str]:
    """As pytest names them: a class's with its name before theirs."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return frozenset(found)


@cache
def texts(path: Path) -> str:
    """Where the cases of a file may stand: in it, and in the data beside it. Without quotes, by which texts differ."""
    folder = path.parent
    data = sorted({*folder.glob("*.yml"), *folder.glob("fixtures/*.yml")})
    return _plain("\n".join(each.read_text(encoding="utf-8") for each in (path, *data)))


def _plain(text: str) -> str:
    return re.sub(r"""['"\\]""", "", text)


@pytest.mark.parametrize("test", NAMED)
def test_it_is_there(test: str) -> None:
    path, _, rest = test.partition("::")
    function, _, case = rest.partition("[")
    assert function in functions(TESTS / path)
    assert _plain(case.removesuffix("]")) in texts(TESTS / path)


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap["trap"])
def test_it_says_what_goes_wrong_and_names_a_test(trap: dict[str, object]) -> None:
    assert trap.keys() == {"trap", "wrong", "tests"}
    assert trap["wrong"] and trap["tests"]


def test_every_trap_that_is_tried_on_spark_is_listed() -> None:
    scenes = yaml.safe_load((TESTS / "functional" / "engine" / "trap_scenes.yml").read_text(encoding="utf-8"))
    listed = {test.partition("[")[2].removesuffix("]") for test in NAMED if "::TestTraps::" in test}
    tried = {name for scene in scenes.values() for name in scene["traps"]}
    below = {"diamond_left", "diamond_right"}
    assert tried - below == listed
