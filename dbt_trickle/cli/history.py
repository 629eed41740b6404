"""trickle history MODEL: what each refresh did, and why."""

from __future__ import annotations

import click

from dbt_trickle.catalog import reports
from dbt_trickle.cli import lookup, output
from dbt_trickle.cli.main import Place, common


@click.command("history")
@click.argument("model")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many, newest first.")
@common
def command(place: Place, model: str, limit: int) -> None:
    """Shows the refreshes of MODEL: action, reason, rows, time, error."""
    project = place.project()
    schema = project.settings.catalog_schema
    with project.connect() as session:
        number = lookup.number(session, schema, model)
        found = lookup.rows(session, reports.history(schema, number, limit))
    rows = [
        {
            **row,
            "seconds": f"{(row['end_time'] - row['start_time']).total_seconds():.1f}" if row["end_time"] else None,
            "why": (row["error_message"] or row["reason"] or "").split("\n")[0],
        }
        for row in found
    ]
    output.show(
        rows,
        {
            "start_time": "started",
            "action": "action",
            "status": "status",
            "rows_inserted": "+ rows",
            "rows_deleted": "− rows",
            "seconds": "s",
            "why": "reason",
        },
        place.output,
        "It has not been refreshed yet.",
    )
