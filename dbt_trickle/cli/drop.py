"""trickle drop MODEL: the stream table with all that is behind it."""

from __future__ import annotations

import json

import click

from dbt_trickle.catalog import store
from dbt_trickle.cli import lookup
from dbt_trickle.cli.main import Place, common
from dbt_trickle.run import leave


def warn(text: str) -> None:
    click.echo(f"Warning: {text}", err=True)


@click.command("drop")
@click.argument("model")
@click.option("--cascade", is_flag=True, help="Drop the stream tables that read it as well.")
@common
def command(place: Place, model: str, cascade: bool) -> None:
    """Drops MODEL: its public relation, its storage, its catalog rows. Its history stays."""
    project = place.project(writes=True)
    schema = project.settings.catalog_schema
    # Before it connects: dbt's parser would close the connection.
    reads = {each.unique_id: each.reads for each in project.models()}
    with project.connect() as session:
        number = lookup.number(session, schema, model)
        tables = store.parse(session.query(store.read_query(schema))).stream_tables
        gone = leave.drop(session, project.settings, tables[number], list(tables.values()), cascade, reads, warn)
    names, left = [str(table.public) for table in gone.tables], list(map(str, gone.left_alone))
    if place.output == "json":
        click.echo(json.dumps({"dropped": names, "left_alone": left}))
        return
    click.echo("Dropped " + ", ".join(names) + ".")
    for name in left:
        click.echo(f"Left alone: {name}, because what has the name now is somebody else's.")
