"""A Spark thrift server of the tests' own, from the jars that pyspark ships.

    with thrift_server(folder) as server:
        server.target("my_schema")   # the output of a dbt profile

Its catalog lives in memory and is shared by all connections; tables lie in `folder`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import quick_spark
from pyhive import hive
from thrift.transport.TTransport import TTransportException

from dbt.adapters.trickle import jars, java

HOST = "127.0.0.1"
MAIN = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
START_SECONDS = 120.0
STOP_SECONDS = 10.0
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class ThriftServer:
    port: int
    log: Path
    host: str = HOST

    def target(self, schema: str, **more: Any) -> dict[str, Any]:
        """The output of a dbt profile that reaches this server."""
        return {
            "type": "trickle",
            "method": "thrift",
            "host": self.host,
            "port": self.port,
            "user": "dbt",
            "schema": schema,
            "threads": 2,
            **more,
        }

    def connect(self) -> hive.Connection:
        return hive.connect(host=self.host, port=self.port, username="dbt")


@contextmanager
def thrift_server(folder: Path, **settings: str) -> Iterator[ThriftServer]:
    folder.mkdir(parents=True, exist_ok=True)
    server = ThriftServer(free_port(), folder / "server.log")
    with server.log.open("wb") as log:
        process = subprocess.Popen(
            _command(folder, server.port, settings),
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=folder,  # Derby and Spark leave files where they are started
            env={**os.environ, **quick_spark.JAVA, "SPARK_LOCAL_IP": HOST},
            start_new_session=True,  # a group of its own, which can be ended as a whole
            preexec_fn=_end_with_parent,
        )
        try:
            _wait_until_ready(server, process)
            yield server
        finally:
            _stop(process)


def _end_with_parent() -> None:
    """A test run that is killed has no teardown; on Linux its server ends with it all the same."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_port() -> int:
    """A port nobody listens on now. Should somebody take it before the server does, the server says so."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _command(folder: Path, port: int, settings: dict[str, str]) -> list[str]:
    home = Path(pyspark.__file__).parent
    paths = jars.ensure(jars.DELTA, home, java.find().executable)
    conf = {
        "spark.master": "local[2]",
        "spark.driver.memory": "2g",
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.ui.enabled": "false",
        # On the class path, not --packages: Delta's own dependencies clash with Spark's.
        "spark.driver.extraClassPath": os.pathsep.join(map(str, paths)),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "tmp"),
        **quick_spark.SETTINGS,
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.hadoop.hive.server2.thrift.bind.host": HOST,
        "spark.hadoop.hive.server2.thrift.port": str(port),
        **settings,
    }
    words = [str(home / "bin" / "spark-submit"), "--class", MAIN]
    for key, value in conf.items():
        words += ["--conf", f"{key}={value}"]
    return [*words, "spark-internal"]


def _wait_until_ready(server: ThriftServer, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        if process.poll() is not None:
            raise RuntimeError(f"the thrift server ended with {process.returncode}:\n{_tail(server.log)}")
        try:
            # The port first: pyhive logs an error with a stack for every refused connection.
            socket.create_connection((server.host, server.port), timeout=1).close()
            server.connect().close()
            return
        except (OSError, TTransportException, hive.Error):
            if time.monotonic() > deadline:
                raise RuntimeError(f"no thrift server after {START_SECONDS:.0f} s:\n{_tail(server.log)}") from None
        time.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    for signum in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, signum)
        except ProcessLookupError:
            break
        try:
            process.wait(STOP_SECONDS)
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _tail(log: Path, lines: int = 30) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
