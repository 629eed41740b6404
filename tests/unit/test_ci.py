"""What checks a change: every test file is in one group, and a bare machine is made ready or told what it lacks."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKS = ["make check PYTHON=python3", "make test PYTHON=python3"]


def says(version: str) -> str:
    return f"echo 'openjdk version \"{version}\" 2026-01-01' >&2"


def log(command: str) -> str:
    return f'echo "{command} $*" >>"$LOG"'


def groups() -> list[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    found = re.search(r"^GROUPS := (.*)$", text, re.MULTILINE)
    assert found is not None
    return found.group(1).split()


def test_every_test_file_belongs_to_one_group_of_the_makefile() -> None:
    tests = ROOT / "tests"
    files = sorted(path.relative_to(tests) for path in tests.rglob("test_*.py"))
    belongs = {str(file): [g for g in groups() if Path(g) in (file, *file.parents)] for file in files}
    assert {file: found for file, found in belongs.items() if len(found) != 1} == {}
    assert set(groups()) == {group for found in belongs.values() for group in found}


class Machine:
    """.ci/run in a folder of its own, with nothing of this machine but the shell's tools."""

    def __init__(self, folder: Path) -> None:
        (folder / "checkout" / ".ci").mkdir(parents=True)
        self.script = folder / "checkout" / ".ci" / "run"
        self.script.write_bytes((ROOT / ".ci" / "run").read_bytes())
        self.bin, self.log = folder / "bin", folder / "log"
        self.bin.mkdir()
        for tool in ("bash", "dirname", "head", "mktemp", "mv", "rm", "sed", "touch"):
            found = next(p for p in map(Path, ("/bin", "/usr/bin")) if (p / tool).exists())
            (self.bin / tool).symlink_to(found / tool)
        self.has(id="echo 0", make=log("make"), python3="exit 0", java=says("21-ea"))

    def has(self, **commands: str) -> None:
        for name, does in commands.items():
            path = self.bin / name.replace("_", "-")
            path.write_text(f"#!{self.bin}/bash\n{does}\n", encoding="utf-8")
            path.chmod(0o755)

    def run(self, **environment: str) -> tuple[int, str, list[str]]:
        known = {"PATH": str(self.bin), "BIN": str(self.bin), "LOG": str(self.log), "TMPDIR": str(self.log.parent)}
        answer = subprocess.run(
            [self.bin / "bash", self.script], env={**known, **environment}, capture_output=True, text=True, check=False
        )
        done = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return answer.returncode, answer.stderr, done


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_machine_that_has_everything_installs_nothing(machine: Machine) -> None:
    machine.has(apt_get=log("apt-get"))
    assert machine.run() == (0, "", CHECKS)


@pytest.mark.parametrize("java", [says("1.8.0_392"), says("11.0.2"), None], ids=["8", "11", "none"])
def test_a_java_that_is_missing_or_too_old_is_installed(machine: Machine, java: str | None) -> None:
    (machine.bin / "java").rename(machine.bin / "java.installed")
    if java is not None:
        machine.has(java=java)
    machine.has(apt_get=f"{log('apt-get')}; [ $1 != install ] || mv $BIN/java.installed $BIN/java")
    code, _, done = machine.run()
    assert (code, done) == (0, ["apt-get update -qq", "apt-get install -y -qq openjdk-17-jre-headless", *CHECKS])


def test_a_python_that_makes_no_venv_gets_what_it_lacks(machine: Machine) -> None:
    machine.has(python3="[ $1 != -m ] || [ -e $BIN/venv ]")
    machine.has(apt_get=f"{log('apt-get')}; [ $1 != install ] || touch $BIN/venv")
    code, _, done = machine.run()
    assert (code, done) == (0, ["apt-get update -qq", "apt-get install -y -qq python3-venv", *CHECKS])


@pytest.mark.parametrize(
    ("commands", "environment", "told"),
    [
        ({"java": says("11.0.2")}, {}, "Java 17 or newer is needed"),
        ({}, {"JAVA_HOME": "/nowhere"}, "Java 17 or newer is needed"),
        ({"python3": "[ $1 != -m ]"}, {}, "install its venv"),
        ({"python3": "[ $1 != -c ]"}, {}, "older than 3.10"),
    ],
)
@pytest.mark.parametrize(
    "hindered", [{}, {"apt_get": "exit 1"}, {"apt_get": "exit 0", "id": "echo 1000"}], ids=["no apt", "offline", "user"]
)
def test_what_cannot_be_installed_is_told(
    machine: Machine,
    commands: dict[str, str],
    environment: dict[str, str],
    told: str,
    hindered: dict[str, str],
) -> None:
    machine.has(**commands, **hindered)
    code, errors, done = machine.run(**environment)
    assert (code, done) == (1, [])
    assert told in errors
