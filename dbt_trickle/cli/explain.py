"""trickle explain MODEL: how a stream table is maintained, and what the next run would do."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import click

from dbt_trickle.cli import lookup
from dbt_trickle.cli.main import Place, common
from dbt_trickle.formats.base import FUNCTION, VIEW
from dbt_trickle.run.clock import now
from dbt_trickle.run.explain import Explained, explained
from dbt_trickle.run.invocation import Invocation


@click.command("explain")
@click.argument("model")
@click.option("--sql", is_flag=True, help="The statements as well, that the next run would execute.")
@common
def command(place: Place, model: str, sql: bool) -> None:
    """Says how MODEL is maintained, operator by operator, and what the next run would do. Changes nothing."""
    project = place.project()
    request = project.request(lookup.chosen([(known, known.unique_id) for known in project.models()], model))
    run = Invocation(str(uuid.uuid4()), project.settings, now)
    with project.connect() as session:
        found = explained(request, session, run)
    if place.output == "json":
        click.echo(json.dumps(found.to_row(), indent=2, ensure_ascii=False))
        return
    for line in _told(found):
        click.echo(line)
    if sql:
        told = ";\n\n".join(found.statements)
        click.echo(f"\n{told};" if told else "\nThe next run would execute no statement.")


def _told(found: Explained) -> Iterator[str]:
    yield click.style(found.relation, bold=True)
    about = f" (about {found.predicted_ms} ms)" if found.predicted_ms is not None else ""
    yield f"next run    {found.action}{about}: {found.reason}"
    yield f"maintained  {found.maintained}" + (f": {found.why}" if found.why else "")
    if found.identity:
        yield f"rows by     {found.identity}"
        yield f"hidden      {', '.join(f'{each.name} {each.type}' for each in found.hidden)}"
    if found.functions:
        yield f"calls       {', '.join(found.functions)}"
    took = [("full", found.last_full_ms), ("differential", found.last_diff_ms)]
    if measured := ", ".join(f"{name} {ms} ms" for name, ms in took if ms is not None):
        yield f"last took   {measured}"
    for source in found.sources:
        versions = f"version {source.now}" if source.known in (None, source.now) else f"{source.known} → {source.now}"
        what = {VIEW: "a view", FUNCTION: "a function"}.get(source.kind, versions)
        how = f", by {source.read}" if source.read else f", {source.capture}" if source.capture else ""
        yield f"source      {source.relation}: {what}{how}"
    for line in found.operators:
        yield f"{'  ' * line.depth}{line.operator}  " + click.style(f"[{line.told}]", dim=True)
