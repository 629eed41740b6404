"""The embedded Spark: launched once per process, with settings for one machine, quiet."""

from __future__ import annotations

import importlib.util
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.trickle import asked, jars, java, local_settings
from dbt.adapters.trickle.writer_lock import WriterLock
from dbt_trickle.errors import EnvironmentProblem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.trickle.credentials import TrickleCredentials

IN_MEMORY = "in-memory"


@dataclass(frozen=True)
class Embedded:
    """The one Spark of this process."""

    session: SparkSession
    settings: dict[str, str]  # what we launched it with
    home: Path
    lock: WriterLock | None  # none where somebody else made the session: its storage is theirs to guard

    @property
    def adopted(self) -> bool:
        return self.lock is None

    def launched_with(self, key: str) -> str | None:
        return asked.in_force(self.session, key) if self.adopted else self.settings.get(key)

    @property
    def remedy(self) -> str:
        """For settings that cannot be changed any more."""
        if not self.adopted:
            return "use a process of its own for this profile."
        return (
            "the session that this process had before dbt must be made with them. "
            "Or leave them out of the profile's server_side_parameters."
        )


_guard = threading.Lock()
_running: Embedded | None = None


def running() -> Embedded | None:
    return _running


def get(credentials: TrickleCredentials) -> Embedded:
    global _running
    with _guard:
        if _running is None or _stopped(_running.session):
            require_pyspark()
            _running = _adopt(credentials) or _launch(credentials)
        _require_same(_running, credentials)
        return _running


def _stopped(session: SparkSession) -> bool:
    context = session.sparkContext._jsc
    return context is None or bool(context.sc().isStopped())


def _adopt(credentials: TrickleCredentials) -> Embedded | None:
    """A session that the process already has (a notebook's, a job's) is used as it is."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # The active session is one of a thread, and dbt opens its connections in threads of its own.
    if SparkContext._active_spark_context is None:
        return None
    return Embedded(SparkSession.builder.getOrCreate(), {}, credentials.embedded_home, None)


def _require_same(spark: Embedded, credentials: TrickleCredentials) -> None:
    # Two projects in one process: the second one's tables would quietly land in the first one's warehouse.
    if not spark.adopted and spark.home != credentials.embedded_home:
        raise EnvironmentProblem(
            "TRK-404",
            f"Spark already runs in this process with the warehouse {spark.home}, not {credentials.embedded_home}",
            remedy="A process has one embedded Spark: use a process of its own for this profile.",
        )
    asked.require_launched_with(spark.launched_with, credentials.server_side_parameters, spark.remedy)


def require_pyspark() -> None:
    if importlib.util.find_spec("pyspark") is None:
        raise EnvironmentProblem(
            "TRK-405",
            "the embedded method needs pyspark",
            remedy="pip install 'dbt-trickle[embedded]', or use a server (method: thrift).",
        )


def ensure_jars(credentials: TrickleCredentials) -> list[Path]:
    """Delta's, and what the metastore needs where there is one; fetched where they are missing."""
    import pyspark

    spark_home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    wanted = jars.DELTA if _in_memory(credentials) else jars.EMBEDDED
    return jars.ensure(wanted, spark_home, java.find().executable)


def _in_memory(credentials: TrickleCredentials) -> bool:
    return credentials.server_side_parameters.get("spark.sql.catalogImplementation") == IN_MEMORY


def _launch(credentials: TrickleCredentials) -> Embedded:
    home = credentials.embedded_home
    require_writable(home)
    lock = WriterLock(home)
    if credentials.is_to_write:
        # Before seconds are spent on a Spark that would only be told to wait.
        lock.acquire(credentials.writer_lock_timeout)
    try:
        return _launch_locked(credentials, home, lock)
    except BaseException:
        lock.release()
        raise


def _launch_locked(credentials: TrickleCredentials, home: Path, lock: WriterLock) -> Embedded:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    paths = ensure_jars(credentials)
    kept = {} if _in_memory(credentials) else local_settings.metastore(home)
    settings = {**local_settings.defaults(home, paths), **kept, **credentials.server_side_parameters}
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    log = home / "spark.log"
    with log.open("ab") as sink:
        try:
            gateway = launch_gateway(
                conf, popen_kwargs={"stdout": sink, "stderr": sink, "pass_fds": (lock.descriptor,)}
            )
            context = SparkContext(conf=conf, gateway=gateway)
        # py4j raises its own errors for a JVM that died while starting; all of them mean the same here.
        except (PySparkException, OSError, RuntimeError, ValueError, Exception) as problem:
            raise EnvironmentProblem(
                "TRK-406",
                f"the embedded Spark did not start: {_first_line(problem)}",
                remedy=f"Its log {log} ends with: {_tail(log)}\n  `trickle doctor` checks what it needs.",
            ) from problem
    context.setLogLevel("OFF")
    _silence_pyspark()
    return Embedded(SparkSession(context), settings, home, lock)


def _silence_pyspark() -> None:
    """PySpark prints each failed statement as a line of JSON with the whole stack; dbt tells the failure.

    Its loggers' level would not do: it asks Spark for the message first. Spark does not know the classes
    of Delta's errors, and its "Cannot find main error class" would take the place of the error itself.
    """
    from pyspark.errors import PySparkException

    PySparkException._log_exception = lambda self: None  # type: ignore[method-assign]


def require_writable(home: Path) -> None:
    why = ""
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        why = f": {problem.strerror}"
    if why or not os.access(home, os.W_OK):
        raise EnvironmentProblem(
            "TRK-407",
            f"the embedded warehouse {home} cannot be written{why}",
            remedy="Let this user write there, or name another folder with `home:` in the profile.",
        )


def _first_line(problem: Exception) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0] if lines else type(problem).__name__


def _tail(log: Path) -> str:
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "(nothing)"


def new_session(credentials: TrickleCredentials) -> Any:
    """A session of its own for one dbt thread, so that SET and temporary views do not leak."""
    spark = get(credentials)
    session = spark.session.newSession()
    asked.give(session, credentials.server_side_parameters, spark.remedy)
    asked.require_delta(session)
    return session
