"""Messages as PySpark 4.1 and HiveServer2 gave them, stacks shortened, and what is shown of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.trickle.problems import first_words, message_of

HIVE = "org.apache.hive.service.cli.HiveSQLException: Error running query: "
STACK = (
    "\n\tat org.apache.spark.sql.hive.thriftserver.HiveThriftServerErrors$.runningQueryError(Errors.scala:4)"
    "\n\tat java.base/java.lang.Thread.run(Thread.java:840)"
)
SUPPRESSED = "\n\t\t... 34 more\n\tSuppressed: org.apache.spark.util.Utils$OriginalTryStackTraceException: Full"

UNRESOLVED = (
    "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `nocol` cannot "
    "be resolved. Did you mean one of the following? [`a`]. SQLSTATE: 42703; line 1 pos 7"
)
PLAN = ";\n'Project ['nocol]\n+- SubqueryAlias __auto_generated_subquery_name\n   +- OneRowRelation\n"
PARSE = "[PARSE_SYNTAX_ERROR] Syntax error at or near ','. SQLSTATE: 42601 (line 2, pos 9)"
PARSE_ECHO = "\n\n== SQL ==\n/* a comment */\nselect a,, b from u4\n---------^^^\nwhere x\n"
CAST = (
    '[CAST_INVALID_INPUT] The value \'x1\' of the type "STRING" cannot be cast to "INT" because it is '
    "malformed. Use `try_cast` to tolerate malformed input and return NULL instead. SQLSTATE: 22018"
)
CAST_ECHO = "\n== SQL (line 1, position 8) ==\nselect cast(c as int) from t\n       ^^^^^^^^^^^^^^\n"
NOT_NULL = "[DELTA_NOT_NULL_CONSTRAINT_VIOLATED] NOT NULL constraint violated for column: a."
MISMATCH = (
    "[DELTA_METADATA_MISMATCH] A metadata mismatch was detected when writing to the Delta table.\n"
    "\nTable schema:\nroot\n |-- a: integer (nullable = true)\n\n\nData schema:\nroot\n |-- c: integer"
)
FIELD = "[FIELD_ALREADY_EXISTS] Cannot add column, because `a` already exists. SQLSTATE: 42710; line 1 pos 0"
FIELD_PLAN = ";\nAddColumns [qualifiedcoltype(None, a, IntegerType)]\n+- ResolvedTable org.apache.spark.sql.delta\n"
TASK = "[TASK_WRITE_FAILED] Task failed while writing rows to file:/w/u. SQLSTATE: 58030"
ABORTED = (
    "Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times, most recent failure: "
    "Lost task 0.0 in stage 0.0 (TID 0) (localhost executor driver): "
)
NUMBER = 'java.lang.NumberFormatException: For input string: "x"'


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        # PySpark: the message, then the plan or the query
        (UNRESOLVED + PLAN, UNRESOLVED),
        (FIELD + FIELD_PLAN, FIELD),
        ("\n" + PARSE + PARSE_ECHO, PARSE + "\n  in: select a,, b from u4"),
        (CAST + CAST_ECHO, CAST + "\n  in: cast(c as int)"),
        (NOT_NULL + "\n", NOT_NULL),
        (MISMATCH, MISMATCH),  # its paragraphs are the message
        (UNRESOLVED + "\n\nJVM stacktrace:\norg.apache.spark.sql.AnalysisException" + STACK, UNRESOLVED),
        # HiveServer2: wrapped, the class twice, a stack, the cause with the same words
        (
            f"{HIVE}[UNRESOLVED_COLUMN.WITH_SUGGESTION] org.apache.spark.sql.AnalysisException: "
            f"{UNRESOLVED}{PLAN}{STACK}"
            f"\nCaused by: org.apache.spark.sql.AnalysisException: {UNRESOLVED}{PLAN}{STACK}",
            UNRESOLVED,
        ),
        (
            f"{HIVE}[PARSE_SYNTAX_ERROR] org.apache.spark.sql.catalyst.parser.ParseException: \n"
            f"{PARSE}{PARSE_ECHO}{STACK}",
            PARSE + "\n  in: select a,, b from u4",
        ),
        (
            f"{HIVE}[CAST_INVALID_INPUT] org.apache.spark.SparkNumberFormatException: {CAST}{CAST_ECHO}{STACK}",
            CAST + "\n  in: cast(c as int)",
        ),
        (
            f"{HIVE}[DELTA_NOT_NULL_CONSTRAINT_VIOLATED] org.apache.spark.sql.delta.schema."
            f"DeltaInvariantViolationException: {NOT_NULL}\n{STACK}",
            NOT_NULL,
        ),
        # The user's own text may look like ours.
        (
            f"{HIVE}[USER_RAISED_EXCEPTION] org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] "
            f"[MY_CLASS] hello: java.lang.Error: oh SQLSTATE: P0001{STACK}",
            "[USER_RAISED_EXCEPTION] [MY_CLASS] hello: java.lang.Error: oh SQLSTATE: P0001",
        ),
        (
            "[USER_RAISED_EXCEPTION] two\n\nparagraphs SQLSTATE: P0001",
            "[USER_RAISED_EXCEPTION] two\n\nparagraphs SQLSTATE: P0001",
        ),
        # Nested: the last cause is what the user can act on.
        (
            f"An error occurred while calling o76.sql.\n: org.apache.spark.SparkException: {TASK}{STACK}"
            f"{SUPPRESSED}\nCaused by: java.lang.reflect.InvocationTargetException\n\t... 1 more"
            f"\nCaused by: {NUMBER}{STACK}",
            TASK + '\n  caused by NumberFormatException: For input string: "x"',
        ),
        (
            f"{HIVE}org.apache.spark.SparkException: {ABORTED}java.lang.reflect.InvocationTargetException"
            f"{STACK}\nCaused by: {NUMBER}\n\t... 32 more\n\nDriver stacktrace:"
            f"{STACK}\nCaused by: {NUMBER}{STACK}",
            'NumberFormatException: For input string: "x"',
        ),
        (
            f"An error occurred while calling o9.collectToPython.\n: {NUMBER}{STACK}",
            NUMBER.removeprefix("java.lang."),
        ),
        # No message at all: the name is all there is.
        (f"{HIVE}java.lang.NullPointerException{STACK}", "NullPointerException"),
        # Not Spark's
        ("Could not connect to any of [('127.0.0.1', 1)]", "Could not connect to any of [('127.0.0.1', 1)]"),
        ("", ""),
    ],
)
def test_what_is_shown(raw: str, shown: str) -> None:
    assert first_words(raw) == shown


def test_the_quote_is_short() -> None:
    line = "select " + "a, " * 500
    shown = first_words(f"[PARSE_SYNTAX_ERROR] no SQLSTATE: 42601 (line 1, pos 9)\n\n== SQL ==\n{line}\n---------^^^")
    assert len(shown) < 300


def test_hives_response_carries_its_message_in_the_status() -> None:
    response = SimpleNamespace(status=SimpleNamespace(errorMessage=f"{HIVE}[X_Y] a.b.CException: [X_Y] no{STACK}"))
    assert message_of(Exception(response)) == "[X_Y] no"


def test_dbts_exceptions_are_told_without_their_title() -> None:
    assert message_of(DbtDatabaseError(f"{HIVE}[X_Y] a.b.CException: [X_Y] no{STACK}")) == "[X_Y] no"


def test_an_exception_without_words_is_told_by_its_name() -> None:
    assert message_of(TimeoutError()) == "TimeoutError"
