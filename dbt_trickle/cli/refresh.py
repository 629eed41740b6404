"""trickle refresh MODEL…: dbt's own run of these models, told in one line each."""

from __future__ import annotations

import sys

import click

from dbt_trickle.cli import lookup, output
from dbt_trickle.cli.main import Place, common


@click.command("refresh")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--full-refresh", is_flag=True, help="Recompute, whatever has changed.")
@common
def command(place: Place, models: tuple[str, ...], full_refresh: bool) -> None:
    """Refreshes each MODEL as `dbt run --select` does, and says what was done."""
    project = place.project()
    known = [(model, model.unique_id) for model in project.models()]
    results = project.run([lookup.chosen(known, model) for model in models], full_refresh)
    rows = [
        {
            "name": result.name,
            "result": result.status,
            "action": result.action,
            "rows_inserted": result.rows_inserted,
            "rows_deleted": result.rows_deleted,
            "seconds": round(result.seconds, 1),
            "why": result.reason if place.output == "json" else _first_line(result.reason),
        }
        for result in results
    ]
    headings = {
        "name": "stream table",
        "result": "result",
        "action": "action",
        "rows_inserted": "+ rows",
        "rows_deleted": "− rows",
        "seconds": "s",
        "why": "reason",
    }
    output.show(rows, headings, place.output, "Nothing was selected.")
    if any(not result.ok for result in results):
        sys.exit(1)


def _first_line(reason: str) -> str:
    """dbt puts a line of its own, which only names the model, on top of an error."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    if len(lines) > 1 and not lines[0].startswith("["):
        lines = lines[1:]
    return lines[0] if lines else ""
