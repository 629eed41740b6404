"""What a person can act on, out of what Spark throws: the first line, not sixty of a JVM stack."""

from __future__ import annotations

import re

# org.apache.hive.service.cli.HiveSQLException: Error running query: [CLASS] org.apache.…Exception: text
_JAVA_PREFIX = re.compile(r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error)\b:?\s*")
_THRIFT_PREFIX = re.compile(r"^Error (?:running|operating) (?:query|\w+)?:?\s*")
_CLASS = re.compile(r"^\[([A-Z][A-Z0-9_.]+)\]\s*")
_STACK = re.compile(r"\n\s+at [\w$.]+\(|\n\nJVM stacktrace|\nCaused by:|\nTraceback ")
# Spark repeats the whole plan or query below its message; dbt shows the query's file already.
_ECHO = re.compile(r"\n(?:== SQL|;?\s*'|== Physical|\n)")


def first_words(text: str) -> str:
    """The message without stack, plan or the query's echo, and with the error class in front."""
    text = _STACK.split(text.strip(), maxsplit=1)[0]
    text = _ECHO.split(text, maxsplit=1)[0].strip()
    condition = ""
    while True:
        before = text
        text = _THRIFT_PREFIX.sub("", _JAVA_PREFIX.sub("", text))
        if found := _CLASS.match(text):
            condition = condition or found.group(0).strip() + " "
            text = text[found.end() :]
        if text == before:
            return condition + text.strip()


def message_of(problem: BaseException) -> str:
    """PySpark's, Hive's and plain exceptions, each in the words it carries."""
    first = problem.args[0] if problem.args else problem
    status = getattr(first, "status", None)  # TCLIService: the message is in the response's status
    text = status.errorMessage if status is not None and status.errorMessage else str(problem)
    return first_words(text or type(problem).__name__)
