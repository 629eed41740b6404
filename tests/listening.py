"""What is sent to the warehouse, and which statements of it docs/operations.md says the account has to be allowed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbt.adapters.trickle.statements import writes
from dbt_trickle.apply import few
from dbt_trickle.names import quote
from dbt_trickle.run.session import Session

PAGE = Path(__file__).parents[1] / "docs" / "operations.md"
# The rows of the page's table of statements.
SOURCES, PUBLIC, CHANGES, CATALOG = "the sources' schemas", "the model's schema", "`trickle_changes`", "`trickle`"
# A statement that writes: its words, and the schema that it writes to.
WRITTEN = re.compile(r"\s*((?:[A-Z]+ )+?)(?:IF (?:NOT )?EXISTS )?`(\w+)`")


def is_its_own(sql: str) -> bool:
    """What a session keeps for itself, and lets go: nobody else sees it, and it ends with the session."""
    return sql.startswith(("CACHE ", "DROP VIEW ")) and quote(few.VIEW) in sql.split("\n")[0]


@dataclass
class Listening:
    inner: Session
    heard: list[str] = field(default_factory=list)

    def execute(self, sql: str) -> None:
        self.heard.append(sql)
        self.inner.execute(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self.heard.append(sql)
        return self.inner.query(sql)

    def written(self, schemas: Mapping[str, str]) -> set[tuple[str, str]]:
        """Of each statement that writes the schema, as the page calls it, and the words; settings, and what it keeps,
        are the session's own affair. `schemas`: what the page calls each."""
        found = set()
        for sql in self.heard:
            if writes(sql) and not is_its_own(sql):
                told = WRITTEN.match(sql)
                assert told is not None, sql
                assert told[2] in schemas, sql
                found.add((schemas[told[2]], told[1].strip()))
        return found


def listed() -> set[tuple[str, str]]:
    """What the page has: of each schema the words of the statements that are about it."""
    table = PAGE.read_text("utf-8").split("| schema | statements |\n")[1].split("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]
    return {(schema, words) for schema, statements in cells for words in re.findall("`([A-Z ]+)`", statements)}
