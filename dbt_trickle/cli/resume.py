"""trickle resume MODEL…: runs refresh it again."""

from __future__ import annotations

import click

from dbt_trickle.cli import standing
from dbt_trickle.cli.main import Place, common
from dbt_trickle.run import suspend


@click.command("resume")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@common
def command(place: Place, models: tuple[str, ...]) -> None:
    """Runs refresh each MODEL again, whether it was suspended by hand or after errors."""
    standing.change(place, models, "resume", suspend.resumed)
