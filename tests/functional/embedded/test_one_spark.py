"""The one Spark of a process, seen from inside: scripts in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from dbt_project import LONGEST_RUN

pytestmark = pytest.mark.spark

COMMON = """
import sys, threading, time
from dbt.adapters.trickle.credentials import TrickleCredentials
from dbt.adapters.trickle.session import TrickleSession
from dbt_common.exceptions import DbtDatabaseError
from dbt_trickle.errors import EnvironmentProblem

home = sys.argv[1]
PARTITIONS = "spark.sql.shuffle.partitions"

def session(home=home, **settings):
    settings = {key.replace("__", "."): value for key, value in settings.items()}
    settings["spark.sql.catalogImplementation"] = "in-memory"
    return TrickleSession(TrickleCredentials(
        host="embedded", method="session", schema="s", home=home, server_side_parameters=settings))

def rows(session, sql):
    session.cursor().execute(sql)
    return [tuple(row) for row in session.fetchall()]

def setting(session, name):
    return rows(session, f"set {name}")[0][1]
"""


def run(script: str, home: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", COMMON + script, str(home)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_RUN, check=False)
    assert answer.returncode == 0, answer.stderr
    print(answer.stdout)
    return answer


SETTINGS = """
began = time.monotonic()
first = session(spark__sql__shuffle__partitions="3", spark__driver__memory="1g")
print(f"# session after {time.monotonic() - began:.1f} s")
for name in (PARTITIONS, "spark.driver.memory", "spark.sql.ansi.enabled"):
    print(setting(first, name))

second = session(spark__sql__shuffle__partitions="5", spark__driver__memory="1g")
print(setting(second, PARTITIONS), setting(first, PARTITIONS))
rows(second, "create temporary view mine as select 1")
for sql in ("select * from mine", "select raise_error('[OH] no') from range(1)"):
    try:
        rows(first, sql)
    except DbtDatabaseError as problem:
        print(problem.msg)
    except Exception as problem:
        print(type(problem).__name__)

for other, settings in ((home, {"spark__driver__memory": "2g"}), (home + "2", {})):
    try:
        session(other, **settings)
    except EnvironmentProblem as problem:
        print(problem.code, problem.what)
"""


def test_settings_of_the_profile(tmp_path: Path) -> None:
    home = tmp_path / "home"
    answer = run(SETTINGS, home)
    assert answer.stderr == ""
    assert [line for line in answer.stdout.splitlines() if not line.startswith("#")] == [
        "3",
        "1g",
        "false",
        "5 3",  # a session of its own for each connection
        "AnalysisException",  # nor does it see the other's temporary view; dbt's handler words this one
        "[USER_RAISED_EXCEPTION] [OH] no SQLSTATE: P0001",  # while fetching, dbt has no handler
        "TRK-404 Spark already runs in this process with other settings for spark.driver.memory",
        f"TRK-404 Spark already runs in this process with the warehouse {home}, not {home}2",
    ]


ADOPTED = """
from dbt.adapters.trickle import embedded
from dbt.adapters.trickle.asked import DELTA
from dbt_trickle.errors import TrickleError
from pyspark.sql import SparkSession

credentials = TrickleCredentials(host="embedded", method="session", schema="s", home=home)
jars = ":".join(map(str, embedded.ensure_jars(credentials)))
warehouse = home + " of a notebook"
theirs = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false",
          "spark.driver.extraClassPath": jars, "spark.sql.warehouse.dir": warehouse}

def notebook(**more):
    return SparkSession.builder.master("local[1]").config(map={**theirs, **more}).getOrCreate()

def refused(**settings):
    try:
        session(**settings)
    except TrickleError as problem:
        print(problem.code, problem.what)

spark = notebook()
refused()
spark.stop()

spark = notebook(**DELTA)
spark.range(3).createGlobalTempView("theirs")
refused(spark__driver__memory="2g", spark__jars="/a.jar", spark__ui__enabled="true")

found = []
def use():
    mine = session(spark__sql__warehouse__dir=warehouse)
    rows(mine, "create table mine using delta as select * from global_temp.theirs")
    found.extend(rows(mine, "select count(*) from mine version as of 0"))

thread = threading.Thread(target=use)
thread.start()
thread.join()
print(found, spark.sparkContext.master)
"""


def test_the_spark_of_a_notebook_is_used_from_any_thread(tmp_path: Path) -> None:
    home = tmp_path / "home"
    # What their Spark prints while it starts is theirs, too; on a new machine jars are fetched before.
    assert run(ADOPTED, home).stdout.splitlines()[-3:] == [
        "TRK-304 Spark runs without Delta (spark.sql.extensions is not set)",
        "TRK-404 Spark already runs in this process with other settings for spark.driver.memory, spark.jars",
        "[(3,)] local[1]",
    ]
    assert not home.exists()
    assert (tmp_path / "home of a notebook" / "mine" / "_delta_log").is_dir()
