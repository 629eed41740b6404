"""A Spark that the process had before dbt: used if it can serve what the profile asks for, and refused if not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from dbt.adapters.trickle import embedded
from dbt.adapters.trickle.asked import CATALOG, DELTA, EXTENSIONS
from dbt.adapters.trickle.credentials import ANSI, TrickleCredentials
from dbt_trickle.errors import TrickleError

FIXED = ("spark.ui.", "spark.master", "spark.sql.catalogImplementation")
THEIRS = {
    **DELTA,
    "spark.master": "local[1]",
    "spark.ui.enabled": "true",
    "spark.sql.catalogImplementation": "hive",
    "spark.sql.warehouse.dir": "file:/data/warehouse",
    ANSI: "true",
}


class Conf:
    """As a session's: what it was made with, and what may be set later."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values = dict(values)

    def get(self, key: str) -> str:
        if key not in self.values:
            raise PySparkException(f"[SQL_CONF_NOT_FOUND] {key}")
        return self.values[key]

    def set(self, key: str, value: str) -> None:
        if key.startswith(FIXED):
            raise AnalysisException(f"[CANNOT_MODIFY_CONFIG] {key}")
        self.values[key] = value


class Session:
    """A running PySpark session; those that are made of it begin with its settings."""

    def __init__(self, values: dict[str, str]) -> None:
        self.conf = Conf(values)
        running = SimpleNamespace(isStopped=lambda: False)
        self.sparkContext = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: running))

    def newSession(self) -> Session:
        return Session(self.conf.values)


class Notebook:
    def __init__(self, patch: pytest.MonkeyPatch, home: Path) -> None:
        self.patch, self.home = patch, home

    def has(self, **more: str | None) -> None:
        settings = {**THEIRS, **{key.replace("__", "."): value for key, value in more.items()}}
        session = Session({key: value for key, value in settings.items() if value is not None})
        self.patch.setattr(embedded, "_running", None)
        self.patch.setattr(SparkContext, "_active_spark_context", object())
        self.patch.setattr(SparkSession, "builder", SimpleNamespace(getOrCreate=lambda: session))

    def connect(self, **settings: Any) -> Any:
        settings = {key.replace("__", "."): value for key, value in settings.items()}
        profile = {"schema": "s", "home": str(self.home), "server_side_parameters": settings}
        return embedded.new_session(TrickleCredentials.from_dict(TrickleCredentials.translate_aliases(profile)))

    def refuses(self, **settings: Any) -> TrickleError:
        with pytest.raises(TrickleError) as refusal:
            self.connect(**settings)
        return refusal.value


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Notebook:
    return Notebook(monkeypatch, tmp_path / "home")


def test_it_is_used_as_it_is(notebook: Notebook) -> None:
    notebook.has()
    session = notebook.connect(spark__sql__shuffle__partitions=7)
    assert session.conf.values == {**THEIRS, "spark.sql.shuffle.partitions": "7", ANSI: "false"}
    spark = embedded.running()
    assert spark is not None
    assert spark.session.conf.values == THEIRS  # the program's own session is left alone
    assert spark.lock is None
    assert not notebook.home.exists()


def test_what_the_profile_asks_may_be_so_already(notebook: Notebook) -> None:
    notebook.has()
    notebook.connect(spark__master="local[1]", spark__ui__enabled=True, spark__sql__catalogImplementation="hive")
    notebook.connect(spark__sql__warehouse__dir="/data/warehouse")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.master", "local[*]"),
        ("spark.driver.memory", "2g"),  # it has none: Spark does not tell what it takes then
        ("spark.executor.memory", "2g"),
        ("spark.hadoop.fs.s3a.secret.key", "secret"),
        ("spark.jars", "/a.jar"),
        ("spark.sql.extensions", "org.example.Extension"),
        ("spark.sql.warehouse.dir", "/data/other"),
        ("spark.sql.catalogImplementation", "in-memory"),
        ("spark.ui.enabled", "false"),  # not on our list: Spark itself refuses it
    ],
)
def test_what_counts_only_at_its_start_is_refused(notebook: Notebook, key: str, value: str) -> None:
    notebook.has()
    refusal = notebook.refuses(**{key: value})
    assert refusal.code == "TRK-404"
    assert refusal.what == f"Spark already runs in this process with other settings for {key}"
    assert "must be made with them" in refusal.remedy
    assert "secret" not in str(refusal).replace(key, "")
    # The next connection may ask for something else; the refusal was of the profile, not of the Spark.
    notebook.connect()


@pytest.mark.parametrize(
    ("lacks", "has"),
    [
        ({EXTENSIONS: None}, "spark.sql.extensions is not set"),
        ({EXTENSIONS: "org.example.Extension"}, "spark.sql.extensions is org.example.Extension"),
        ({CATALOG: None}, "spark.sql.catalog.spark_catalog is not set"),
        ({CATALOG: "builtin"}, "spark.sql.catalog.spark_catalog is builtin"),
    ],
)
def test_it_must_have_delta(notebook: Notebook, lacks: dict[str, str | None], has: str) -> None:
    notebook.has(**lacks)
    refusal = notebook.refuses()
    assert (refusal.code, refusal.what) == ("TRK-304", f"Spark runs without Delta ({has})")
    assert all(f"{key}={value}" in refusal.remedy for key, value in DELTA.items())
    assert "io.delta:delta-spark" in refusal.remedy


def test_delta_may_be_one_of_several(notebook: Notebook) -> None:
    notebook.has(**{EXTENSIONS: f"org.example.Extension, {DELTA[EXTENSIONS]}", CATALOG: "org.example.KnowsDelta"})
    notebook.connect()
