"""The `trickle` command. Each command is a file; here are their common options and how errors end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from dbt_trickle.errors import TrickleError

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Place:
    """Which project, profile and target a command is about, and how it answers."""

    project_dir: str | None
    profiles_dir: str | None
    profile: str | None
    target: str | None
    variables: str
    output: str

    def project(self, writes: bool = False) -> Any:
        """`writes`: the command is there to write to the warehouse."""
        # dbt takes a second to import: only what needs a project pays for it.
        from dbt.adapters.trickle.bridge import open_project

        where = self.project_dir, self.profiles_dir, self.profile, self.target
        return open_project(*where, self.variables, writes=writes)


def common(command: F) -> F:
    """dbt's own options, and --output."""

    def wrapped(
        project_dir: str | None,
        profiles_dir: str | None,
        profile: str | None,
        target: str | None,
        variables: str,
        output: str,
        **rest: Any,
    ) -> Any:
        return command(Place(project_dir, profiles_dir, profile, target, variables, output), **rest)

    wrapped.__name__, wrapped.__doc__ = command.__name__, command.__doc__
    wrapped.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in (
        click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True),
        click.option("--vars", "variables", default="{}", help="The variables of `dbt run`, in YAML or JSON."),
        click.option("-t", "--target", envvar="DBT_TARGET", help="The profile's target; default: the profile's own."),
        click.option("--profile", envvar="DBT_PROFILE", help="The profile; default: the project's own."),
        click.option("--profiles-dir", envvar="DBT_PROFILES_DIR", help="Where profiles.yml is; default: as dbt's."),
        click.option("--project-dir", envvar="DBT_PROJECT_DIR", help="Where dbt_project.yml is; default: here."),
    ):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]


class Commands(click.Group):
    """Imports a command's file only when it is called."""

    names = (
        "doctor",
        "drop",
        "explain",
        "graph",
        "health",
        "history",
        "plan",
        "refresh",
        "repair",
        "resume",
        "status",
        "suspend",
        "verify",
    )

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.names)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.names:
            return None
        from importlib import import_module

        command: click.Command = import_module(f"dbt_trickle.cli.{name}").command
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dbt-trickle", prog_name="trickle")
def cli() -> None:
    """Looks after the stream tables of a dbt project."""


def main() -> None:
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as ending:
        sys.exit(ending.exit_code)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except TrickleError as problem:
        click.echo(f"Error: {problem}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
