"""Every error that a person can meet says what to do about it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt_trickle import errors
from dbt_trickle.run import frozen, verify

ROOT = Path(__file__).parents[2]
NAMES = {
    name
    for module in (errors, frozen, verify)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, errors.TrickleError)
}
# `file: function` → why no remedy is written down there.
ALLOWED: dict[str, str] = {}


def made(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Each error that a text makes, and the function that it is in."""
    for parent in ast.walk(tree):
        if not isinstance(parent, ast.FunctionDef):
            continue
        for node in ast.walk(parent):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in NAMES:
                yield parent.name, node


def has_remedy(call: ast.Call) -> bool:
    given = [word.value for word in call.keywords if word.arg == "remedy"]
    return bool(given) and not (isinstance(given[0], ast.Constant) and not str(given[0].value).strip())


def without_remedy(text: str) -> set[str]:
    return {function for function, call in made(ast.parse(text)) if not has_remedy(call)}


def test_every_error_has_a_remedy() -> None:
    found, calls = set(), 0
    for path in [*(ROOT / "dbt").rglob("*.py"), *(ROOT / "dbt_trickle").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        calls += len(list(made(ast.parse(text))))
        found |= {f"{path.relative_to(ROOT)}: {function}" for function in without_remedy(text)}
    assert calls > 50, "the test sees what it looks for"
    assert found - ALLOWED.keys() == set()
    assert ALLOWED.keys() - found == set(), "an exception that nothing needs any more"


@pytest.mark.parametrize(
    ("given", "fine"),
    [
        ("ModelError('TRK-1', 'x', remedy='Do y.')", True),
        ("ModelError('TRK-1', 'x', remedy=switch(version))", True),
        ("errors.ModelError('TRK-1', 'x')", False),
        ("ModelError('TRK-1', 'x', remedy='')", False),
        ("ModelError('TRK-1', 'x', model='m')", False),
        ("ValueError('x')", True),
    ],
)
def test_what_is_looked_for(given: str, fine: bool) -> None:
    assert (without_remedy(f"def f():\n    raise {given}") == set()) == fine
