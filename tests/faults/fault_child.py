"""Processes that are there to die, and pairs of them that meet: forked from one that has imported everything."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fault_sessions import DEAD, LONGEST

# Not a fork of the test's own process: that has threads and connections, which a child must not touch.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "__main__",
        "fault_child",
        "crash_cases",
        "crash_captures",
        "crash_ways",
        "crash_commands",
        "soak_world",
        "dbt.cli.main",
        "dbt.adapters.trickle",
    ]
)


def dies(target: Callable[..., None], *arguments: Any) -> str | None:
    """Runs it in a process of its own, until a Mortal ends that: with which statement, or none if it got away."""
    here, there = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=target, args=(*arguments, there), daemon=True)
    process.start()
    there.close()
    try:
        process.join(LONGEST)
        assert process.exitcode in (DEAD, 0), f"it ended with {process.exitcode}"
        return str(here.recv()) if process.exitcode == DEAD else None
    finally:
        process.kill()
        here.close()


def at_once(*tasks: Callable[[], Any]) -> list[Any]:
    """Each in a process of its own: what it answered, or the error that it raised, as text."""
    pipes = [PROCESSES.Pipe(duplex=False) for _ in tasks]
    processes = [
        PROCESSES.Process(target=_answer, args=(task, there), daemon=True)
        for task, (_, there) in zip(tasks, pipes, strict=True)
    ]
    for process in processes:
        process.start()
    for _, there in pipes:
        there.close()
    answers = []
    for process, (here, _) in zip(processes, pipes, strict=True):
        assert here.poll(LONGEST), "no answer"
        answers.append(here.recv())
        process.join(LONGEST)
    return answers


def patiently(seconds: float) -> bool:
    """Runs that race wait as they do for users: the other one needs the time."""
    time.sleep(seconds)
    return True


@dataclass(frozen=True)
class Failed:
    problem: str


def _answer(task: Callable[[], Any], there: Connection) -> None:
    try:
        answer = task()
    except Exception as problem:  # noqa: BLE001 - looked at by the test
        answer = Failed(f"{type(problem).__name__}: {problem}")
    there.send(answer)


@dataclass(frozen=True)
class Dbt:
    """dbt's own entry point in a process that need not import it first: what is killed has really begun."""

    root: Path
    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    def start(self) -> multiprocessing.process.BaseProcess:
        process = PROCESSES.Process(target=_dbt, args=(self,), daemon=True)
        process.start()
        return process

    @property
    def output(self) -> str:
        return (self.root / "output.txt").read_text(encoding="utf-8")

    def ok(self) -> Dbt:
        process = self.start()
        process.join(LONGEST)
        assert process.exitcode == 0, self.output
        return self


def _dbt(dbt: Dbt) -> None:
    os.chdir(dbt.root)
    os.environ.update(dbt.environment)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    output = os.open(dbt.root / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    from dbt.cli.main import dbtRunner

    result = dbtRunner().invoke(list(dbt.arguments))
    raise SystemExit(0 if result.success else 1)
