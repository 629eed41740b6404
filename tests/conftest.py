"""What every test can use: dbt's own project fixtures, over one embedded Spark for the whole process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import quick_spark
import turns

pytest_plugins = ["dbt.tests.fixtures.project"]


@pytest.fixture(scope="session")
def embedded_home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One for the process: Spark starts once, and a process has one Spark."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in quick_spark.JAVA.items():
            patch.setenv(name, value)
        yield tmp_path_factory.mktemp("home")


# For a class only, unlike the home: dbt's fixtures write the schema of the class into this dictionary.
@pytest.fixture(scope="class")
def dbt_profile_target(embedded_home: Path) -> dict[str, Any]:
    return {
        "type": "trickle",
        "method": "session",
        "home": str(embedded_home),
        "threads": 4,
        "server_side_parameters": {
            # No metastore: nothing here outlives the process, and starting Hive's costs ten seconds.
            "spark.sql.catalogImplementation": "in-memory",
            **quick_spark.SETTINGS,
        },
    }


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch_class: pytest.MonkeyPatch) -> str:
    """dbt's fixtures log into the checkout; a test leaves nothing there."""
    path = str(tmp_path_factory.mktemp("logs"))
    monkeypatch_class.setenv("DBT_LOG_PATH", path)
    return path


@pytest.fixture(scope="class")
def monkeypatch_class() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def pytest_configure() -> None:
    os.environ.update(quick_spark.SHORT_LIVED_JAVA)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    turns.deselect(config, items)
