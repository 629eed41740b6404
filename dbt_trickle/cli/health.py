"""trickle health: how each source is captured, and how far its slowest reader is behind."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from dbt_trickle.capture.lag import CRITICAL
from dbt_trickle.cli import output
from dbt_trickle.cli.main import Place, common
from dbt_trickle.plan import atomic
from dbt_trickle.run import capture_health, clock, stale
from dbt_trickle.run.repair import read_catalog


@click.command("health")
@common
def command(place: Place) -> None:
    """Shows the sources: capture, lag, and whether the slowest reader's version can still be read."""
    project = place.project()
    now = clock.now()
    with project.connect() as session:
        catalog = read_catalog(session, project.settings)
        found = capture_health.look(session, project.settings, catalog, now)
        capture_health.tell(session, project.settings, found, now)
        late = stale.found(catalog.stream_tables.values(), now)
        stale.tell(session, project.settings, late)
    rows = [asdict(each) for each in found]
    if place.output == "text":
        for row in rows:
            row["bytes"] = output.size(row["lag_bytes"])
            row["time"] = output.duration(row["lag_seconds"])
            row["state"] = f"{row['level']}: {row['problem']}" if row["problem"] else row["level"]
    output.show(
        rows,
        {
            "source": "source",
            "cdc_mode": "capture",
            "reason": "reason",
            "slowest_consumer": "slowest reader",
            "confirmed_version": "has version",
            "oldest_readable_version": "readable from",
            "newest_version": "newest",
            "lag_versions": "behind",
            "bytes": "bytes",
            "time": "time",
            "state": "state",
        },
        place.output,
        "No sources yet: `dbt run` creates stream tables with materialized='stream_table'.",
    )
    for event in late if place.output == "text" else ():
        old, schedule = output.duration(event.payload["seconds"]), event.payload["schedule"]
        click.echo(f"{event.relation} is stale: its data is {old} old, its schedule is {schedule}")
    for table in catalog.stream_tables.values() if place.output == "text" else ():
        if (held := table.held_back) is not None:
            why = atomic.why(table, list(catalog.stream_tables.values())) or "the next run shows it"
            click.echo(f"{table.public} is held back: readers see its rows of {held.data_timestamp}; {why}")
    if any(each.level == CRITICAL for each in found):
        sys.exit(1)
