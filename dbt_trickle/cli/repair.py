"""trickle repair: makes the catalog true again and finds what nobody needs."""

from __future__ import annotations

import json

import click

from dbt_trickle.cli.main import Place, common
from dbt_trickle.run import repair


@click.command("repair")
@click.option("--apply", "apply_", is_flag=True, help="Remove the orphans that are listed without it.")
@common
def command(place: Place, apply_: bool) -> None:
    """Rebuilds the catalog from the storages' own histories, and lists this project's orphans."""
    project = place.project()
    models = project.models()
    scope = repair.Scope(
        project.name,
        project.dbt_target,
        frozenset(project.schemas()),
        {model.unique_id: model.public for model in models},
        tuple(model.public for model in models if model.expose == "table"),
    )
    with project.connect() as session:
        findings = repair.examine(session, project.settings, scope)
        repair.write(session, project.settings, findings)
        if apply_:
            repair.remove(session, project.settings, findings.orphans)
    if place.output == "json":
        click.echo(
            json.dumps(
                {
                    "rebuilt": [str(table.public) for table in findings.rebuilt],
                    "orphans": [
                        {"relation": str(o.relation), "kind": o.kind, "reason": o.reason, "removed": apply_}
                        for o in findings.orphans
                    ],
                    "left_alone": [
                        {"relation": str(o.relation), "kind": o.kind, "reason": o.reason} for o in findings.left_alone
                    ],
                },
                indent=2,
            )
        )
        return
    if findings.rebuilt:
        click.echo("Rebuilt in the catalog: " + ", ".join(str(table.public) for table in findings.rebuilt) + ".")
    else:
        click.echo(f"The catalog agrees with the storages ({len(findings.tables)} stream tables).")
    for orphan in findings.orphans:
        click.echo(f"{'Removed' if apply_ else 'Orphan'}: {orphan.kind} {orphan.relation} ({orphan.reason})")
    for orphan in findings.left_alone:
        click.echo(
            f"Left alone: {orphan.kind} {orphan.relation} ({orphan.reason}, but a dbt run with it has not ended; "
            "if that one died, the next dbt run finds it out)"
        )
    if findings.orphans and not apply_:
        click.echo("Remove them with `trickle repair --apply`.")
