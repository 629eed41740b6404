"""One writer per warehouse, seen from real processes: flock knows nothing of threads or mocks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dbt_project import until

from dbt.adapters.trickle import embedded, writer_lock
from dbt.adapters.trickle.credentials import TrickleCredentials
from dbt.adapters.trickle.writer_lock import WriterLock
from dbt_trickle.errors import EnvironmentProblem

DEADLINE = 10.0

# Holds the lock until it is told to let go. With "child" it first hands the file to a process that
# outlives it, as the adapter hands it to the JVM. It loads the module's file: importing the adapter's
# package would import dbt, for seconds.
HOLDER = """
import importlib.util, subprocess, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("writer_lock", sys.argv[3])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
WriterLock = module.WriterLock
lock = WriterLock(Path(sys.argv[1]))
child = "-"
if sys.argv[2] == "child":
    wait = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    child = subprocess.Popen(wait, stdin=0, pass_fds=(lock.descriptor,)).pid
lock.acquire(0)
print("held", child, flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(home: Path, kind: str = "alone") -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home), kind, writer_lock.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    try:
        word, child = process.stdout.readline().split()
        assert word == "held"
        yield process, child
    finally:
        process.kill()
        process.stdin.close()  # ends the child, too
        process.wait(DEADLINE)
        process.stdout.close()


def refused(lock: WriterLock, timeout: float = 0.0) -> str:
    with pytest.raises(EnvironmentProblem) as problem:
        lock.acquire(timeout)
    assert problem.value.code == "TRK-403"
    return str(problem.value)


def test_the_second_writer_is_refused_and_told_who_writes(tmp_path: Path) -> None:
    with holder(tmp_path) as (first, _):
        lock = WriterLock(tmp_path)
        began = time.monotonic()
        said = refused(lock, timeout=0.5)
        assert 0.5 <= time.monotonic() - began < 2
        assert f"process {first.pid} (`-c {tmp_path} alone {writer_lock.__file__}`, since 20" in said
        assert "writer_lock_timeout" in said
        assert "was killed" not in said

        # The next statements of the refused run do not wait again, each for itself.
        began = time.monotonic()
        refused(lock, timeout=30)
        assert time.monotonic() - began < 1

        first.stdin.write("\n")
        first.stdin.flush()
        assert first.stdout.readline() == "released\n"
        lock.acquire(0)
        lock.release()


def test_a_waiting_writer_gets_the_lock_when_the_first_one_lets_go(tmp_path: Path) -> None:
    with holder(tmp_path) as (first, _):
        first.stdin.write("\n")
        first.stdin.flush()
        WriterLock(tmp_path).acquire(DEADLINE)


def test_it_lasts_as_long_as_a_child_of_the_killed_holder(tmp_path: Path) -> None:
    with holder(tmp_path, "child") as (first, child):
        first.send_signal(signal.SIGKILL)
        first.wait(DEADLINE)
        lock = WriterLock(tmp_path)
        said = refused(lock)
        assert f"process {first.pid} " in said
        assert "was killed and whose Spark is just ending" in said
        os.kill(int(child), signal.SIGKILL)

        def free() -> bool:
            try:
                lock.acquire(0)
            except EnvironmentProblem:
                return False
            return True

        until(free, "the lock outlives everybody")


def test_it_can_be_taken_twice_and_let_go_without_being_held(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "new" / "folder")
    lock.release()
    lock.acquire(0)
    lock.acquire(0)
    lock.release()
    assert lock.path.read_text() == ""  # nobody is blamed for what has ended


def test_an_unsigned_lock_is_refused_without_a_name(tmp_path: Path) -> None:
    with holder(tmp_path):
        lock = WriterLock(tmp_path)
        lock.path.write_text("{")
        assert "is being written by another process\n" in refused(lock)


def test_a_command_that_writes_is_refused_before_spark_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no_java"))  # Spark would need it
    home = tmp_path / "home"
    credentials = TrickleCredentials.from_dict(
        {"schema": "x", "database": None, "home": str(home), "writer_lock_timeout": 0.1}
    )

    def refusal(command: str) -> str:
        credentials.belongs_to(str(tmp_path), command)
        with pytest.raises(EnvironmentProblem) as problem:
            embedded.get(credentials)
        return problem.value.code

    with holder(home):
        assert [refusal(command) for command in ("run", "seed", "show")] == ["TRK-403", "TRK-403", "TRK-401"]
    # Who could not start holds nobody up.
    assert refusal("run") == "TRK-401"
    WriterLock(home).acquire(0)
