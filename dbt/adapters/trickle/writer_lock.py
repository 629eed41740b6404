"""One writing process per embedded warehouse.

Delta commits by renaming a file into its log. On a local file system that rename is only safe
within one JVM (it overwrites), so two processes that write one table could lose a commit without
anybody noticing. Readers need no lock: they work beside the writer.

The lock is taken before Spark starts where dbt's command is one that writes, else at the first statement that
does. Its file is handed to the JVM as well, so that
after `kill -9` of dbt the lock lasts until the JVM has stopped working, too.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

from dbt_trickle.errors import EnvironmentProblem


class WriterLock:
    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.path = home / "writer.lock"
        self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        self._guard = threading.Lock()
        self._held = False
        self._refused = False

    def acquire(self, timeout: float) -> None:
        with self._guard:
            if self._held:
                return
            # The wait is per process, not per statement: after a refusal each further model of the
            # run would wait its own timeout for the same writer, one after the other.
            deadline = time.monotonic() + (0 if self._refused else timeout)
            while not self._try():
                if time.monotonic() >= deadline:
                    self._refused = True
                    raise self._refusal()
                time.sleep(0.1)
            self._held = True
            self._refused = False
            self._sign()

    def release(self) -> None:
        with self._guard:
            if self._held:
                os.ftruncate(self.descriptor, 0)
                fcntl.flock(self.descriptor, fcntl.LOCK_UN)
                self._held = False

    def _try(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _sign(self) -> None:
        holder = {
            "pid": os.getpid(),
            "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200],
            "since": datetime.now().astimezone().isoformat(timespec="seconds"),
        }
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, json.dumps(holder).encode(), 0)

    def _refusal(self) -> EnvironmentProblem:
        try:
            holder = json.loads(self.path.read_text(encoding="utf-8"))
            who = f"process {holder['pid']} (`{holder['command']}`, since {holder['since']})"
            if not _alive(int(holder["pid"])):
                who += ", which was killed and whose Spark is just ending"
        except (ValueError, KeyError, OSError):
            who = "another process"  # that has taken the lock and not signed it yet
        return EnvironmentProblem(
            "TRK-403",
            f"the embedded warehouse {self.path.parent} is being written by {who}",
            remedy="Wait until it has ended, or raise `writer_lock_timeout` in the profile to wait here. "
            "Reading commands work meanwhile (dbt show, dbt test, trickle status). For several writers at "
            "once run against a Spark server (method: thrift).",
        )


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
