"""The jars that Spark does not ship: resolved once by the Ivy that pyspark brings, then kept.

Only these artifacts are taken, not their dependencies: Delta's drag 30 more along that Spark has
itself, and two versions of one class on a class path end in NoClassDefFoundError.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from dbt.adapters.events.logging import AdapterLogger

from dbt_trickle.errors import EnvironmentProblem

logger = AdapterLogger("Trickle")
# A repository behind a firewall that drops packets would keep the first run waiting for much longer.
FETCH_SECONDS = 600
# A registry that refuses one artifact of eight mostly has it a moment later.
PAUSES = (1, 5)


@dataclass(frozen=True)
class Artifact:
    organisation: str
    name: str
    version: str

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.jar"

    def __str__(self) -> str:
        return f"{self.organisation}:{self.name}:{self.version}"


DELTA = (
    Artifact("io.delta", "delta-spark_4.1_2.13", "4.4.0"),
    Artifact("io.delta", "delta-storage", "4.4.0"),
    Artifact("io.delta", "delta-kernel-api", "4.4.0"),
    Artifact("io.delta", "delta-kernel-defaults", "4.4.0"),
    Artifact("io.delta", "delta-kernel-unitycatalog", "4.4.0"),
    Artifact("io.unitycatalog", "unitycatalog-client", "0.6.0"),
    Artifact("io.unitycatalog", "unitycatalog-hadoop", "0.6.0"),
)
# The last H2 that Hive 2.3's metastore can write its schema to; docs/decisions.md says what was tried.
METASTORE = (Artifact("com.h2database", "h2", "1.4.200"),)
EMBEDDED = DELTA + METASTORE


def cache_dir() -> Path:
    """One cache for all projects of a user."""
    if override := os.environ.get("TRICKLE_JARS_DIR"):
        return Path(override)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "dbt-trickle" / "jars"


def missing(artifacts: tuple[Artifact, ...], cache: Path) -> list[Artifact]:
    return [a for a in artifacts if not (cache / a.file_name).is_file()]


def ensure(artifacts: tuple[Artifact, ...], spark_home: Path, java: str) -> list[Path]:
    """The paths of the jars, fetched first where the cache does not have them."""
    cache = cache_dir()
    if missing(artifacts, cache):
        with _alone(cache):
            # Whoever was here before has fetched them meanwhile.
            if wanted := missing(artifacts, cache):
                _fetch(wanted, cache, spark_home, java)
    return [cache / a.file_name for a in artifacts]


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """One process at a time: two that start on a new machine would fetch everything twice."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(cache, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as problem:
        raise _not_kept(cache, problem) from problem
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _not_kept(cache: Path, problem: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(
        "TRK-402",
        f"the jars that the embedded Spark needs cannot be kept in {cache}: {problem.strerror}",
        remedy="Set TRICKLE_JARS_DIR to a folder that this user may write to.",
    )


def _fetch(artifacts: list[Artifact], cache: Path, spark_home: Path, java: str) -> None:
    ivy = next((spark_home / "jars").glob("ivy-*.jar"), None)
    if ivy is None:
        raise EnvironmentProblem(
            "TRK-402",
            f"pyspark at {spark_home} has no Ivy, so Delta's jars cannot be fetched",
            remedy=_remedy(artifacts, cache),
        )
    logger.info(f"Fetching {len(artifacts)} jars for the embedded Spark into {cache}, once.")
    try:
        said = _tried(artifacts, cache, [java, "-jar", str(ivy)])
    except OSError as problem:
        raise _not_kept(cache, problem) from problem
    if not (left := missing(tuple(artifacts), cache)):
        return
    raise EnvironmentProblem(
        "TRK-402",
        "the jars that the embedded Spark needs are neither in the cache nor could they be fetched"
        + (f" ({said})" if said else ""),
        remedy=_remedy(left, cache),
    )


def _tried(artifacts: list[Artifact], cache: Path, ivy: list[str]) -> str:
    """Ivy's last words. What one try has brought need not be fetched by the next one."""
    said = ""
    for pause in (*PAUSES, None):
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            said = _retrieve(missing(tuple(artifacts), cache), Path(folder), ivy)
            for path in (Path(folder) / a.file_name for a in artifacts):
                if path.is_file():
                    # A rename: who looks meanwhile never sees half a jar.
                    path.replace(cache / path.name)
        if pause is None or not missing(tuple(artifacts), cache):
            break
        logger.info(f"The jars are not complete ({said}). Trying again in {pause} s.")
        time.sleep(pause)
    return said


def _retrieve(artifacts: list[Artifact], folder: Path, ivy: list[str]) -> str:
    """Let Ivy put the jars into the folder; its words where it could not."""
    module = folder / "ivy.xml"
    module.write_text(_ivy_module(artifacts), encoding="utf-8")
    # A cache of its own: in the user's a failure is remembered, and other programs' Ivys write there meanwhile.
    own = ["-cache", str(folder / "ivy")]
    command = [*ivy, *own, "-ivy", str(module), "-retrieve", f"{folder}/[artifact]-[revision].[ext]", "-warn"]
    if settings := os.environ.get("TRICKLE_IVY_SETTINGS"):
        command += ["-settings", settings]
    try:
        answer = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=False, timeout=FETCH_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {FETCH_SECONDS} s"
    lines = [line.strip() for line in (answer.stderr + answer.stdout).splitlines()]
    # "Server access Error: …", an exception of Ivy's own, "module not found: …"
    return next((line for line in lines if re.search(r"error|exception|not found", line, re.I)), "")


def _ivy_module(artifacts: list[Artifact]) -> str:
    rows = "\n".join(
        f"    <dependency org={quoteattr(a.organisation)} name={quoteattr(a.name)} "
        f'rev={quoteattr(a.version)} transitive="false" conf="default->master"/>'
        for a in artifacts
    )
    return (
        '<ivy-module version="2.0">\n  <info organisation="dbt-trickle" module="embedded"/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        f"  <dependencies>\n{rows}\n  </dependencies>\n</ivy-module>\n"
    )


def _remedy(artifacts: list[Artifact], cache: Path) -> str:
    return (
        "Let this machine reach a Maven repository once (a mirror: set TRICKLE_IVY_SETTINGS to an Ivy "
        f"settings file), or copy these jars into {cache}: " + ", ".join(map(str, artifacts))
    )
