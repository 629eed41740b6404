"""What is held back is named rightly; a name that matches nothing would hold back nothing."""

from __future__ import annotations

from pathlib import Path

from pending import PENDING

TESTS = Path(__file__).parents[1]


def test_every_entry_names_a_test() -> None:
    for entry, missing in PENDING.items():
        file, *names = entry.split("::")
        text = (TESTS / file).read_text(encoding="utf-8")
        assert all(f"def {name}(" in text or f"class {name}" in text for name in names), entry
        assert missing, entry
