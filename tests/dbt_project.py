"""A dbt project in a folder, run as a user runs it: the `dbt` command in a process of its own."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

DBT, TRICKLE = (str(Path(sys.executable).with_name(command)) for command in ("dbt", "trickle"))
LONGEST_RUN = 240.0
ENVIRONMENT = {
    "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    "DBT_USE_COLORS": "false",
    "DBT_LOG_FORMAT_FILE": "json",
}
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1  # of <linux/prctl.h> and <linux/capability.h>


def until(condition: Callable[[], bool], otherwise: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.05)


@dataclass(frozen=True)
class Run:
    returncode: int
    output: str  # both streams: what a user sees
    seconds: float

    def ok(self) -> Run:
        assert self.returncode == 0, self.output
        return self


@dataclass(frozen=True)
class Project:
    root: Path

    @classmethod
    def create(cls, root: Path, target: dict[str, Any], files: dict[str, str], **config: Any) -> Project:
        root.mkdir(parents=True, exist_ok=True)
        project = cls(root)
        project.write("dbt_project.yml", yaml.safe_dump({"name": "shop", "profile": "shop", **config}))
        project.profile(target)
        for name, text in files.items():
            project.write(name, text)
        return project

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")

    def profile(self, target: dict[str, Any]) -> None:
        outputs = {"shop": {"target": "test", "outputs": {"test": target}}}
        self.write("profiles.yml", yaml.safe_dump(outputs))

    def start(
        self, *arguments: str, command: str = DBT, own_group: bool = False, heeds_permissions: bool = False
    ) -> subprocess.Popen[str]:
        def prepare() -> None:
            # A suite that was started in the background ignores Ctrl-C, and would hand that on.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if heeds_permissions:
                _heed_permissions()

        return subprocess.Popen(
            [command, *arguments],
            cwd=self.root,
            env={**os.environ, **ENVIRONMENT, "DBT_PROFILES_DIR": str(self.root)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=own_group,
            preexec_fn=prepare,
        )

    def trickle(self, *arguments: str) -> Run:
        return self.run(self.start(*arguments, command=TRICKLE))

    def dbt(self, *arguments: str, heeds_permissions: bool = False) -> Run:
        return self.run(self.start(*arguments, heeds_permissions=heeds_permissions))

    def run(self, process: subprocess.Popen[str]) -> Run:
        began = time.monotonic()
        try:
            output, _ = process.communicate(timeout=LONGEST_RUN)
        finally:
            process.kill()
        return Run(process.returncode, output, time.monotonic() - began)

    @property
    def invocation(self) -> str:
        """The last run's id."""
        text = (self.root / "target" / "run_results.json").read_text(encoding="utf-8")
        return str(json.loads(text)["metadata"]["invocation_id"])

    def results(self, folder: str = "target") -> dict[str, dict[str, Any]]:
        """The last run's results by the node's name."""
        text = (self.root / folder / "run_results.json").read_text(encoding="utf-8")
        return {result["unique_id"].split(".")[2]: result for result in json.loads(text)["results"]}


def _heed_permissions() -> None:
    """Linux: what root executes from here on may write where its permissions say, and nowhere else.

    Another user would not do: they need not be able to read the interpreter.
    """
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) != 0:
        raise OSError("this root may not give up its rights")


def sparks(root: Path) -> list[int]:
    """The Java processes whose warehouse lies in this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if b"org.apache.spark.deploy.SparkSubmit" in command and os.fsencode(root) in command:
            found.append(int(entry.name))
    return found
