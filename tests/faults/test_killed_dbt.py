"""A real `dbt run` is killed at any moment, or meets another one: readers are served, and all ends right."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from dbt_project import ENVIRONMENT, Project
from engine_world import Rows, without_hidden
from fault_child import Dbt
from fault_proxy import meeting_proxy
from fault_sessions import LONGEST
from fault_thrift import ThriftSession, ThriftSessions
from thrift_server import ThriftServer

from dbt_trickle.config import ProjectSettings
from dbt_trickle.run import recover, verify
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.repair import read_catalog

pytestmark = pytest.mark.thrift

# `make soak` kills 200.
KILLS = int(os.environ.get("TRICKLE_KILLS", "20"))
SEED = int(os.environ.get("TRICKLE_KILL_SEED", "3"))
IN_A_ROW = 3
ROUNDS = 3
QUERIES = {
    "totals": "select region, sum(amount) + 0 as total, count(*) as orders from {raw}.orders group by region",
    "big": "select region, total from {own}.totals where total > 0",
    "exposed": "select region, max(amount) + 0 as largest from {raw}.orders group by region",
}
CONFIG = "{{ config(materialized='stream_table'%s) }}\n"


@dataclass(frozen=True)
class Shop:
    """Three stream tables of a dbt project, one of them over another."""

    schema: str
    session: ThriftSession

    @property
    def raw(self) -> str:
        return f"{self.schema}_raw"

    def create(self) -> None:
        self.session.execute(f"CREATE SCHEMA {self.raw}")
        self.session.execute(f"CREATE TABLE {self.raw}.orders USING delta AS SELECT 'north' AS region, 1 AS amount")

    def query(self, name: str, version: int) -> str:
        """Every other version has other queries, so that runs load, bring in, and alter."""
        return QUERIES[name].format(raw=self.raw, own=self.schema).replace("+ 0", f"+ {version // 2}")

    def models(self, version: int) -> dict[str, str]:
        text = {name: self.query(name, version) for name in QUERIES}
        return {
            "models/totals.sql": CONFIG % "" + text["totals"],
            "models/big.sql": CONFIG % "" + text["big"].replace(f"{self.schema}.totals", "{{ ref('totals') }}"),
            "models/exposed.sql": CONFIG % ", expose='table'" + text["exposed"],
        }

    def project(self, root: Path, server: ThriftServer) -> Project:
        return Project.create(root, server.target(self.schema, threads=1), self.models(0))

    def shown(self, name: str) -> Rows:
        return without_hidden(self.session.query(f"SELECT * FROM {self.schema}.{name}"))

    def wanted(self, version: int) -> dict[str, Rows]:
        """What all are to show after a run; `big` reads what is shown, so it can only be told then."""
        return {name: without_hidden(self.session.query(self.query(name, version))) for name in QUERIES}

    def require_new(self, version: int) -> dict[str, Rows]:
        wanted = self.wanted(version)
        for name, rows in wanted.items():
            assert self.shown(name) == rows, name
        return wanted

    def all_right(self) -> None:
        """What `trickle verify` would say; one commit for each batch, and a history that is told to its end."""
        catalog = read_catalog(self.session, ProjectSettings())
        own = [table for table in catalog.stream_tables.values() if table.pgt_schema == self.schema]
        assert len(own) == len(QUERIES)
        frozen = Frozen(self.session)
        for table in own:
            verdict = verify.verify(self.session, frozen, table)
            assert (verdict.outcome, verdict.reason) == (verify.OK, ""), verdict
            commits = recover.marked_commits(self.session, table.storage, table.pgt_id, 1000)
            batches = Counter(marker.batch for _, marker in commits)
            assert max(batches.values()) == 1, f"{table.public}: {batches}"
        numbers = ", ".join(str(table.pgt_id) for table in own)
        history = self.session.query(
            f"SELECT pgt_id, batch, action, status FROM trickle.pgt_refresh_history WHERE pgt_id IN ({numbers})"
        )
        assert "RUNNING" not in {row["status"] for row in history}
        done = [row for row in history if row["status"] == "COMPLETED" and row["action"] != "NO_DATA"]
        told = Counter((row["pgt_id"], row["batch"]) for row in done)
        refreshed = {(row["pgt_id"], row["batch"]) for row in done if row["action"] in ("DIFFERENTIAL", "FULL")}
        # Of two ALTERs at once both may have been seen, one after the other.
        assert all(told[batch] == 1 for batch in refreshed), f"a refresh that no reader has seen: {done}"


def dbt(project: Project, *arguments: str) -> Dbt:
    return Dbt(project.root, arguments, {**ENVIRONMENT, "DBT_PROFILES_DIR": str(project.root)})


def statements(project: Project) -> int:
    """How many statements the current run has sent, from dbt's own log."""
    log = project.root / "logs" / "dbt.log"
    return log.read_text(encoding="utf-8").count('"name": "SQLQuery"') if log.exists() else 0


def forget_log(project: Project) -> None:
    (project.root / "logs" / "dbt.log").unlink(missing_ok=True)


def killed_at(project: Project, moment: int) -> bool:
    """Sends SIGKILL when that many statements were sent; the last one is at work on the server then."""
    forget_log(project)
    process = dbt(project, "run").start()
    deadline = time.monotonic() + LONGEST
    try:
        while process.is_alive() and statements(project) < moment:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        alive = process.is_alive()
    finally:
        process.kill()
        process.join(LONGEST)
    return alive


def test_kill_9_at_any_moment(
    server: ThriftServer, connect: ThriftSessions, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shop = Shop("killed", connect())
    shop.create()
    project = shop.project(tmp_path_factory.mktemp("killed"), server)
    project.dbt("run", "--empty").ok()  # as a user starts it
    forget_log(project)
    dbt(project, "run").ok()
    allowed = {name: [rows] for name, rows in shop.require_new(0).items()}
    last = statements(project)
    assert last > 20, "dbt's log does not tell its statements"
    chance, kills, version = random.Random(SEED), 0, 0
    while kills < KILLS:
        version += 1
        assert version < 2 * KILLS + 5, f"only {kills} of {version} were still running when they were to be killed"
        shop.session.execute(f"INSERT INTO {shop.raw}.orders VALUES ('north', 1), ('region {version}', {version})")
        for name, text in shop.models(version).items():
            project.write(name, text)
        moment = chance.randint(1, last)
        kills += killed_at(project, moment)
        for name, new in shop.wanted(version).items():
            # Nothing but the old or the new content; `big` may be over the old `totals`.
            allowed[name].append(new)
            now = shop.shown(name)
            right = now in allowed[name] or name == "big"
            assert right, f"killed at statement {moment}: {name} shows {now}"
            assert now, f"killed at statement {moment}: {name} is empty"
        if version % IN_A_ROW and kills < KILLS:
            continue  # the next one is killed while it puts right what this one has left
        forget_log(project)
        dbt(project, "run").ok()
        allowed = {name: [rows] for name, rows in shop.require_new(version).items()}
        last = statements(project)  # about as many as the next one will send
    print(f"{kills} runs were killed, and {version - kills} were too fast for that")
    nothing = dbt(project, "run").ok()
    assert {r["adapter_response"]["action"] for r in project.results().values()} == {"NO_DATA"}, nothing.output
    shop.all_right()


def test_two_dbt_runs_at_once(
    server: ThriftServer, connect: ThriftSessions, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The same project from two machines: of each batch one run makes the commit, the other one goes on from it."""
    shop = Shop("twice", connect())
    shop.create()
    with meeting_proxy(server.host, server.port) as wire:
        way = replace(server, port=wire.port)
        projects = [shop.project(tmp_path_factory.mktemp(name), way) for name in ("one", "other")]
        for version in range(ROUNDS):
            # Said to Delta right before the commit of a batch: both are about the same one then.
            wire.expect("write.txnVersion")
            _run_both(shop, projects, version)
            assert wire.met, f"in round {version} only one of them came so far"


def _run_both(shop: Shop, projects: list[Project], version: int) -> None:
    shop.session.execute(f"INSERT INTO {shop.raw}.orders VALUES ('north', 1), ('region {version}', {version})")
    for project in projects:
        for name, text in shop.models(version).items():
            project.write(name, text)
    processes = [dbt(project, "run").start() for project in projects]
    for project, process in zip(projects, processes, strict=True):
        process.join(LONGEST)
        assert process.exitcode == 0, dbt(project).output
    shop.require_new(version)
    shop.all_right()
