"""trickle repair: makes the catalog true again and finds what nobody needs."""

from __future__ import annotations

import json

import click

from dbt_trickle.cli.main import Place, common
from dbt_trickle.run import repair
from dbt_trickle.run.orphans import Orphan


@click.command("repair")
@click.option("--apply", "apply_", is_flag=True, help="Remove the orphans that are listed without it.")
@common
def command(place: Place, apply_: bool) -> None:
    """Rebuilds the catalog from the storages' own histories, and lists this project's orphans."""
    project = place.project(writes=apply_)
    scope = project.scope()
    with project.connect() as session:
        findings = repair.examine(session, project.settings, scope)
        repair.write(session, project.settings, findings)
        removed = repair.remove(session, project.settings, findings) if apply_ else frozenset()
    if place.output == "json":
        told = {
            "rebuilt": [str(table.public) for table in findings.rebuilt],
            "orphans": [{**_told(orphan), "removed": orphan in removed} for orphan in findings.orphans],
            "left_alone": list(map(_told, findings.left_alone)),
        }
        click.echo(json.dumps(told, indent=2))
        return
    if findings.rebuilt:
        click.echo("Rebuilt in the catalog: " + ", ".join(str(table.public) for table in findings.rebuilt) + ".")
    else:
        click.echo(f"The catalog agrees with the storages ({len(findings.tables)} stream tables).")
    for orphan in findings.orphans:
        click.echo(f"{'Removed' if orphan in removed else 'Orphan'}: {_line(orphan)}")
    for orphan in findings.left_alone:
        click.echo(f"Left alone: {_line(orphan)}")
    if findings.orphans and not apply_:
        click.echo("Remove them with `trickle repair --apply`.")


def _told(orphan: Orphan) -> dict[str, str]:
    return {"relation": str(orphan.relation), "kind": orphan.kind, "reason": orphan.reason}


def _line(orphan: Orphan) -> str:
    return f"{orphan.kind} {orphan.relation} ({orphan.reason})"
