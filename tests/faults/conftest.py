from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_world import World, embedded_sessions
from thrift_server import ThriftServer, thrift_server

from dbt_trickle.config import ProjectSettings
from dbt_trickle.run.session import Session


@pytest.fixture(scope="class")
def connect(dbt_profile_target: dict[str, Any]) -> Callable[[], Session]:
    return embedded_sessions(dbt_profile_target)


@pytest.fixture(scope="session")
def catalog() -> ProjectSettings:
    return ProjectSettings(catalog_schema="fault_catalog", change_schema="fault_changes")


@pytest.fixture
def world(connect: Callable[[], Session], catalog: ProjectSettings) -> World:
    return World.create(connect, catalog)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThriftServer]:
    folder: Path = tmp_path_factory.mktemp("thrift")
    with thrift_server(folder) as running:
        yield running
