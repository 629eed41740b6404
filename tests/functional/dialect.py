"""dbt's suites are written for Postgres, tables and views; this rewrites their files and statements."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

_TO_SPARK = (
    # Spark has one catalog here, and dbt-spark leaves it out of every name.
    (re.compile(r"\{\{ ?target\.database ?\}\}\.|(?:\{database\}|\bNone)\."), ""),
    (re.compile(r"\btimestamp without time zone\b", re.IGNORECASE), "timestamp"),
    (re.compile(r"\btext\b", re.IGNORECASE), "string"),
)
# Double quotes delimit names in Postgres and strings in Spark. Not in files: Jinja and YAML use them, too.
_QUOTED_NAME = re.compile(r'(?<=[\s,(])"(\w+)"(?=[\s,)]|$)')
_END_OF_STATEMENT = re.compile(r";\s*(?:\n|$)")
_NOTHING = re.compile(r"(?:\s|--[^\n]*(?:\n|$))*")
# An incremental model asks for {{ this }} and stays what it is.
_TABLE_OR_VIEW = re.compile(r"(materialized\s*[=:]\s*)(['\"]?)(?:table|view)\b\2")


def as_spark(sql: str) -> str:
    for pattern, replacement in _TO_SPARK:
        sql = pattern.sub(replacement, sql)
    return sql


def as_stream_table(text: str) -> str:
    return _TABLE_OR_VIEW.sub(r"\1\2stream_table\2", text)


def statements(sql: str) -> list[str]:
    """Spark takes one statement at a time."""
    return [part for part in _END_OF_STATEMENT.split(sql) if not _NOTHING.fullmatch(part)]


class _Rewritten:
    """A suite's project, rewritten once its files are there. The rewrites of several mixins add up."""

    @pytest.fixture(scope="class")
    def project_files(self, project_files: None, project_root: Any) -> None:
        self.rewrite(Path(project_root))

    def rewrite(self, root: Path) -> None:
        """Nothing here: each mixin adds its own."""


class SparkFiles(_Rewritten):
    """For a suite whose models, properties or hooks hold Postgres' types."""

    def rewrite(self, root: Path) -> None:
        super().rewrite(root)
        for path in root.rglob("*"):
            if path.suffix in (".sql", ".yml"):
                path.write_text(as_spark(path.read_text()))


class StreamTables(_Rewritten):
    """For a suite whose models shall be stream tables, whether they say what they are or not."""

    def rewrite(self, root: Path) -> None:
        super().rewrite(root)
        for path in (root / "models").rglob("*"):
            if path.suffix in (".sql", ".yml"):
                path.write_text(as_stream_table(path.read_text()))
        project = yaml.safe_load((root / "dbt_project.yml").read_text())
        project.setdefault("models", {})["+materialized"] = "stream_table"
        (root / "dbt_project.yml").write_text(yaml.safe_dump(project))


class SparkStatements:
    """For a suite that runs Postgres' statements beside dbt."""

    @pytest.fixture(scope="class")
    def project(self, project: Any) -> Any:
        run_one = project.run_sql

        def run_sql(sql: str, fetch: str | None = None) -> Any:
            answer = None
            for statement in statements(_QUOTED_NAME.sub(r"`\1`", as_spark(sql))):
                answer = run_one(statement, fetch)
            return answer

        project.run_sql = run_sql
        return project


class InSpark(SparkFiles, SparkStatements):
    pass
