"""A model's name on the command line → the stream table that is meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from dbt_trickle.catalog import reports
from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.errors import CommandError, WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.run.session import Session, is_missing


def rows(session: Session, query: str) -> Sequence[Mapping[str, Any]]:
    """No catalog means no stream tables yet: that is an answer, not an error."""
    try:
        return session.query(query)
    except WarehouseError as problem:
        if is_missing(problem):
            return []
        raise


class Named(Protocol):
    @property
    def public(self) -> Relation: ...


N = TypeVar("N", bound=Named)


def among(tables: Iterable[StreamTable], model: str) -> StreamTable:
    """The stream table that is meant, out of a catalog that has been read."""
    return chosen(((table, table.dbt_unique_id) for table in tables), model)


def chosen(known: Iterable[tuple[N, str]], model: str) -> N:
    """The one of that name, schema.name or unique id."""
    wanted = model.lower()
    found = [
        one for one, unique_id in known if wanted in (one.public.identifier.lower(), one.public.key, unique_id.lower())
    ]
    if len(found) == 1:
        return found[0]
    raise _not_one(model, [str(one.public) for one in found])


def number(session: Session, catalog_schema: str, model: str) -> int:
    found = rows(session, reports.find(catalog_schema, model))
    if len(found) != 1:
        raise _not_one(model, [f"{row['pgt_schema']}.{row['pgt_name']}" for row in found])
    return int(found[0]["pgt_id"])


def _not_one(model: str, found: Sequence[str]) -> CommandError:
    if not found:
        return CommandError(
            "TRK-502",
            f"no stream table is called {model}",
            remedy="`trickle status` lists them; a model may be given as name, schema.name or unique id.",
        )
    return CommandError("TRK-503", f"{model} may be {', '.join(found)}", remedy="Say which one, as schema.name.")
