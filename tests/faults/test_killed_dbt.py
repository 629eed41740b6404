"""A real `dbt run` is killed at any moment; a reader is served, and the next run ends right."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest
from dbt_project import Project
from engine_world import Rows, without_hidden
from fault_thrift import ThriftSession
from thrift_server import ThriftServer

pytestmark = pytest.mark.thrift

# `make soak` kills 50.
KILLS = int(os.environ.get("TRICKLE_KILLS", "4"))
SEED = int(os.environ.get("TRICKLE_KILL_SEED", "3"))
QUERIES = {
    "totals": "select region, sum(amount) + 0 as total, count(*) as orders from killed_raw.orders group by region",
    "big": "select region, total from killed.totals where total > 0",
    "exposed": "select region, max(amount) + 0 as largest from killed_raw.orders group by region",
}
LONGEST_RUN = 240.0
CONFIG = "{{ config(materialized='stream_table'%s) }}\n"


def models(version: int) -> dict[str, str]:
    """Every other version has other queries, so that runs load, overwrite, and alter."""
    text = {name: query.replace("+ 0", f"+ {version // 2}") for name, query in QUERIES.items()}
    return {
        "models/totals.sql": CONFIG % "" + text["totals"].replace("killed_raw.", "killed_raw."),
        "models/big.sql": CONFIG % "" + text["big"].replace("killed.totals", "{{ ref('totals') }}"),
        "models/exposed.sql": CONFIG % ", expose='table'" + text["exposed"],
    }


def statements(project: Project) -> int:
    """How many statements the current run has sent, from dbt's own log."""
    log = project.root / "logs" / "dbt.log"
    return log.read_text(encoding="utf-8").count('"name": "SQLQuery"') if log.exists() else 0


def killed_at(project: Project, moment: int) -> bool:
    """Sends SIGKILL when that many statements were sent; the last one is at work on the server then."""
    (project.root / "logs" / "dbt.log").unlink()
    process = project.start("run")
    deadline = time.monotonic() + LONGEST_RUN
    try:
        while process.poll() is None and statements(project) < moment:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        alive = process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return alive


def test_kill_9_at_any_moment(server: ThriftServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    session = ThriftSession(server.connect())

    def rows(query: str) -> Rows:
        return without_hidden(session.query(query))

    def shown(name: str) -> Rows:
        return rows(f"SELECT * FROM killed.{name}")

    def wanted(name: str, version: int) -> Rows:
        return rows(QUERIES[name].replace("+ 0", f"+ {version // 2}"))

    def run(version: int) -> None:
        project.dbt("run").ok()
        for name in QUERIES:
            assert shown(name) == wanted(name, version), name

    session.execute("CREATE SCHEMA killed_raw")
    session.execute("CREATE TABLE killed_raw.orders USING delta AS SELECT 'north' AS region, 1 AS amount")
    project = Project.create(tmp_path_factory.mktemp("killed"), server.target("killed", threads=1), models(0))
    project.dbt("run", "--empty").ok()
    (project.root / "logs" / "dbt.log").unlink()
    run(0)
    last = statements(project)
    assert last > 20, "dbt's log does not tell its statements"
    chance, kills = random.Random(SEED), 0
    for version in range(1, KILLS + 1):
        session.execute(f"INSERT INTO killed_raw.orders VALUES ('north', 1), ('region {version}', {version})")
        for name, text in models(version).items():
            project.write(name, text)
        old = {name: shown(name) for name in QUERIES}
        moment = chance.randint(1, last)
        kills += killed_at(project, moment)
        for name in QUERIES:
            # Nothing but the old or the new content; `big` may be over the old `totals`.
            now, new = shown(name), wanted(name, version)
            assert now in (old[name], new) or name == "big", f"killed at statement {moment}: {name} shows {now}"
            assert now, f"killed at statement {moment}: {name} is empty"
        run(version)
    print(f"{kills} of {KILLS} runs were killed, at some of {last} statements")
    assert kills > KILLS / 2

    nothing = project.dbt("run").ok()
    assert {r["adapter_response"]["action"] for r in project.results().values()} == {"NO_DATA"}, nothing.output
    history = session.query("SELECT status FROM trickle.pgt_refresh_history")
    assert "RUNNING" not in {row["status"] for row in history}
