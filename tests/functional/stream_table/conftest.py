from __future__ import annotations

from typing import Any

import pytest
from shop import Shop


@pytest.fixture
def shop(project: Any) -> Shop:
    return Shop(project)
