"""A dbt project against a thrift server, as it would be run against a cluster's."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import threading
from pathlib import Path

import pytest
from dbt_project import Project, Run, until
from thrift_server import ThriftServer, free_port

pytestmark = pytest.mark.thrift

FILES = {
    "seeds/orders.csv": "id,amount,at\n1,9007199254740993,2024-01-01\n2,20,2024-01-02\n3,,2024-01-03\n",
    "models/spent.sql": "{{ config(materialized='table') }} select id, amount from {{ ref('orders') }}",
    "models/spent_view.sql": "select sum(amount) as total, 'it''s; 100%' as note from {{ ref('spent') }}",
    "models/merged.sql": """
        {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
        select id, coalesce(amount, 0) + {{ var('more', 0) }} as amount from {{ ref('orders') }}
        {% if is_incremental() %} where id > 1 union all select 9, 9 {% endif %}
    """,
    "models/tests.yml": """
        version: 2
        models:
          - name: merged
            columns: [{name: id, data_tests: [unique, not_null]}]
    """,
    "snapshots/history.yml": """
        snapshots:
          - name: history
            relation: ref('merged')
            config: {strategy: check, unique_key: id, check_cols: all}
    """,
}
BROKEN = {
    "models/no_column.sql": "select no_such_column from {{ ref('orders') }}",
    "models/no_parse.sql": "select 1 as a,, 2 as b",
    "models/no_cast.sql": """{{ config(materialized='table', pre_hook=[
            'set spark.sql.ansi.enabled = true', 'set spark.sql.codegen.factoryMode = fallback']) }}
        select cast(concat('x', id) as int) as a from {{ ref('orders') }}""",
    # Not converted by Spark into an error class: only the last of the nested causes says what it is.
    "models/no_number.sql": """{{ config(materialized='table') }}
        select java_method('java.lang.Integer', 'parseInt', concat('x', id)) as a from {{ ref('orders') }}""",
}
SASL_BAD = 3
JAVA = re.compile(r"^\s+at [\w$.]+\(|\b(?:org\.apache|java\.lang|scala)\.|HiveSQLException", re.MULTILINE)


@pytest.fixture(scope="module")
def project(server: ThriftServer, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project.create(tmp_path_factory.mktemp("project"), server.target("shop"), FILES)


def one_error(run: Run, code: str) -> None:
    assert run.returncode in (1, 2), run.output
    assert run.output.count(code) == 1, run.output
    assert not JAVA.search(run.output), run.output
    assert "Traceback" not in run.output


def test_a_project_is_built_twice(project: Project) -> None:
    first = project.dbt("build").ok()
    assert "PASS=7 " in first.output
    second = project.dbt("build", "--vars", "{more: 1}").ok()

    results = project.results()
    assert results["merged"]["adapter_response"]["rows_affected"] == 3  # two updated, one inserted
    assert results["merged"]["adapter_response"]["_message"] == "OK 3 rows"
    assert "OK 3 rows" in second.output
    shown = project.dbt("show", "--inline", "select id, amount from {{ ref('merged') }}", "--output", "json").ok()
    rows = sorted(re.findall(r'"id": (\d+),\s+"amount": (\d+)', shown.output))
    assert rows == [("1", "9007199254740993"), ("2", "21"), ("3", "1"), ("9", "9")]

    history = "select count(*) as n from {{ ref('history') }} where dbt_valid_to is null"
    shown = project.dbt("show", "--inline", history, "--output", "json").ok()
    assert '"n": 4' in shown.output

    # dbt-spark sleeps five seconds after each statement that does not end at once.
    slowest = max(result["execution_time"] for result in results.values())
    print(f"first {first.seconds:.1f} s, second {second.seconds:.1f} s, slowest node {slowest:.1f} s")


@pytest.fixture(scope="module")
def broken(server: ThriftServer, tmp_path_factory: pytest.TempPathFactory) -> Project:
    seed = {"seeds/orders.csv": FILES["seeds/orders.csv"]}
    project = Project.create(tmp_path_factory.mktemp("broken"), server.target("broken"), {**seed, **BROKEN})
    project.dbt("seed").ok()
    return project


@pytest.mark.parametrize(
    ("model", "code", "words"),
    [
        ("no_column", "[UNRESOLVED_COLUMN.WITH_SUGGESTION]", "`no_such_column` cannot be resolved"),
        ("no_parse", "[PARSE_SYNTAX_ERROR]", "in: select 1 as a,, 2 as b"),
        ("no_cast", "[CAST_INVALID_INPUT]", "cannot be cast to"),
        ("no_number", 'For input string: "x', "NumberFormatException"),
    ],
)
def test_a_failing_model_is_told_in_one_message(broken: Project, model: str, code: str, words: str) -> None:
    run = broken.dbt("run", "--select", model)
    assert run.returncode == 1
    one_error(run, code)
    assert words in run.output
    assert code in broken.results()[model]["message"]


def test_ctrl_c_ends_the_query_on_the_server(server: ThriftServer, tmp_path: Path) -> None:
    sleep = "select java_method('java.lang.Thread', 'sleep', 120000L) as a from range(1)"
    project = Project.create(
        tmp_path, server.target("stopped"), {"models/slow.sql": "{{ config(materialized='table') }}" + sleep}
    )
    log = project.root / "logs" / "dbt.log"
    process = project.start("run", own_group=True)
    try:
        # The second poll: the statement is running, and its thread is waiting for the server.
        until(lambda: log.exists() and log.read_text().count("Poll status: 1, sleeping") > 1, "no query", 120)
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)  # the model would sleep for 120
    finally:
        process.kill()
    assert process.returncode not in (0, -signal.SIGINT), output
    assert "CANCEL" in output
    assert not JAVA.search(output), output  # dbt itself prints the stack of its KeyboardInterrupt
    assert "[TABLE_OR_VIEW_NOT_FOUND]" in project.dbt("show", "--inline", "select * from stopped.slow").output


def test_a_query_that_takes_too_long_is_given_up(server: ThriftServer, tmp_path: Path) -> None:
    """dbt-spark's query_timeout, over our shorter polls. Views: a cold server takes seconds for a table."""
    sleep = "select java_method('java.lang.Thread', 'sleep', 30000L) as a from range(1)"
    files = {
        "models/quick.sql": "select 1 as id",
        "models/slow.sql": "{{ config(materialized='table') }}" + sleep,
    }
    project = Project.create(tmp_path, server.target("timed", query_timeout=5, query_retries=0), files)
    run = project.dbt("run")
    assert run.returncode == 1, run.output
    assert "Query exceeded timeout of 5 seconds" in project.results()["slow"]["message"]
    assert project.results()["quick"]["status"] == "success"


def test_an_unreachable_server(server: ThriftServer, tmp_path: Path) -> None:
    port = free_port()
    project = Project.create(tmp_path, server.target("shop", port=port), FILES)
    run = project.dbt("run")
    assert run.returncode == 2
    one_error(run, "[TRK-408]")
    assert f"no connection to the Spark server at 127.0.0.1:{port} (method thrift)" in run.output
    assert "Check host, port, user and password" in run.output


def test_a_wrong_password(server: ThriftServer, tmp_path: Path) -> None:
    """Spark's own server lets everybody in; this is what one with LDAP answers to the SASL handshake."""
    words = b"Error validating the login"

    def refuse() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # closed: the test is over
                return
            with connection:
                connection.recv(1024)
                connection.sendall(struct.pack(">BI", SASL_BAD, len(words)) + words)
                connection.recv(1024)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=refuse, daemon=True).start()
        target = server.target("shop", port=listener.getsockname()[1], auth="LDAP", password="wrong")
        run = Project.create(tmp_path, target, FILES).dbt("run")
    assert run.returncode == 2
    one_error(run, "[TRK-408]")
    assert words.decode() in run.output
    assert "Check host, port, user and password" in run.output


def test_settings_of_the_profile_reach_the_session(server: ThriftServer, tmp_path: Path) -> None:
    settings = {"spark.sql.shuffle.partitions": 3, "spark.sql.session.timeZone": "Europe/Berlin"}
    project = Project.create(tmp_path, server.target("shop", server_side_parameters=settings), {})
    wanted = {**settings, "spark.sql.ansi.enabled": "false"}
    project.write(
        "macros/shown.sql",
        f"""
        {{% macro shown() %}}{{% for name in {list(wanted)} %}}
            {{{{ log(run_query("set " ~ name).rows[0] | join("="), info=True) }}}}
        {{% endfor %}}{{% endmacro %}}
    """,
    )
    run = project.dbt("run-operation", "shown").ok()
    assert all(f"{name}={value}" in run.output for name, value in wanted.items()), run.output

    project.profile(server.target("shop", server_side_parameters={"spark.driver.memory": "9g"}))
    run = project.dbt("run-operation", "shown")
    assert run.returncode == 1
    one_error(run, "[TRK-411]")
    assert "spark.driver.memory: [CANNOT_MODIFY_CONFIG]" in run.output
    assert "9g" not in run.output  # it might be a password
