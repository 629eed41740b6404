"""What `suspend` and `resume` share: one append, and what may stand against it."""

from __future__ import annotations

import json
from collections.abc import Callable

import click

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.cli import lookup
from dbt_trickle.cli.main import Place
from dbt_trickle.errors import EnvironmentProblem
from dbt_trickle.run import clock, suspend
from dbt_trickle.run.repair import read_catalog

_OTHER = {"suspend": "active", "resume": "suspended"}


def change(
    place: Place, models: tuple[str, ...], command: str, changed: Callable[[StreamTable, str], StreamTable]
) -> None:
    project = place.project(writes=True)
    configured = _configured(project)
    now = clock.now()
    with project.connect() as session:
        catalog = read_catalog(session, project.settings)
        tables = list(catalog.stream_tables.values())
        chosen = list({table.pgt_id: table for table in (lookup.among(tables, model) for model in models)}.values())
        after = [changed(table, now) for table in chosen]
        suspend.write(session, project.settings, command, after)
    told = []
    for table in after:
        notes = []
        if configured.get(table.dbt_unique_id) == _OTHER[command]:
            notes.append(f"its model is configured with `status: {_OTHER[command]}`, which wins")
        if table.pgt_id in catalog.in_doubt:
            notes.append(
                "a dbt run with it has not ended: if it is still running it writes its own state at its end, "
                f"so look at `trickle status` then, and {command} again if need be"
            )
        told.append({"relation": str(table.public), "status": table.status, "notes": notes})
    if place.output == "json":
        click.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    for line in told:
        click.echo(f"{line['relation']} is {line['status']}")
        for note in line["notes"]:
            click.echo(f"  but {note}")


def _configured(project: object) -> dict[str, str]:
    """The models that say `status` themselves. A project that cannot be parsed just has no such note."""
    try:
        models = project.models()  # type: ignore[attr-defined]
    except EnvironmentProblem:
        return {}
    return {model.unique_id: str(model.status).lower() for model in models}
