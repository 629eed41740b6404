from __future__ import annotations

from collections.abc import Iterator

import pytest
from lake import Lake


@pytest.fixture(scope="session")
def lake() -> Iterator[Lake]:
    """One for all examples: starting a database takes longer than most of them."""
    made = Lake()
    yield made
    made.duck.close()
