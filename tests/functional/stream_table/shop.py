"""What the tests of stream tables share: a project to run, the warehouse to look at, the full query to compare with."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from dbt.tests.util import run_dbt

from dbt.adapters.trickle import embedded
from dbt_trickle.cli.main import cli
from dbt_trickle.errors import TrickleError

SOURCES = """
sources:
  - name: shop
    schema: "{{ target.schema }}"
    tables: [%s]
"""


def sources(*names: str) -> str:
    return SOURCES % ", ".join(json.dumps({"name": name}) for name in names)


def model(query: str, **config: Any) -> str:
    given = "".join(f", {key}={value!r}" for key, value in config.items())
    return "{{ config(materialized='stream_table'" + given + f") }}}}\n{query}"


@dataclass(frozen=True)
class Shop:
    """dbt's project fixture, with what a test of stream tables asks of it."""

    project: Any
    catalog: str = "trickle"
    changes: str = "trickle_changes"

    @property
    def schema(self) -> str:
        return str(self.project.test_schema)

    @property
    def root(self) -> Path:
        return Path(self.project.project_root)

    def write(self, name: str, text: str) -> None:
        path = self.root / "models" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def sql(self, *statements: str) -> list[Any]:
        """Beside dbt, in a session of its own; the last statement's rows."""
        spark = embedded.running()
        assert spark is not None
        session = spark.session.newSession()
        session.sql(f"use {self.schema}")
        rows: list[Any] = []
        for statement in statements:
            rows = session.sql(statement).collect()
        return rows

    def table(self, name: str, rows: str = "(1, 'north', 10), (2, 'south', 20)", using: str = "delta") -> None:
        """A source with id, region and amount."""
        self.sql(
            f"drop table if exists {name}",
            f"create table {name} (id int, region string, amount int) using {using}",
            f"insert into {name} values {rows}",
        )

    def dbt(self, *arguments: str, ok: bool = True) -> dict[str, Any]:
        """The nodes' results by name."""
        found = run_dbt(list(arguments), expect_pass=None)
        failed = {result.node.name: result.message for result in found if result.status in ("error", "fail")}
        assert bool(failed) is not ok, failed
        return {result.node.name: result for result in found}

    def run(self, *selected: str, flags: tuple[str, ...] = (), ok: bool = True) -> dict[str, Any]:
        return self.dbt("run", "--select", *selected, *flags, ok=ok)

    def step(self, expected: dict[str, tuple[str, str]], *flags: str) -> None:
        """One run of these models: each does what is expected, for a reason that begins so, and then holds its
        query's rows.
        """
        results = self.run(*expected, flags=flags)
        newest = {row.name: row for row in self._newest(expected)}
        said = {}
        for name, result in results.items():
            answer = result.adapter_response
            assert (newest[name].action, newest[name].reason) == (answer["action"], answer["reason"])
            reason = answer["reason"].replace(f"{self.schema}.", "")
            begins = expected[name][1]
            said[name] = (answer["action"], begins if reason.startswith(begins) else reason)
        assert said == expected
        assert self.difference(*expected) == []

    def _newest(self, names: Iterable[str]) -> list[Any]:
        ids = ", ".join(f"'model.test.{name}'" for name in names)
        return self.sql(
            "select name, max_by(action, start_time) as action, max_by(reason, start_time) as reason from "
            "(select h.*, split(t.dbt_unique_id, '[.]')[2] as name "
            f"from {self.catalog}.pgt_refresh_history h join {self.catalog}.pgt_stream_tables t "
            f"on t.pgt_id = h.pgt_id where t.dbt_unique_id in ({ids}) and startswith(t.pgt_schema, '{self.schema}')) "
            "group by name"
        )

    def difference(self, *names: str) -> list[Any]:
        """Stream tables that are not what their full query gives, with the number of rows that differ."""
        counts = []
        for name in names:
            query, shown = (
                f"select * from ({self.compiled(name)})",
                f"select {self.columns(name)} from {self.public(name)}",
            )
            both = f"(({shown}) except all ({query})) union all (({query}) except all ({shown}))"
            counts.append(f"select '{name}' as name, count(*) as wrong from ({both})")
        return self.sql(f"select * from ({' union all '.join(counts)}) where wrong > 0")

    def columns(self, name: str) -> str:
        """Without those that a table that is exposed has behind the query's."""
        names = [row.col_name for row in self.sql(f"describe query select * from {self.public(name)}")]
        return ", ".join(f"`{each.replace('`', '``')}`" for each in names if not each.startswith("__pgt_"))

    def compiled(self, name: str) -> str:
        text = next((self.root / "target" / "compiled").rglob(f"{name}.sql")).read_text(encoding="utf-8")
        return text.rstrip().removesuffix(";") + "\n"

    def public(self, name: str) -> str:
        """The relation of a model that has neither alias nor schema of its own."""
        return f"`{self.schema}`.`{name}`"

    def state(self, name: str) -> Any:
        """The catalog's row of a model of this test's project."""
        rows = self.sql(
            f"select * from {self.catalog}.pgt_stream_tables where dbt_unique_id = 'model.test.{name}' "
            f"and startswith(pgt_schema, '{self.schema}')"
        )
        assert len(rows) == 1, rows
        return rows[0]

    def history(self, name: str) -> list[Any]:
        """A model's refreshes, oldest first."""
        return self.sql(
            f"select h.* from {self.catalog}.pgt_refresh_history h join {self.catalog}.pgt_stream_tables t "
            f"on t.pgt_id = h.pgt_id where t.dbt_unique_id = 'model.test.{name}' "
            f"and startswith(t.pgt_schema, '{self.schema}') order by h.start_time"
        )

    def storages(self, name: str) -> list[str]:
        return sorted(
            row.tableName for row in self.sql(f"show tables in {self.changes} like 'st_{self.state(name).pgt_id}_g*'")
        )

    def trickle(self, *arguments: str, ok: bool | None = True) -> Result:
        """The `trickle` command in this process, hence with its Spark."""
        where = ("--project-dir", str(self.root), "--profiles-dir", str(self.project.profiles_dir))
        result = CliRunner().invoke(cli, [*arguments, *where])
        if ok:
            assert result.exit_code == 0, (result.output, result.exception)
        elif ok is False:
            assert isinstance(result.exception, TrickleError), result.output
        return result

    def trickle_json(self, *arguments: str) -> Any:
        return json.loads(self.trickle(*arguments, "--output", "json").stdout)
