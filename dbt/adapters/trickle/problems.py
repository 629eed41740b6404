"""What a person can act on, out of what Spark throws: its message, not sixty lines of a JVM stack.

PySpark:      [CLASS] message SQLSTATE: 42703; line 1 pos 7;\n'Project …
py4j:         An error occurred while calling o76.sql.\n: org.apache.spark.SparkException: message\n\tat …
HiveServer2:  org.apache.hive.service.cli.HiveSQLException: Error running query: [CLASS]
              org.apache.…Exception: [CLASS] message\n\tat …\nCaused by: …
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.trickle import secrets

_WRAPPERS = re.compile(
    r"(?:An error occurred while calling [\w.]+\.\s*:\s*"
    r"|Error (?:running|operating) \w+:?\s*"
    r"|Job aborted due to stage failure: Task .*? \(TID \d+\) \(.*?\): )"
)
_EXCEPTION = re.compile(r"(?:[\w$]+\.)+([\w$]*(?:Exception|Error))\b:?\s*")
_CLASS = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]\s*")
_STACK = re.compile(r"\n\s+(?:at [\w$.]+[/(]|\.\.\. \d+ more)|\n\s*JVM stacktrace|\n\s*Driver stacktrace|\nCaused by:")
_CAUSE = re.compile(r"\nCaused by: ")
# Spark's message ends with its SQLSTATE and perhaps a position; then it echoes the plan or the query.
_STATE = re.compile(r"SQLSTATE: [0-9A-Z]{5}(?:;? \(?line \d+,? pos \d+\)?)?(?=;?\s*(?:\n|$))")
# Delta's messages often have no SQLSTATE.
_ECHO = re.compile(r"\n== (?:SQL|Physical)|(?<=pos \d);\n|;\n(?=')")
# The one useful part of the echo: the words that are underlined, or the line that could not be parsed.
_UNDERLINED = re.compile(r"\n== SQL \(line \d+, position \d+\) ==\n(.*)\n( *)(\^+)")
_NOT_PARSED = re.compile(r"\n== SQL ==\n(?:.*\n)*?(.*)\n-*\^\^\^")
_LONGEST_QUOTE = 200


def first_words(text: str) -> str:
    """The message with the error class in front and without stack, plan or the query's echo.

    Where the last cause says something that the message does not ("Task failed while writing rows"),
    it is told, too.
    """
    head = _STACK.split(text.strip(), maxsplit=1)[0]
    words = _message(head)
    causes = _CAUSE.split(text)[1:]
    if causes:
        cause = _message(_STACK.split(causes[-1], maxsplit=1)[0])
        if not words or words == _exception_name(head):
            words = cause
        elif cause and cause.split(": ", 1)[-1] not in words:
            words += f"\n  caused by {cause}"
    return words + _quote(head)


def _message(text: str) -> str:
    text = text.strip()
    name = ""
    while found := _WRAPPERS.match(text) or _EXCEPTION.match(text):
        if found.re is _EXCEPTION:
            name = found.group(1)
        text = text[found.end() :]
    if found := _CLASS.match(text):
        # HiveServer2 says the class twice. Another class behind it belongs to the user's own message.
        condition = found.group(0).strip()
        text = text[found.end() :]
        text = text.removeprefix(again.group(0)) if (again := _EXCEPTION.match(text)) else text
        text = f"{condition} {text.removeprefix(condition).lstrip()}"
    elif name and name != "HiveSQLException":
        text = f"{name}: {text}" if text else name
    if end := _STATE.search(text):
        return text[: end.end()]
    return _ECHO.split(text, maxsplit=1)[0].strip()


def _exception_name(text: str) -> str:
    names = _EXCEPTION.findall(text)
    return names[-1] if names else ""


def _quote(text: str) -> str:
    if found := _UNDERLINED.search(text):
        line, before, marks = found.groups()
        quote = line[len(before) : len(before) + len(marks)]
    elif found := _NOT_PARSED.search(text):
        quote = found.group(1).strip()
    else:
        return ""
    return f"\n  in: {quote[:_LONGEST_QUOTE]}"


def message_of(problem: BaseException) -> str:
    """PySpark's, Hive's and plain exceptions, each in the words it carries, without the secrets in them."""
    return secrets.masked(_words_of(problem))


def _words_of(problem: BaseException) -> str:
    first = problem.args[0] if problem.args else problem
    status = getattr(first, "status", None)  # TCLIService: the message is in the response's status
    if status is not None and status.errorMessage:
        return first_words(status.errorMessage)
    # dbt's own exceptions put a title above and indent the rest: `msg` is what they were given.
    text = problem.msg if isinstance(problem, DbtRuntimeError) else str(problem)
    return first_words(text or type(problem).__name__)


@contextmanager
def told() -> Iterator[None]:
    """Whatever Spark throws in here, as dbt's own exception with the words worth reading."""
    try:
        yield
    except DbtRuntimeError:
        raise
    except Exception as problem:  # noqa: BLE001 - whatever Spark throws becomes dbt's own exception
        raise DbtDatabaseError(message_of(problem)) from secrets.to_be_shown(problem)
