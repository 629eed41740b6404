"""Finding a Java that Spark 4.1 runs on, before Spark fails without saying so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dbt_trickle.errors import EnvironmentProblem

NEEDED = 17
REMEDY = (
    f"Install a JDK or JRE {NEEDED} or newer (Debian: apt-get install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17) and put it on the PATH, or set JAVA_HOME to it."
)


@dataclass(frozen=True)
class Java:
    executable: str
    major: int


def find() -> Java:
    """The Java that Spark's launcher would take: JAVA_HOME's, else the PATH's."""
    home = os.environ.get("JAVA_HOME")
    executable = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not executable or not os.access(executable, os.X_OK):
        where = f"JAVA_HOME={home} has no bin/java" if home else "no `java` on the PATH"
        raise EnvironmentProblem("TRK-401", f"Spark needs Java, and {where}", remedy=REMEDY)
    try:
        answer = subprocess.run([executable, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as problem:  # another machine's binary, a text file
        raise EnvironmentProblem(
            "TRK-401", f"Spark needs Java, and {executable} does not run: {problem.strerror}", remedy=REMEDY
        ) from problem
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    if not found:
        raise EnvironmentProblem("TRK-401", f"{executable} does not tell its version", remedy=REMEDY)
    major = int(found.group(1))
    if major < NEEDED:
        raise EnvironmentProblem(
            "TRK-401", f"Spark needs Java {NEEDED} or newer, and {executable} is Java {major}", remedy=REMEDY
        )
    return Java(executable, major)
