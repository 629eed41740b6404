"""trickle suspend MODEL…: runs skip it until it is resumed."""

from __future__ import annotations

import click

from dbt_trickle.cli import standing
from dbt_trickle.cli.main import Place, common
from dbt_trickle.run import suspend


@click.command("suspend")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@common
def command(place: Place, models: tuple[str, ...]) -> None:
    """Runs skip each MODEL from now on; its content stays as it is, and can be read."""
    standing.change(place, models, "suspend", suspend.suspended)
