"""The list of skips stays short and true."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from skips import SKIPS

MOST = 12


def test_the_list_is_short() -> None:
    assert len(SKIPS) <= MOST
    assert all(reason.strip() for reason in SKIPS.values())


@pytest.mark.parametrize("entry", SKIPS)
def test_every_skip_names_a_test(entry: str) -> None:
    """Looked up in the file, not among the collected tests: those may be a part of the suite only."""
    file, *names = entry.split("::")
    path = Path(__file__).parent / file
    spec = importlib.util.spec_from_file_location(f"skipped_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    for name in names:
        found = getattr(found, name)
