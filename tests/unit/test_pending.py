"""What is held back is named rightly; a name that matches nothing would hold back nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pending import PENDING

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("entry", PENDING)
def test_every_entry_names_a_test(entry: str) -> None:
    file, *names = entry.split("::")
    text = (TESTS / file).read_text(encoding="utf-8")
    assert all(f"def {name}(" in text or f"class {name}" in text for name in names)
    assert PENDING[entry]
