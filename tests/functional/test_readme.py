"""The README's quick start, typed by a machine: its files, its commands, what it says they show.

Fences tell what a block is: `file=PATH` is a file to write, `runs` are commands, `shows` are lines of what
the commands since the last such block printed. Times are not compared.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```(\w+) (file=(?P<file>\S+)|runs|shows)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS = ("dbt", "trickle")
COMMAND_SECONDS = 300


def comparable(line: str) -> str:
    """A line without colours, clock times, durations, and the dots that pad it."""
    line = re.sub(r"\x1b\[[0-9;]*m", "", line)
    line = re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.+Z]+|\d\d:\d\d:\d\d", "", line)
    line = re.sub(r"\d+\.\d+s?\b", "", line)
    return re.sub(r"[\s.…─━]+", " ", line).strip()


def run(command: str, folder: Path) -> str:
    program, *arguments = shlex.split(command)
    assert program in COMMANDS, f"the README's test runs only {COMMANDS}"
    answer = subprocess.run(
        [str(Path(sys.executable).with_name(program)), *arguments],
        cwd=folder,
        env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    assert answer.returncode == 0, f"{command}\n{answer.stdout}{answer.stderr}"
    return answer.stdout


@pytest.mark.spark
def test_the_quick_start_does_what_the_readme_says(tmp_path: Path) -> None:
    printed = ""
    ran = 0
    for block in BLOCK.finditer(README.read_text(encoding="utf-8")):
        kind, text = block.group(2), block.group("text")
        if name := block.group("file"):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif kind == "runs":
            for command in text.splitlines():
                printed += run(command, tmp_path)
                ran += 1
        else:
            lines = {comparable(line) for line in printed.splitlines()}
            missing = [line for line in text.splitlines() if line.strip() and comparable(line) not in lines]
            assert not missing, f"the README shows {missing}, the commands printed:\n{printed}"
            printed = ""
    assert ran >= 3, "the README's commands were not found"
