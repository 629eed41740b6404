from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from engine_world import World, embedded_sessions

from dbt_trickle.config import ProjectSettings
from dbt_trickle.run.session import Session


@pytest.fixture(scope="class")
def connect(dbt_profile_target: dict[str, Any]) -> Callable[[], Session]:
    return embedded_sessions(dbt_profile_target)


@pytest.fixture(scope="class")
def world(connect: Callable[[], Session]) -> World:
    session = connect()  # one for all questions: a new one costs a fifth of what it is asked
    settings = ProjectSettings(catalog_schema="engine_catalog", change_schema="engine_changes")
    return World.create(connect, settings, lambda: session)
