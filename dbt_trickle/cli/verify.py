"""trickle verify: whether stream tables are what their queries say."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

import click

from dbt_trickle.cli import lookup
from dbt_trickle.cli.main import Place, common
from dbt_trickle.run import verify
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.repair import read_catalog
from dbt_trickle.run.verify import Row, Verdict

_COLOURS = {verify.OK: "green", verify.DIFFERENT: "red", verify.FAILED: "red", verify.NOT_VERIFIABLE: "yellow"}
_WIDEST = max(map(len, _COLOURS))


@click.command("verify")
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@common
def command(place: Place, models: tuple[str, ...]) -> None:
    """Compares each MODEL (all without one) with its query over its sources as of its last refresh."""
    project = place.project()
    verdicts = []
    with project.connect() as session:
        tables = list(read_catalog(session, project.settings).stream_tables.values())
        chosen = [lookup.among(tables, model) for model in models] or sorted(tables, key=lambda t: str(t.public))
        frozen = Frozen(session)
        for table in {table.pgt_id: table for table in chosen}.values():
            verdict = verify.verify(session, frozen, table)
            verdicts.append(verdict)
            if place.output == "text":
                _say(verdict)
    if place.output == "json":
        told = [{**asdict(verdict), "relation": str(verdict.relation)} for verdict in verdicts]
        click.echo(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        click.echo(_summary(verdicts))
    if any(verdict.outcome in (verify.DIFFERENT, verify.FAILED) for verdict in verdicts):
        sys.exit(1)


def _say(verdict: Verdict) -> None:
    about = f" ({verdict.reason})" if verdict.reason else ""
    if verdict.missing or verdict.surplus:
        about = f" ({verdict.missing} missing, {verdict.surplus} surplus)"
    mark = click.style(f"{verdict.outcome:<{_WIDEST}}", fg=_COLOURS[verdict.outcome])
    click.echo(f"{mark}  {verdict.relation}{about}")
    for sign, rows in (("−", verdict.missing_rows), ("+", verdict.surplus_rows)):
        for row in rows:
            click.echo(f"    {sign} {_row(row)}")


def _row(row: Row) -> str:
    values = ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in row.values.items())
    return values + (f"  ({row.copies} times)" if row.copies > 1 else "")


def _summary(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return "No stream tables yet: `dbt run` creates those with materialized='stream_table'."
    counts = {outcome: sum(v.outcome == outcome for v in verdicts) for outcome in _COLOURS}
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    found = any(verdict.missing_rows or verdict.surplus_rows for verdict in verdicts)
    return told + (". Rows: − is missing in the stream table, + should not be there." if found else ".")
