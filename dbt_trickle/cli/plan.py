"""trickle plan: what a run would do with each stream table, and why."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import click

from dbt_trickle.cli import output
from dbt_trickle.cli.main import Place, common
from dbt_trickle.errors import CommandError
from dbt_trickle.run.clock import now
from dbt_trickle.run.foresee import FAILS, Asked, Foreseen, foreseen
from dbt_trickle.run.invocation import Invocation
from dbt_trickle.run.request import is_named

ACTIONS = ("NO_DATA", "FULL", "DIFFERENTIAL", "REINITIALIZE", "ALTER", "SKIP", FAILS)
FAILED = 2  # as with other commands 1 is an error of the command's own


@click.command("plan")
@click.option("-s", "--select", "select", multiple=True, help="As of `dbt run`, several in quotes; default: all.")
@click.option("--exclude", multiple=True, help="As of `dbt run`, several in quotes.")
@click.option("--fail-on", default="", help="Actions, by commas, at which to exit with 2: full,reinitialize")
@common
def command(place: Place, select: Sequence[str], exclude: Sequence[str], fail_on: str) -> None:
    """Says what a run would do with each stream table, and why. Runs nothing and writes nothing."""
    unwanted = _actions(fail_on)
    project = place.project()
    chosen = project.requests(select, exclude)
    asked = [Asked(request, model.reads, is_named(model.unique_id, select)) for model, request in chosen]
    run = Invocation(str(uuid.uuid4()), project.settings, now)
    with project.connect() as session:
        found = foreseen(asked, session, run)
    if place.output == "json":
        click.echo(json.dumps([each.to_row() for each in found], indent=2, ensure_ascii=False))
    else:
        headings = {
            "name": "stream table",
            "action": "action",
            "changed": "changed rows",
            "seconds": "≈ s",
            "reason": "reason",
        }
        output.show([_row(each) for each in found], headings, place.output, "No stream table was selected.")
    if any(each.action in unwanted for each in found):
        sys.exit(FAILED)


def _actions(text: str) -> frozenset[str]:
    wanted = frozenset(each.strip().upper() for each in text.split(",") if each.strip())
    if unknown := sorted(wanted - set(ACTIONS)):
        raise CommandError(
            "TRK-505",
            f"`--fail-on` names {', '.join(unknown).lower()}, which no refresh is",
            remedy=f"The actions are {', '.join(ACTIONS).lower()}.",
        )
    return wanted


def _row(found: Foreseen) -> Mapping[str, Any]:
    rows = [f"{source}: {'?' if count is None else count}" for source, count in found.changed.items()]
    return {
        "name": found.relation,
        "action": found.action,
        "changed": ", ".join(rows) or None,
        "seconds": None if found.predicted_ms is None else f"{found.predicted_ms / 1000:.1f}",
        "reason": found.reason,
    }
