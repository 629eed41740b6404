"""dbt commands as processes beside and after each other, over one embedded warehouse."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dbt_project import Project, Run, sparks, until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for Java processes in /proc"),
]
# For longer than any test takes, without using a core; from a range, so that it is a job and not a constant.
SLEEP = "java_method('java.lang.Thread', 'sleep', 600000L)"
FILES = {
    "seeds/numbers.csv": "big,part,at\n9007199254740993,0.1,2024-01-01 00:00:00.123456\n",
    "models/quick.sql": "{{ config(materialized='table') }} select 1 as id, 'ä' as letter",
    "models/quick_view.sql": "select * from {{ ref('quick') }}",
    "models/kept.sql": "{{ config(materialized='stream_table') }} select id, letter from {{ ref('quick') }}",
    "models/later.sql": "{{ config(materialized='table') }} select id + 1 as id from {{ ref('quick_view') }}",
    "models/slow.sql": f"{{{{ config(materialized='table') }}}} select {SLEEP} as a from range(1)",
}
JOINED = "select concat_ws('|', id, big, part, at) as all from {{ ref('later') }}, {{ ref('numbers') }}"
DBTS_LINE = re.compile(r"(\d\d:\d\d:\d\d  .*|\s*)")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, Run]]:
    """A profile with the two lines it cannot do without, in a folder as people name them."""
    root = tmp_path_factory.mktemp("Projekte") / "Größe & 'Preis' (neu)"
    project = Project.create(root, {"type": "trickle", "schema": "shop"}, FILES)
    yield project, project.dbt("build", "--select", "numbers", "quick", "quick_view", "kept").ok()
    until(lambda: not sparks(project.root), "a Spark outlives its dbt")


@pytest.fixture(scope="module")
def project(built: tuple[Project, Run]) -> Project:
    return built[0]


def only_dbt_speaks(run: Run) -> None:
    strange = [line for line in run.output.splitlines() if not DBTS_LINE.fullmatch(line)]
    assert not strange, strange


@contextmanager
def writing(project: Project, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A dbt process in the middle of a model that takes long; in a group of its own, as a terminal makes it."""
    lock = project.root / ".trickle" / "writer.lock"
    process = project.start("run", *(arguments or ("--select", "slow")), own_group=True)
    try:
        signed = f'"pid": {process.pid},'
        until(lambda: signed in lock.read_text() or process.poll() is not None, "no lock", seconds=120)
        assert process.poll() is None, process.communicate()[0]
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_second_process_finds_what_the_first_one_made(built: tuple[Project, Run]) -> None:
    project, first = built
    only_dbt_speaks(first)
    assert (project.root / ".trickle" / "warehouse").is_dir()
    second = project.dbt("run", "--select", "later").ok()
    only_dbt_speaks(second)
    shown = project.dbt("show", "--inline", JOINED, "--output", "json").ok()
    assert '"all": "2|9007199254740993|0.1|2024-01-01 00:00:00.123456"' in shown.output
    print(f"first run {first.seconds:.1f} s, second {second.seconds:.1f} s, show {shown.seconds:.1f} s")


# The commands that docs/operations.md says only read, in a process of their own that starts one Spark for all of them.
READING = ("status", "history kept", "explain kept", "verify", "doctor", "health")
IN_TURN = """
import json, sys
from click.testing import CliRunner
from dbt.adapters.factory import reset_adapters
from dbt_trickle.cli.main import cli

for command in sys.argv[1:]:
    reset_adapters()
    ran = CliRunner().invoke(cli, [*command.split(), "--output", "json"])
    print(json.dumps([command, ran.exit_code, ran.stdout or repr(ran.exception)]))
"""


def test_one_writes_others_read(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with writing(project) as first:
        with monkeypatch.context() as patch:
            # Who got as far as to start a Spark would miss its Java, and say so.
            patch.setenv("JAVA_HOME", str(tmp_path / "no_java"))
            second = project.dbt("run", "--select", "quick", "later", "--target-path", "target/second")
            commands = [project.trickle("suspend", "kept"), project.trickle("drop", "kept")]
        assert [second.returncode, *(run.returncode for run in commands)] == [2, 1, 1], second.output
        for run in (second, *commands):
            assert run.output.count("[TRK-403]") == 1, run.output
            assert f"is being written by process {first.pid} (`dbt run --select slow`, since " in run.output
            assert "Traceback" not in run.output

        shown = project.dbt("show", "--inline", "select * from {{ ref('quick') }}", "--output", "json").ok()
        assert '"letter": "\\u00e4"' in shown.output  # dbt writes its JSON in ASCII
        readers = project.run(project.start("-c", IN_TURN, *READING, command=sys.executable)).ok().output
        ran = {command: (code, said) for command, code, said in map(json.loads, readers.splitlines())}
        assert {command: said for command, (code, said) in ran.items() if code} == {}
        assert list(ran) == list(READING)
        status = json.loads(ran["status"][1])
        assert [(row["status"], row["batch"]) for row in status if row["pgt_name"] == "kept"] == [("ACTIVE", 1)]
        assert [verdict["outcome"] for verdict in json.loads(ran["verify"][1])] == ["ok"]
        assert first.poll() is None

        # Nobody can tidy up after `kill -9`: what it held must come free by itself.
        first.kill()
    project.dbt("run", "--select", "quick").ok()


def test_ctrl_c_ends_the_query_dbt_and_spark(project: Project) -> None:
    with writing(project) as process:
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)  # the model would sleep for much longer
    assert process.returncode not in (0, -signal.SIGINT), output
    assert not re.search(r"^\s+at [\w$.]+\(|Py4J", output, re.MULTILINE), output  # dbt prints a stack of its own
    until(lambda: not sparks(project.root), "a Spark outlives its dbt")
    # A stopped query leaves no table behind.
    run = project.dbt("show", "--inline", "select * from {{ ref('slow') }}")
    assert "[TABLE_OR_VIEW_NOT_FOUND]" in run.output


def test_killed_while_tables_are_created(project: Project) -> None:
    """dbt and its Spark at once, as when the machine goes: neither can tidy up."""
    warehouse = project.root / ".trickle" / "warehouse"
    query = f"select {{% if var('hang', false) %}} {SLEEP} {{% else %}} 7 {{% endif %}} as a from range(1)"
    right = "select count(*) from {{ ref('%s') }} where a = 7 having count(*) <> 1"
    for kind, more in (("table", ""), ("stream_table", ", volatile_functions='full'")):
        project.write(f"models/hung_{kind}.sql", f"{{{{ config(materialized='{kind}'{more}) }}}} {query}")
        project.write(f"tests/right_{kind}.sql", right % f"hung_{kind}")

    def begun() -> set[Path]:
        """Tables that files have been written for."""
        return {path.parent for path in warehouse.glob("*/*/part-*")}

    selected = ("--select", "hung_table", "hung_stream_table")
    before = begun()
    with writing(project, *selected, "--threads", "2", "--vars", "{hang: true}") as process:
        until(lambda: len(begun() - before) == 2 or process.poll() is not None, "no files", seconds=120)
        assert process.poll() is None, process.communicate()[0]
        os.killpg(process.pid, signal.SIGKILL)
    project.dbt("build", *selected).ok()
    assert project.results()["hung_stream_table"]["adapter_response"]["action"] == "FULL"
    repaired = json.loads(project.trickle("repair", "--output", "json").ok().output)
    assert repaired == {"rebuilt": [], "orphans": [], "left_alone": []}


@pytest.mark.parametrize("obstacle", ["a file", "no right to write"])
def test_a_warehouse_that_cannot_be_written(project: Project, obstacle: str) -> None:
    home = project.root.parent / "home"
    if obstacle == "a file":
        home.write_text("")
    else:
        home.mkdir(mode=0o500)
    project.profile({"type": "trickle", "schema": "shop", "home": str(home)})
    try:
        run = project.dbt("run", heeds_permissions=True)
    finally:
        project.profile({"type": "trickle", "schema": "shop"})
        (home.unlink if home.is_file() else home.rmdir)()
    assert run.returncode == 2
    assert run.output.count("[TRK-407]") == 1, run.output
    assert f"the embedded warehouse {home} cannot be written" in run.output
    assert "Traceback" not in run.output


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o500)
    try:
        yield
    finally:
        for path in folders:
            path.chmod(0o755)


def one_clear_error(run: Run, words: str) -> None:
    assert run.returncode == 1, run.output
    failure = run.output.partition("Failure in model kept")[2]
    assert "Failure in model" not in failure, run.output
    assert failure.count(words) == 1, run.output
    assert "could not be written" not in run.output, "what could not begin has no end to tell of"
    assert "Traceback" not in run.output
    assert not re.search(r"^\s+at [\w$.]+\(", run.output, re.MULTILINE), run.output


def test_tables_that_cannot_be_written_any_more_are_read(project: Project) -> None:
    """The disk has become read-only, or another user's: one error that says so, and the old content serves."""
    warehouse = project.root / ".trickle" / "warehouse"
    refresh = ("run", "--full-refresh", "--select", "kept")
    with read_only(warehouse):
        run = project.dbt(*refresh, heeds_permissions=True)
        shown = project.dbt(
            "show", "--inline", "select * from {{ ref('kept') }}", "--output", "json", heeds_permissions=True
        ).ok()
    one_clear_error(run, "Permission denied")
    assert '"letter": "\\u00e4"' in shown.output
    # Of the storages alone: then the catalog can say what became of the refresh.
    with read_only(warehouse / "trickle_changes.db"):
        run = project.dbt(*refresh, heeds_permissions=True)
    one_clear_error(run, "Cannot create")
    history = json.loads(project.trickle("history", "kept", "--output", "json").ok().output)
    assert (history[0]["status"], "Cannot create" in history[0]["error_message"]) == ("FAILED", True), history[0]
    assert history[0]["action"] in ("FULL", "REINITIALIZE"), history[0]
