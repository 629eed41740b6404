from __future__ import annotations

from pathlib import Path

import pytest
from skips import SKIPS

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE not in item.path.parents:
            continue
        test = "::".join([item.path.relative_to(HERE).as_posix(), *item.nodeid.split("::")[1:]])
        for reason, entries in SKIPS.items():
            if any(test == entry or test.startswith(f"{entry}::") for entry in entries):
                item.add_marker(pytest.mark.skip(reason=reason))
