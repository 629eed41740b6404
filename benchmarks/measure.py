"""What is measured, and by what: time in units of C, and work that can be counted.

C is the median time of an append commit in the same run. A time in C says what a machine's speed does not
change; and a refresh cannot cost less than the commit it makes.
"""

from __future__ import annotations

import platform
import re
import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Protocol

from dbt_trickle.run.session import Session


@dataclass(frozen=True)
class Work:
    """Work that another machine would do just so."""

    statements: int = 0
    commits: int = 0
    jobs: int = 0  # of Spark
    rows: int = 0  # fetched into Python
    read: int = 0  # bytes, by Spark's process, whether or not they had to come from the disk
    written: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(*(getattr(self, name) + getattr(other, name) for name in WORK))

    def __sub__(self, other: Work) -> Work:
        return Work(*(getattr(self, name) - getattr(other, name) for name in WORK))


WORK = tuple(Work.__dataclass_fields__)


def typical(works: Sequence[Work]) -> Work:
    """The median of each count."""
    return Work(*(round(median(getattr(work, name) for work in works)) for name in WORK))


class Meter(Protocol):
    def __call__(self) -> Work:
        """What has been done until now."""


class SparkMeter:
    """Counters of the JVM that runs Spark, all of them from its start."""

    def __init__(self, spark: Any) -> None:
        self._files = spark._jvm.org.apache.hadoop.fs.FileSystem
        self._scheduler = spark.sparkContext._jsc.sc().dagScheduler()
        self._process = Path(f"/proc/{spark._jvm.java.lang.ProcessHandle.current().pid()}/io")

    def __call__(self) -> Work:
        read, written = self._bytes()
        return Work(jobs=self._scheduler.numTotalJobs(), read=read, written=written)

    def _bytes(self) -> tuple[int, int]:
        """Linux's own count. Hadoop's, elsewhere, does not see how Parquet reads most of its columns."""
        try:
            told = dict(line.split(": ") for line in self._process.read_text(encoding="ascii").splitlines())
        except OSError:
            every = list(self._files.getAllStatistics())
            return sum(each.getBytesRead() for each in every), sum(each.getBytesWritten() for each in every)
        return int(told["rchar"]), int(told["wchar"])


@dataclass(frozen=True)
class Statement:
    sql: str
    seconds: float
    work: Work


@dataclass
class Recorder:
    """A session that writes down what it is asked; the time that its own counting takes is `overhead`."""

    inner: Session
    meter: Meter = Work
    statements: list[Statement] = field(default_factory=list)
    overhead: float = 0.0

    def execute(self, sql: str) -> None:
        self._record(sql, lambda: self.inner.execute(sql))

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        rows: Sequence[Mapping[str, Any]] = self._record(sql, lambda: self.inner.query(sql))
        return rows

    def now(self) -> float:
        """A clock that stands still while this one counts."""
        return perf_counter() - self.overhead

    def _record(self, sql: str, run: Any) -> Any:
        entered = perf_counter()
        before = self.meter()
        began = perf_counter()
        rows: Sequence[Any] | None = None
        try:
            rows = run()
            return rows
        finally:
            ended = perf_counter()
            work = replace(self.meter() - before, statements=1, rows=len(rows or ()))
            self.statements.append(Statement(sql, ended - began, work))
            self.overhead += began - entered + perf_counter() - ended


_STORAGE = re.compile(r"\bst_\d+_g\d+\b")
_VALUES = re.compile(r"(VALUES|AS SELECT|USING|SET `[^`]+` =)\s.*", re.DOTALL)


def label(sql: str, longest: int = 72) -> str:
    """A statement's beginning, the same from run to run."""
    text = _VALUES.sub(r"\1 …", _STORAGE.sub("st", " ".join(sql.split())))
    text = re.sub(r"\bVERSION AS OF \d+|\b\d{2,}\b", lambda found: re.sub(r"\d+", "n", found.group()), text)
    text = text.replace("`", "")
    return text if len(text) <= longest else text[: longest - 1] + "…"


def commits_below(warehouse: Path) -> int:
    """All commits of all Delta tables of a warehouse of two levels."""
    return sum(len(entry.stem) == 20 for entry in warehouse.glob("*/*/_delta_log/*.json"))


def peak_memory(*, anew: bool = False) -> int:
    """The most bytes that this process, not the JVM, has had resident: from now on, or so far."""
    try:
        if anew:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024
    except (OSError, IndexError):  # not Linux: since the process began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if platform.system() == "Darwin" else peak * 1024
