"""trickle graph: what reads what, in the order in which it is refreshed, and where branches meet again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from dbt_trickle.cli.main import Place, common
from dbt_trickle.plan import graph
from dbt_trickle.plan.edges import edges
from dbt_trickle.run.repair import read_catalog


@click.command("graph")
@common
def command(place: Place) -> None:
    """Shows what the stream tables read, in the order in which they are refreshed, and diamonds."""
    project = place.project()
    models = {model.unique_id: (str(model.public), model.reads) for model in project.models()}
    with project.connect() as session:
        tables = list(read_catalog(session, project.settings).stream_tables.values())
    reads = edges(tables, models)
    found = told(reads)
    if place.output == "json":
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    elif not reads:
        click.echo("No stream tables yet: `dbt run` creates those with materialized='stream_table'.")
    else:
        click.echo("\n".join(_lines(found)))


def told(reads: graph.Reads) -> dict[str, Any]:
    level = graph.levels(reads)
    order = sorted(reads, key=lambda name: (level[name], name))
    return {
        "stream_tables": [{"name": name, "level": level[name], "reads": sorted(reads[name])} for name in order],
        "sources": sorted({each for inputs in reads.values() for each in inputs} - reads.keys()),
        "diamonds": [{"name": each.name, **asdict(each)} for each in graph.diamonds(reads)],
        "cycles": [list(each) for each in graph.cycles(reads)],
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    widest = max(len(each["name"]) for each in found["stream_tables"])
    for each in found["stream_tables"]:
        inputs = ", ".join(each["reads"]) or "nothing that is known"
        yield f"{each['level']:>3}  {each['name']:<{widest}}  " + click.style(f"← {inputs}", dim=True)
    for each in found["diamonds"]:
        yield f"diamond: {', '.join(each['members'])}"
        yield f"    share {', '.join(each['shared'])}, and meet in {', '.join(each['converges'])}"
    for each in found["cycles"]:
        yield click.style("cycle: ", fg="red") + ", ".join(each)
