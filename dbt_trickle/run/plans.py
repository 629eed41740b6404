"""Spark's plans of a query and of what was understood of it: asked for, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from dbt_trickle.errors import WarehouseError
from dbt_trickle.run.session import Session, own_settings, passes
from dbt_trickle.tree import days, guard
from dbt_trickle.tree.algebra import scans
from dbt_trickle.tree.build import Built


def plans_differ(session: Session, text: str, built: Built, at: Mapping[str, str]) -> str:
    """Asked of Spark where a query is new: both texts over the same versions of the sources."""
    differs = ""
    with own_settings(session) as use:
        use(dict(guard.SETTINGS))
        original = _plan(session, text)
        for candidate in guard.candidates(built.tree, at):
            differs = _difference(session, original, candidate)
            if not differs:
                break
    read = [(field.source_name, field.type) for scan in scans(built.tree) for field in scan.fields]
    return "; ".join(filter(None, (differs, days.of_today(original, read))))


def of_today(session: Session, text: str, schemas: Mapping[str, Iterable[tuple[str, str]]]) -> str:
    """The same of a query that was not understood: it is recomputed, and to know when, this has to be known."""
    with own_settings(session) as use:
        use(dict(guard.SETTINGS))
        return days.of_today(_plan(session, text), chain.from_iterable(schemas.values())) or ""


def _difference(session: Session, original: str, candidate: str) -> str:
    """One that Spark refuses is only not the one that is looked for."""
    try:
        return guard.difference(original, _plan(session, candidate)) or ""
    except WarehouseError as problem:
        if passes(problem):
            raise
        return problem.what


def _plan(session: Session, query: str) -> str:
    return str(next(iter(session.query(f"EXPLAIN EXTENDED {query}")[0].values())))
