"""Runs integration_tests/ scenario by scenario; the connection is the subclass's affair.

A subclass in a test module brings the fixture `scenario_profile`: the output of a dbt profile.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.cli.main import dbtRunner

from dbt_trickle.plan import cost

PROJECT = Path(__file__).parents[2] / "integration_tests"
LEFT_BY_RUNS = ("target", "logs", ".trickle", ".user.yml")
SCENARIOS = yaml.safe_load((PROJECT / "scenarios.yml").read_text(encoding="utf-8"))
STREAM_TABLES = sorted(path.stem for path in (PROJECT / "models" / "stream_tables").glob("*.sql"))
# A table model replaces itself on each run, so that whatever reads it always has something to do.
PLAIN_RUN = "run --exclude product_list"


class Project:
    """A copy of the project, whose files a scenario may edit."""

    def __init__(self, folder: Path, profile: dict[str, Any]) -> None:
        self.folder = folder
        shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns(*LEFT_BY_RUNS))
        profiles = {"integration": {"target": "test", "outputs": {"test": profile}}}
        (folder / "profiles.yml").write_text(yaml.safe_dump(profiles), encoding="utf-8")

    def dbt(self, *arguments: str) -> None:
        place = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        logs = ["--log-path", str(self.folder / "logs")]
        answer = dbtRunner().invoke([*arguments, *place, *logs])
        if answer.exception:
            raise answer.exception
        assert answer.success, f"dbt {' '.join(arguments)} failed; its output says why"

    def actions(self) -> dict[str, str]:
        """What the last run did with each stream table it selected."""
        text = (self.folder / "target" / "run_results.json").read_text(encoding="utf-8")
        names = {result["unique_id"].split(".")[-1]: result for result in json.loads(text)["results"]}
        return {name: names[name]["adapter_response"]["action"] for name in STREAM_TABLES if name in names}


class ScenarioSuite:
    # Some of the scenarios by name, where all would take too long; all need the first one.
    names: tuple[str, ...] = tuple(scenario["name"] for scenario in SCENARIOS)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "scenario" in metafunc.fixturenames:
            chosen = [scenario for scenario in SCENARIOS if scenario["name"] in self.names]
            assert len(chosen) == len(self.names), f"scenarios.yml has not all of {self.names}"
            metafunc.parametrize("scenario", chosen, ids=[s["name"].replace(" ", "_") for s in chosen])

    @pytest.fixture(scope="class", autouse=True)
    def time_does_not_choose(self) -> Iterator[None]:
        """What either took on a busy machine is no part of a scenario: nothing saves that much."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cost, "SAVES_MS", 10**9)
            patch.setattr(cost, "AGREED_MS", 10**9)
            patch.setattr(cost, "FIRST_PATIENCE", 10**9)
            yield

    @pytest.fixture(scope="class")
    def scenario_project(self, tmp_path_factory: pytest.TempPathFactory, scenario_profile: dict[str, Any]) -> Project:
        return Project(tmp_path_factory.mktemp("integration") / "project", scenario_profile)

    def test_scenario(self, scenario_project: Project, scenario: dict[str, Any]) -> None:
        for path, text in scenario.get("edit", {}).items():
            (scenario_project.folder / path).write_text(text, encoding="utf-8")
        if statements := scenario.get("change"):
            scenario_project.dbt("run-operation", "change", "--args", json.dumps({"statements": statements}))
        if before := scenario.get("before"):
            scenario_project.dbt(*before.split())
        scenario_project.dbt(*scenario.get("run", PLAIN_RUN).split())

        done, due = scenario_project.actions(), expected_actions(scenario)
        assert done.keys() == due.keys()
        assert {name: action for name, action in done.items() if action not in due[name].split(" or ")} == {}, due
        if busy := [name for names in scenario["expect"].values() for name in names]:
            scenario_project.dbt("test", "--select", *busy)

    def test_all_equal_their_queries_in_the_end(self, scenario_project: Project) -> None:
        scenario_project.dbt("test")


def expected_actions(scenario: dict[str, Any]) -> dict[str, str]:
    named = {name: action for action, names in scenario["expect"].items() for name in names}
    unknown = set(named) - set(STREAM_TABLES)
    assert not unknown, f"scenarios.yml names what is no stream table: {sorted(unknown)}"
    return {name: named.get(name, "NO_DATA") for name in scenario.get("only", STREAM_TABLES)}
