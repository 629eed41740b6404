"""trickle status: every stream table of the target, in one line each."""

from __future__ import annotations

import click

from dbt_trickle.catalog import reports
from dbt_trickle.cli import lookup, output
from dbt_trickle.cli.main import Place, common


@click.command("status")
@common
def command(place: Place) -> None:
    """Shows the stream tables: status, how stale they are, what went wrong."""
    project = place.project()
    with project.connect() as session:
        found = lookup.rows(session, reports.status(project.settings.catalog_schema))
    rows = [
        {
            **row,
            "name": f"{row['pgt_schema']}.{row['pgt_name']}",
            "stale": output.duration(row["staleness_seconds"]),
            "problem": (row["last_error"] or "").split("\n")[0][:120] or None,
        }
        for row in found
    ]
    output.show(
        rows,
        {
            "name": "stream table",
            "status": "status",
            "refresh_mode": "mode",
            "batch": "batch",
            "data_timestamp": "data as of",
            "stale": "age",
            "total_refreshes": "refreshes",
            "failures": "failures",
            "problem": "last error",
        },
        place.output,
        f"No stream tables in {project.settings.catalog_schema} yet: "
        "`dbt run` creates those with materialized='stream_table'.",
    )
