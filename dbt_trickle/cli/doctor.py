"""trickle doctor: what is needed, what is there, what to do about the difference."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from dbt_trickle.cli.main import Place, common


@click.command("doctor")
@common
def command(place: Place) -> None:
    """Checks Java, jars, profile, connection and catalog; each failure comes with its remedy."""
    from dbt.adapters.trickle.doctor import examine

    checks = []
    for check in examine(place.project_dir, place.profiles_dir, place.profile, place.target, place.variables):
        checks.append(check)
        if place.output == "text":
            mark = click.style("ok  ", fg="green") if check.ok else click.style("FAIL", fg="red")
            click.echo(f"{mark}  {check.name:<11} {check.found}")
            if check.remedy:
                click.echo(f"      {'':<11} {check.remedy}")
    if place.output == "json":
        click.echo(json.dumps([asdict(check) for check in checks], indent=2))
    if not all(check.ok for check in checks):
        sys.exit(1)
