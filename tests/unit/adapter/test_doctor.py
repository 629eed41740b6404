"""What `trickle doctor` finds wrong, before any Spark is started and of one that it reaches."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.trickle import asked, doctor, jars, java
from dbt.adapters.trickle.credentials import TrickleCredentials
from dbt.adapters.trickle.doctor import Check
from dbt_trickle.catalog import store, tables
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import EnvironmentProblem, TrickleError, WarehouseError

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
    monkeypatch.setattr(doctor, "open_project", lambda *_: opened)


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


LACKS = "<undefined>"
SERVER = {asked.EXTENSIONS: asked.DELTA[asked.EXTENSIONS], asked.CATALOG: asked.DELTA[asked.CATALOG]}


class Server:
    """A Spark that is connected to: its settings, and the entries of its catalog; none: there is no catalog."""

    def __init__(self, settings: Mapping[str, str] = SERVER, entries: Sequence[store.Entry] | None = ()) -> None:
        self.settings, self.entries = settings, entries

    def execute(self, sql: str) -> None:
        raise AssertionError(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql == "SELECT version() AS v":
            return [{"v": "4.1.4 abc"}]
        if sql.startswith("SET "):
            return [{"value": self.settings[sql.removeprefix("SET ")]}]
        if self.entries is None:
            raise WarehouseError("TRK-301", "[TABLE_OR_VIEW_NOT_FOUND] it is not there")
        return [{"kind": e.kind, "key": e.key, "payload": e.payload} for e in self.entries]


def connected(monkeypatch: pytest.MonkeyPatch, server: Server | TrickleError, ends: Exception | None = None) -> Any:
    @contextmanager
    def connect() -> Iterator[Server]:
        if isinstance(server, TrickleError):
            raise server
        yield server
        if ends is not None:
            raise ends

    settings = ProjectSettings()
    opened = SimpleNamespace(name="shop", target="dev", method="thrift", schema="s", settings=settings, connect=connect)
    monkeypatch.setattr(doctor, "open_project", lambda *_: opened)
    found = list(doctor.examine(None, None, None, None))
    names = [check.name for check in found]
    assert len(names) == len(set(names)), "a check is made once"
    assert all(check.ok or check.remedy for check in found), "a failure without a remedy"
    return found[2:]


def test_a_server_that_has_all(monkeypatch: pytest.MonkeyPatch) -> None:
    found = connected(monkeypatch, Server(entries=[store.schema_version()]))
    assert [(check.name, check.ok) for check in found] == [("connection", True), ("delta", True), ("catalog", True)]
    assert found[1].found == ", ".join(asked.DELTA.values())
    assert found[2].found == f"trickle (version {tables.SCHEMA_VERSION}): 0 stream tables"


@pytest.mark.parametrize(
    ("entries", "there"),
    [
        (None, "trickle: not there yet; the first stream table creates it"),
        ([], "trickle: not there yet; the first stream table creates it"),
        (
            [store.Entry(tables.META, "schema_version", "1"), store.opened("i", {})],
            f"trickle (version 1): 0 stream tables; the next run brings it to version {tables.SCHEMA_VERSION}; "
            "1 runs have not closed: the next one settles what they left",
        ),
    ],
)
def test_the_catalog_that_is_there(
    entries: Sequence[store.Entry] | None, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connected(monkeypatch, Server(entries=entries))[-1] == Check("catalog", True, there)


def test_a_catalog_of_a_newer_release(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = [store.Entry(tables.META, "schema_version", "99")]
    *_, connection, delta, catalog = connected(monkeypatch, Server(entries=newer))
    assert (connection.ok, delta.ok, catalog.ok) == (True, True, False)
    assert catalog.found.startswith("[TRK-302] ")
    assert "Upgrade" in catalog.remedy


@pytest.mark.parametrize(
    ("lacks", "told"),
    [
        ({asked.EXTENSIONS: LACKS}, "spark.sql.extensions is not set"),
        ({asked.EXTENSIONS: "org.example.Extension"}, "spark.sql.extensions is org.example.Extension"),
        ({asked.CATALOG: LACKS}, "spark.sql.catalog.spark_catalog is not set"),
        ({asked.CATALOG: "builtin"}, "spark.sql.catalog.spark_catalog is builtin"),
    ],
)
def test_a_server_without_delta_or_its_catalog(
    lacks: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = connected(monkeypatch, Server({**SERVER, **lacks}))
    assert [check.name for check in found] == ["connection", "delta"], "what needs the failed part is not tried"
    assert found[-1].found == f"[TRK-304] Spark runs without Delta ({told})"
    assert all(f"{key}={value}" in found[-1].remedy for key, value in asked.DELTA.items())


def test_a_server_that_is_away_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    away = WarehouseError(
        "TRK-306", "no answer from the Spark server: [TRK-408] no connection to h:1: refused\n  Check.", remedy="Wait."
    )
    assert connected(monkeypatch, away) == [
        Check("connection", False, "[TRK-408] no connection to h:1: refused", "Check.")
    ]
    [bare] = connected(monkeypatch, WarehouseError("TRK-301", "what Spark says"))
    assert (bare.name, bare.ok, bool(bare.remedy)) == ("connection", False, True)


def test_a_connection_that_was_lost_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    found = connected(monkeypatch, Server(), ends=WarehouseError("TRK-306", "no answer", remedy="Wait."))
    assert [(check.name, check.ok) for check in found][-2:] == [("catalog", True), ("disconnect", False)]
