"""Queries may be nested deeply, and whoever writes one does not think of Python's stack.

A hundred joins are a hundred operators in one another, each of several calls. Since 3.11 a call in Python takes none of
the machine's own stack; before that, what is allowed here still fits into the eight megabytes of a thread.
"""

from __future__ import annotations

import sys

_CALLS = 10_000


def allow() -> None:
    """It is the interpreter's, for all threads: never made less, since others may be in the middle of something."""
    if sys.getrecursionlimit() < _CALLS:
        sys.setrecursionlimit(_CALLS)
