from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_world import World
from fault_proxy import Keeping, keeping_proxy
from fault_thrift import ThriftSessions
from thrift_server import ThriftServer, thrift_server

from dbt_trickle.config import ProjectSettings

pytest.register_assert_rewrite("crash_checks")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThriftServer]:
    """One for all: other processes reach it, and it outlives them."""
    folder: Path = tmp_path_factory.mktemp("thrift")
    with thrift_server(folder) as running:
        yield running


@pytest.fixture(scope="session")
def connect(server: ThriftServer) -> ThriftSessions:
    return ThriftSessions(server.host, server.port)


@pytest.fixture(scope="module")
def wire(server: ThriftServer) -> Iterator[Keeping]:
    """On which clients are to die."""
    with keeping_proxy(server.host, server.port) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def catalog() -> ProjectSettings:
    """Of many tests: what a run does must not depend on how many there were before."""
    return ProjectSettings(catalog_schema="fault_catalog", change_schema="fault_changes", maintenance=False)


@pytest.fixture
def world(connect: ThriftSessions, catalog: ProjectSettings) -> World:
    return World.create(connect, catalog, connect.kept)
