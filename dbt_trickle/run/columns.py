"""The output columns of a query, as Spark types them, and whether they can be stored and shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dbt_trickle.catalog.state import Column
from dbt_trickle.errors import ConfigError, ModelError
from dbt_trickle.names import RESERVED_PREFIX, quote, storage_column
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session
from dbt_trickle.tree.algebra import Operator
from dbt_trickle.tree.render import state
from dbt_trickle.tree.values import Expr

_UNSTORABLE_TYPE = re.compile(r"^(?:void|interval\b.*|time(?:\(\d\))?)$")
_NESTED_VOID = re.compile(r"[<:,]\s*void\b(?!\s*:)")


def described(session: Session, query: str) -> tuple[tuple[str, str], ...]:
    """Names and types of a query's columns."""
    return names_and_types(session.query(f"DESCRIBE QUERY {query}"))


def types_of(
    session: Session, values: Sequence[Expr | None], over: Operator, at: Mapping[str, str]
) -> list[str | None]:
    """Over the rows of an operator; where there is no value there is no type."""
    asked = [f"{value.sql} AS {quote(f'v{i}')}" for i, value in enumerate(values) if value is not None]
    rows = f"SELECT {', '.join(asked)} FROM (\n{state(over, at)}\n)"
    kinds = dict(described(session, rows)) if asked else {}
    return [kinds.get(f"v{i}") for i in range(len(values))]


def names_and_types(rows: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """The answer of any DESCRIBE."""
    return tuple((str(row["col_name"]), str(row["data_type"])) for row in rows)


def describe_query(session: Session, query: str, request: Request) -> tuple[Column, ...]:
    """Spark plans the text without running it: what does not compile fails here, and the old table serves on."""
    columns = tuple(
        Column(name, kind, storage_column(name, position))
        for position, (name, kind) in enumerate(described(session, query))
    )
    _check(columns, request)
    return columns


def _check(columns: tuple[Column, ...], request: Request) -> None:
    seen: dict[str, str] = {}
    for column in columns:
        name = column.name
        if name.lower() in seen:
            raise ModelError(
                "TRK-206",
                f"two output columns are called `{name}`",
                remedy="Give one of them another name with AS; with `select *` over a join, name the columns.",
            )
        seen[name.lower()] = name
        if name.lower().startswith(RESERVED_PREFIX):
            raise ModelError(
                "TRK-207",
                f"the output column `{name}` has the reserved prefix {RESERVED_PREFIX}",
                remedy="Give it another name with AS.",
            )
        if _UNSTORABLE_TYPE.match(column.type) or _NESTED_VOID.search(column.type):
            raise ModelError(
                "TRK-208",
                f"the output column `{name}` has the type {column.type}, which Delta cannot store",
                remedy=f"Cast it, for example: cast({name} as string) as {name}.",
            )
        if request.config.expose == "table" and column.stored != name:
            raise ModelError(
                "TRK-209",
                f"the output column `{name}` has a name that Delta cannot store, and `expose: table` "
                "shows the storage itself",
                remedy="Give it another name with AS, or use `expose: view`.",
            )
    config = request.config
    for key, names in (
        ("primary_key", config.primary_key),
        ("partition_by", config.partition_by),
        ("liquid_clustered_by", config.liquid_clustered_by),
    ):
        positions(key, names, columns)


def positions(key: str, names: Sequence[str], columns: Sequence[Column]) -> tuple[int, ...]:
    """Where the columns that a key of the configuration names are in the output."""
    by_name = {column.name.lower(): position for position, column in enumerate(columns)}
    missing = [name for name in names if name.lower() not in by_name]
    if missing:
        raise ConfigError(
            "TRK-108",
            f"`{key}` names {', '.join(missing)}, which the query does not return",
            remedy=f"Its columns are {', '.join(column.name for column in columns)}.",
        )
    return tuple(by_name[name.lower()] for name in names)
