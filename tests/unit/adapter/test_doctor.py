"""What `trickle doctor` finds wrong, before any Spark is started."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.trickle import doctor, jars, java
from dbt.adapters.trickle.credentials import TrickleCredentials
from dbt.adapters.trickle.doctor import Check
from dbt_trickle.errors import EnvironmentProblem

HEALTHY = ["versions", "profile", "pyspark", "warehouse", "java", "jars"]


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One where all is well, up to the connection; its jars are empty files, and nothing can be fetched."""
    cache = tmp_path / "jars"
    cache.mkdir()
    for artifact in jars.EMBEDDED:
        (cache / artifact.file_name).touch()

    def unreachable(artifacts: list[jars.Artifact], *_: Any) -> str:
        return f"no registry for {len(artifacts)}"

    monkeypatch.setenv("TRICKLE_JARS_DIR", str(cache))
    monkeypatch.setattr(jars, "_retrieve", unreachable)
    monkeypatch.setattr(java, "find", lambda: java.Java("/usr/bin/java", 17))
    project(monkeypatch, tmp_path / "home")
    return tmp_path


def project(monkeypatch: pytest.MonkeyPatch, home: Path, **profile: Any) -> None:
    def connect() -> Any:
        raise EnvironmentProblem("TRK-406", "reached", remedy="-")

    credentials = TrickleCredentials(host="embedded", method="session", schema="s", home=str(home), **profile)
    opened = SimpleNamespace(
        name="shop", target="dev", method="session", schema="s", credentials=credentials, connect=connect
    )
    monkeypatch.setattr(doctor, "open_project", lambda project_dir, profiles_dir, profile, target: opened)


def examined() -> dict[str, Check]:
    return {check.name: check for check in doctor.examine(None, None, None, None)}


def only_failure(name: str) -> Check:
    """Spark is not started for a failure that is known: that would tell it a second time, as a start that failed."""
    found = examined()
    assert [check.name for check in found.values() if not check.ok] == [name]
    assert "connection" not in found
    assert found[name].remedy
    return found[name]


def other_version(monkeypatch: pytest.MonkeyPatch, name: str, other: str) -> None:
    real = doctor.version
    monkeypatch.setattr(doctor, "version", lambda asked: other if asked == name else real(asked))


def test_all_is_well_up_to_the_connection(machine: Path) -> None:
    found = examined()
    assert list(found) == [*HEALTHY, "connection"]
    assert [name for name, check in found.items() if check.ok] == HEALTHY
    assert found["jars"].found == f"{len(jars.EMBEDDED)} in {machine / 'jars'}"
    assert found["warehouse"].found == str(machine / "home")


def test_a_version_that_we_do_not_work_with(monkeypatch: pytest.MonkeyPatch) -> None:
    other_version(monkeypatch, "dbt-core", "2.0.0")
    check = examined()["versions"]
    assert not check.ok
    assert "dbt-core 2.0.0" in check.found
    assert check.remedy.startswith("pip install 'dbt-core<")


def test_a_pyspark_that_the_jars_are_not_made_for(monkeypatch: pytest.MonkeyPatch) -> None:
    other_version(monkeypatch, "pyspark", "3.5.1")
    assert examined()["versions"].ok, "over a server it would not matter"
    assert only_failure("pyspark").found.startswith("[TRK-405] pyspark is 3.5.1, and ")


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    installed = doctor._installed
    monkeypatch.setattr(doctor, "_installed", lambda name: None if name == "pyspark" else installed(name))
    assert "TRK-405" in only_failure("pyspark").found
    assert "jars" not in examined(), "they are fetched by pyspark's Ivy"


def test_a_warehouse_that_cannot_be_written(machine: Path) -> None:
    (machine / "home").write_text("a file in the folder's place")
    assert only_failure("warehouse").found.startswith(f"[TRK-407] the embedded warehouse {machine / 'home'} ")


def test_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> java.Java:
        raise EnvironmentProblem("TRK-401", "none", remedy=java.REMEDY)

    monkeypatch.setattr(java, "find", none)
    assert "TRK-401" in only_failure("java").found


def test_jars_that_are_missing_and_cannot_be_fetched(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [h2] = jars.METASTORE
    (machine / "jars" / h2.file_name).unlink()
    check = only_failure("jars")
    assert "[TRK-402]" in check.found
    assert str(h2) in check.remedy
    # No metastore, no jar for it.
    project(monkeypatch, machine / "home", server_side_parameters={"spark.sql.catalogImplementation": "in-memory"})
    assert examined()["jars"].found.startswith(f"{len(jars.DELTA)} in ")
