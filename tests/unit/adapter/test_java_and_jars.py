"""What a fresh machine may lack, and what it is told to do."""

from __future__ import annotations

import threading
from pathlib import Path

import pyspark.java_gateway
import pytest

from dbt.adapters.trickle import embedded, jars, java
from dbt.adapters.trickle.credentials import TrickleCredentials
from dbt_trickle.errors import EnvironmentProblem

SPARK_HOME = Path(pyspark.__file__).parent
OLD = 'openjdk version "1.8.0_292"'
NEW = 'openjdk version "21-ea" 2023-09-19'
H2 = "com/h2database/h2/1.4.200"


def fake_java(folder: Path, says: str, mode: int = 0o755) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "java"
    script.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    script.chmod(mode)
    return script


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH (the fake's interpreter is found by its own path)."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def refusal() -> str:
    with pytest.raises(EnvironmentProblem) as problem:
        java.find()
    assert problem.value.code == "TRK-401"
    assert problem.value.remedy == java.REMEDY
    return problem.value.what


def test_no_java(path: Path) -> None:
    assert refusal() == "Spark needs Java, and no `java` on the PATH"


def test_old_java(path: Path) -> None:
    script = fake_java(path, OLD)
    assert refusal() == f"Spark needs Java 17 or newer, and {script} is Java 8"


def test_new_java(path: Path) -> None:
    script = fake_java(path, NEW)
    assert java.find() == java.Java(str(script), 21)


def test_something_else_called_java(path: Path) -> None:
    script = fake_java(path, "Unable to locate a Java Runtime")
    assert refusal() == f"{script} does not tell its version"


def test_java_of_another_machine(path: Path) -> None:
    script = fake_java(path, NEW)
    script.write_bytes(b"\x7fELF of another architecture")
    assert refusal().startswith(f"Spark needs Java, and {script} does not run: ")


def test_java_home_goes_first_as_in_spark(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(path, OLD)
    script = fake_java(tmp_path / "jdk" / "bin", NEW)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert java.find().executable == str(script)
    script.unlink()
    assert refusal() == f"Spark needs Java, and JAVA_HOME={tmp_path / 'jdk'} has no bin/java"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Maven repository in place of the registry, and an empty cache."""
    settings = tmp_path / "settings.xml"
    settings.write_text(
        f"""<ivysettings>
          <settings defaultResolver="local"/>
          <caches defaultCacheDir="{tmp_path / "ivy"}"/>
          <resolvers>
            <ibiblio name="local" m2compatible="true" root="{(tmp_path / "repository").as_uri()}"/>
          </resolvers>
        </ivysettings>"""
    )
    monkeypatch.setenv("TRICKLE_IVY_SETTINGS", str(settings))
    monkeypatch.setenv("TRICKLE_JARS_DIR", str(tmp_path / "jars"))
    monkeypatch.setattr(jars, "PAUSES", ())
    return tmp_path / "repository"


def test_no_jars_and_no_registry(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem) as problem:
        jars.ensure(jars.METASTORE, SPARK_HOME, java.find().executable)
    assert str(problem.value) == (
        "[TRK-402] the jars that the embedded Spark needs are neither in the cache nor could they be "
        "fetched (module not found: com.h2database#h2;1.4.200)\n"
        "  Let this machine reach a Maven repository once (a mirror: set TRICKLE_IVY_SETTINGS to an Ivy "
        f"settings file), or copy these jars into {tmp_path / 'jars'}: com.h2database:h2:1.4.200"
    )
    assert list((tmp_path / "jars").iterdir()) == []


def test_jars_are_fetched_once(repository: Path, tmp_path: Path) -> None:
    folder = repository / H2
    folder.mkdir(parents=True)
    (folder / "h2-1.4.200.jar").write_text("a jar")
    (folder / "h2-1.4.200.pom").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>com.h2database</groupId>"
        "<artifactId>h2</artifactId><version>1.4.200</version></project>"
    )
    wanted = [tmp_path / "jars" / "h2-1.4.200.jar"]
    assert jars.ensure(jars.METASTORE, SPARK_HOME, java.find().executable) == wanted
    assert wanted[0].read_text() == "a jar"
    assert list((tmp_path / "jars").iterdir()) == wanted
    assert jars.ensure(jars.METASTORE, SPARK_HOME, "no java is run for what is there") == wanted


def test_a_registry_that_fails_once_is_asked_again(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def retrieve(artifacts: list[jars.Artifact], folder: Path, ivy: list[str]) -> str:
        asked.append([a.name for a in artifacts])
        for artifact in artifacts[:-1] if len(asked) == 1 else artifacts:
            (folder / artifact.file_name).write_text("a jar")
        return "module not found" if len(asked) == 1 else ""

    monkeypatch.setattr(jars, "_retrieve", retrieve)
    monkeypatch.setattr(jars, "PAUSES", (0, 0))
    found = jars.ensure(jars.DELTA, SPARK_HOME, "java")
    assert all(path.is_file() for path in found)
    assert asked == [[a.name for a in jars.DELTA], [jars.DELTA[-1].name]]


def test_of_two_processes_one_fetches(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one comes while the first fetches: it waits, and finds what the first has brought."""
    asked = []
    second = threading.Thread(target=jars.ensure, args=(jars.METASTORE, SPARK_HOME, "java"))

    def retrieve(artifacts: list[jars.Artifact], folder: Path, ivy: list[str]) -> str:
        asked.append(artifacts)
        if len(asked) == 1:
            second.start()
            second.join(0.2)
        for artifact in artifacts:
            (folder / artifact.file_name).write_text("a jar")
        return ""

    monkeypatch.setattr(jars, "_retrieve", retrieve)
    jars.ensure(jars.METASTORE, SPARK_HOME, "java")
    second.join()
    assert len(asked) == 1


def test_a_cache_that_cannot_be_written(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "jars").write_text("a file in the folder's place")
    with pytest.raises(EnvironmentProblem, match=r"TRK-402.*File exists\n  Set TRICKLE_JARS_DIR"):
        jars.ensure(jars.METASTORE, SPARK_HOME, "java")


def test_a_spark_without_ivy(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    with pytest.raises(EnvironmentProblem, match="has no Ivy") as problem:
        jars.ensure(jars.DELTA, tmp_path / "spark", "java")
    assert all(str(artifact) in problem.value.remedy for artifact in jars.DELTA)


def test_the_cache_is_one_for_all_projects_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRICKLE_JARS_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert jars.cache_dir() == tmp_path / "dbt-trickle" / "jars"


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (RuntimeError(""), "RuntimeError"),
        (OSError(), "OSError"),
        (RuntimeError("\nThe JVM died\nat x"), "The JVM died"),
    ],
)
def test_a_spark_that_does_not_start_whatever_it_says(
    problem: Exception, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(embedded, "_running", None)
    monkeypatch.setattr(embedded, "_adopt", lambda credentials: None)
    monkeypatch.setattr(embedded, "ensure_jars", lambda credentials: [])
    monkeypatch.setattr(pyspark.java_gateway, "launch_gateway", dies)
    with pytest.raises(EnvironmentProblem) as refused:
        embedded.get(TrickleCredentials.from_dict({"schema": "s", "database": None, "home": str(tmp_path)}))
    assert refused.value.code == "TRK-406"
    assert refused.value.what == f"the embedded Spark did not start: {told}"
    assert f"{tmp_path / 'spark.log'} ends with: (nothing)" in refused.value.remedy
