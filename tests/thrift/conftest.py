from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from thrift_server import ThriftServer, thrift_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThriftServer]:
    folder: Path = tmp_path_factory.mktemp("thrift")
    with thrift_server(folder) as running:
        yield running
