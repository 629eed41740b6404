"""A project, a profile or a machine that the `trickle` command cannot use: one error, in words, with what to do."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from dbt.adapters.factory import reset_adapters
from dbt_project import Project

from dbt.adapters.trickle import bridge, user_errors
from dbt.adapters.trickle.writer_lock import WriterLock
from dbt_trickle.cli.main import cli
from dbt_trickle.errors import TrickleError
from dbt_trickle.names import Relation

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
    "no mapping of variables": ({}, SESSION, {}, ("status", "--vars", "soon"), "TRK-504", "no mapping but 'soon'"),
    "no YAML": ({}, SESSION, {}, ("status", "--vars", "{a: ["), "TRK-504", "`--vars` cannot be read"),
    "a variable on the command line": (
        {},
        SESSION,
        {},
        ("status", "--vars", '{"trickle_min_schedule_seconds": "soon"}'),
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


def test_the_variables_of_the_command_line(tmp_path: Path) -> None:
    """In dbt_project.yml, in the models and in the adapter's own settings, as with `dbt run --vars`."""
    model = "{{ config(materialized='stream_table', schema=var('where'), enabled=var('really', false)) }} select 1 as a"
    Project.create(tmp_path, SESSION, {"models/one.sql": model}, **{"models": {"+alias": "{{ var('called', 'one') }}"}})
    place = (str(tmp_path), str(tmp_path), None, None)
    assert bridge.open_project(*place, "where: x").models() == []
    reset_adapters()
    variables = '{"where": "apart", "really": true, "called": "total", "trickle_catalog_schema": "elsewhere"}'
    project = bridge.open_project(*place, variables)
    assert [str(model.public) for model in project.models()] == ["x_apart.total"]
    assert project.settings.catalog_schema == "elsewhere"
    assert project.scope().schemas == {"x", "x_apart"}


def test_what_the_project_has_beside_stream_tables(tmp_path: Path) -> None:
    files = {
        "models/one.sql": "{{ config(materialized='stream_table') }} select 1 as a",
        "models/shown.sql": "{{ config(materialized='stream_table', expose='table', schema='apart') }} select 1 as a",
        "models/plain.sql": "{{ config(materialized='table') }} select 1 as a",
        "models/inlined.sql": "{{ config(materialized='ephemeral') }} select 1 as a",
        "models/off.sql": "{{ config(materialized='table', enabled=false) }} select 1 as a",
        "seeds/numbers.csv": "a\n1\n",
    }
    Project.create(tmp_path, SESSION, files)
    scope = bridge.open_project(str(tmp_path), str(tmp_path), None, None).scope()
    assert {name: str(public) for name, public in scope.models.items()} == {
        "model.shop.one": "x.one",
        "model.shop.shown": "x_apart.shown",
    }
    assert list(map(str, scope.shown_tables)) == ["x_apart.shown"]
    assert scope.others == {"model.shop.plain": Relation.of("x", "plain"), "model.shop.inlined": None}
    assert scope.schemas == {"x", "x_apart"}


WRITES = [("drop", "one"), ("repair", "--apply"), ("suspend", "one"), ("resume", "one"), ("refresh", "one")]
READS = [("status",), ("repair",)]


@pytest.mark.parametrize("arguments", [*WRITES, *READS], ids=" ".join)
def test_who_is_there_to_write_is_told_before_a_spark_is_started(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no Java: who gets as far as to look for it would have started one."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no_java"))
    Project.create(tmp_path / "project", {**SESSION, "writer_lock_timeout": 0.1}, MODEL)
    lock = WriterLock(tmp_path / "project" / ".trickle")
    lock.acquire(0)
    try:
        problem = refused(tmp_path / "project", *arguments)
    finally:
        lock.release()
    assert problem.code == ("TRK-403" if arguments in WRITES else "TRK-401")
    if arguments in WRITES:
        assert f"is being written by process {os.getpid()} (" in str(problem)
        assert "Wait until it has ended" in problem.remedy


def test_dbt_ended_before_it_came_to_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the adapter says goes first (TRK-401 above); the rest is dbt's own."""
    Project.create(tmp_path, SESSION, MODEL)
    real = bridge.Project._dbt

    def ends(self: bridge.Project, *arguments: str, manifest: Any = None) -> Any:
        if "run" not in arguments:
            return real(self, *arguments, manifest=manifest)
        return SimpleNamespace(exception=RuntimeError("the disk is full"), result=[])

    monkeypatch.setattr(bridge.Project, "_dbt", ends)
    problem = refused(tmp_path, "refresh", "one")
    assert (problem.code, problem.what) == ("TRK-412", "dbt could not run: the disk is full")
    assert problem.remedy


def test_explain_looks_for_the_relation_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the connection of its own process, which no command of dbt's has prepared: up to where Spark is needed."""
    Project.create(tmp_path, SESSION, MODEL)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no_java"))
    real = bridge.Project._dbt

    def compiled(self: bridge.Project, *arguments: str, manifest: Any = None) -> Any:
        if "compile" not in arguments:
            return real(self, *arguments, manifest=manifest)
        return SimpleNamespace(success=True)

    monkeypatch.setattr(bridge.Project, "_dbt", compiled)
    problem = refused(tmp_path, "explain", "one")
    assert problem.code == "TRK-401", problem


def test_two_models_of_one_name(tmp_path: Path) -> None:
    nodes = {
        f"models/{name}.sql": f"{{{{ config(materialized='stream_table', alias='one', schema='{name}') }}}} select 1"
        for name in ("a", "b")
    }
    Project.create(tmp_path, SESSION, nodes)
    problem = refused(tmp_path, "refresh", "one")
    assert (problem.code, problem.what) == ("TRK-503", "one may be x_a.one, x_b.one")
    assert "schema.name" in problem.remedy


@pytest.mark.parametrize(
    ("text", "code", "what", "remedy"),
    [
        (
            "Runtime Error\n  [TRK-406] it did not start\n    Its log says x\n    `trickle doctor` checks.",
            "TRK-406",
            "it did not start",
            "Its log says x\n  `trickle doctor` checks.",
        ),
        ("[TRK-406] it did not start", "TRK-406", "it did not start", "See `dbt debug`."),
    ],
)
def test_an_error_that_dbt_made_a_text_of(text: str, code: str, what: str, remedy: str) -> None:
    problem = user_errors.said_in(text)
    assert problem is not None
    assert (problem.code, problem.what, problem.remedy) == (code, what, remedy)
    assert user_errors.said_in("dbt's own") is None
