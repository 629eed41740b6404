"""A model's name on the command line → the stream table that is meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbt_trickle.catalog import reports
from dbt_trickle.errors import CommandError, WarehouseError
from dbt_trickle.run.session import Session, is_missing


def rows(session: Session, query: str) -> Sequence[Mapping[str, Any]]:
    """No catalog means no stream tables yet: that is an answer, not an error."""
    try:
        return session.query(query)
    except WarehouseError as problem:
        if is_missing(problem):
            return []
        raise


def number(session: Session, catalog_schema: str, model: str) -> int:
    found = rows(session, reports.find(catalog_schema, model))
    if not found:
        raise CommandError(
            "TRK-502",
            f"no stream table is called {model}",
            remedy="`trickle status` lists them; a model may be given as name, schema.name or unique id.",
        )
    if len(found) > 1:
        names = ", ".join(f"{row['pgt_schema']}.{row['pgt_name']}" for row in found)
        raise CommandError("TRK-503", f"{model} may be {names}", remedy="Say which one, as schema.name.")
    return int(found[0]["pgt_id"])
