"""A project, a profile or a machine that the `trickle` command cannot use: one error, in words, with what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from dbt.adapters.factory import reset_adapters
from dbt_project import Project

from dbt.adapters.trickle import bridge
from dbt_trickle.cli.main import cli
from dbt_trickle.errors import TrickleError

SESSION = {"type": "trickle", "method": "session", "schema": "x"}
SPARK = {"type": "spark", "method": "session", "schema": "x", "host": "NA"}
MODEL = {"models/one.sql": "{{ config(materialized='stream_table') }} select 1 as a"}


# What dbt's project says beside its name, the profile's target, and further files.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str], tuple[str, ...], str, str]] = {
    "another adapter's target": ({}, SPARK, {}, ("status",), "TRK-409", "is of type `spark`"),
    "no such target": ({}, SESSION, {}, ("status", "--target", "nope"), "TRK-409", "target named 'nope'"),
    "a variable": (
        {"vars": {"trickle_min_schedule_seconds": "soon"}},
        SESSION,
        {},
        ("status",),
        "TRK-103",
        "`trickle_min_schedule_seconds` is 'soon'",
    ),
    "a model that dbt cannot parse": (
        {},
        SESSION,
        {"models/broken.sql": "{% if %}"},
        ("refresh", "one"),
        "TRK-410",
        "models/broken.sql",
    ),
}


@pytest.fixture(autouse=True)
def _no_adapter_of_another_test() -> None:
    reset_adapters()


def refused(root: Path, *arguments: str) -> TrickleError:
    """The error that the command ends with; nothing else was said."""
    said = CliRunner().invoke(cli, [*arguments, "--project-dir", str(root), "--profiles-dir", str(root)])
    assert isinstance(said.exception, TrickleError), said.output
    assert said.output == "", "dbt has told it as well"
    return said.exception


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_one_error(case: tuple[Any, ...], tmp_path: Path) -> None:
    config, target, files, arguments, code, words = case
    Project.create(tmp_path, target, {**MODEL, **files}, **config)
    problem = refused(tmp_path, *arguments)
    assert (problem.code, words in str(problem)) == (code, True), problem


def test_the_profile_that_dbt_would_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it another one than its own `dbt parse` takes, models of one schema would be looked for in another's."""
    project = Project.create(tmp_path, SESSION, MODEL)
    outputs = {name: {"target": "test", "outputs": {"test": {**SESSION, "schema": name}}} for name in ("shop", "two")}
    project.write("profiles.yml", yaml.safe_dump(outputs))
    place = (str(tmp_path), str(tmp_path))
    monkeypatch.setenv("DBT_PROFILE", "two")
    assert {str(model.public) for model in bridge.open_project(*place, "two", None).models()} == {"two.one"}
    monkeypatch.delenv("DBT_PROFILE")
    assert {str(model.public) for model in bridge.open_project(*place, "two", None).models()} == {"two.one"}
    assert refused(tmp_path, "status", "--profile", "three").code == "TRK-409"
    monkeypatch.setenv("DBT_PROFILE", "three")
    assert refused(tmp_path, "status").code == "TRK-409"


def test_no_project(tmp_path: Path) -> None:
    assert str(refused(tmp_path, "status")).startswith("[TRK-409] no dbt_project.yml in ")


@pytest.mark.parametrize("arguments", [("status",), ("refresh", "one")], ids=" ".join)
def test_no_java(arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a command that runs dbt, too: dbt's words around the error are none of the user's business."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no_java"))
    Project.create(tmp_path / "project", SESSION, MODEL)
    assert refused(tmp_path / "project", *arguments).code == "TRK-401"
