from __future__ import annotations

from typing import Any

import pytest

pytest.register_assert_rewrite("shop")

from shop import Shop  # noqa: E402 (its assertions are rewritten as it is imported)


@pytest.fixture
def shop(project: Any) -> Shop:
    return Shop(project)
