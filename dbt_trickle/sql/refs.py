"""Where a query names a relation, and what else in it hangs on that name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dbt_trickle.names import RESERVED_PREFIX, SESSION_CATALOG, quote
from dbt_trickle.sql.text import Edit


@dataclass(frozen=True)
class TableRef:
    """One place where the query names a relation: its parts, where they stand, what follows."""

    parts: tuple[str, ...]
    start: int
    end: int  # exclusive
    aliased: bool
    travels: bool  # the user wrote VERSION or TIMESTAMP AS OF himself
    named: tuple[tuple[int, int], ...] = ()  # where a column of it is written `schema.table.column`: but for the column
    whole: bool = False  # whether there may be such columns at all
    alias: str = ""  # what it is to be called where it is replaced by something that has no name

    def by(self, text: str) -> tuple[Edit, ...]:
        """What stands in its place has the names that the query knows it by."""
        called = "" if self.aliased else f" AS {quote(self.alias)}"
        return (Edit(self.start, self.end, text + called), *(Edit(*at, quote(self.alias)) for at in self.named))


def ref_of(table: exp.Table) -> TableRef | None:
    marks = [part.meta for part in table.parts]
    if not all("start" in mark and "end" in mark for mark in marks):
        return None
    return TableRef(
        tuple(part.name for part in table.parts),
        marks[0]["start"],
        marks[-1]["end"] + 1,
        bool(table.alias),
        bool(table.args.get("version") or table.args.get("when")),
    )


def called(found: Sequence[tuple[exp.Table, TableRef]], tree: exp.Query) -> list[TableRef]:
    """With an alias a relation is no longer known as `schema.table`, so columns that are named by that get the alias.

    Only in the SELECT that reads the relation: within a subquery, or a lambda, the same words may be a field of
    something that is nearer. And an alias that means nothing else, unless its columns are named by `table` as well.
    """
    # A schema and a table before it: few queries have any.
    columns = [column for column in tree.find_all(exp.Column) if len(column.parts) > 2]
    named = _named(found, columns)
    refs = []
    for at, (table, ref) in enumerate(found):
        alias = ref.parts[-1]
        own = at in named and alias.lower() not in _short(table.find_ancestor(exp.Select) or tree)
        if own:
            alias = f"{RESERVED_PREFIX}{alias}_{at + 1}"
        whole = not ref.aliased and any(_begins(column.parts, name) for name in _names(ref) for column in columns)
        refs.append(replace(ref, named=tuple(named[at]) if own else (), alias=alias, whole=whole))
    return refs


def _named(
    found: Sequence[tuple[exp.Table, TableRef]], columns: Sequence[exp.Column]
) -> dict[int, list[tuple[int, int]]]:
    """The places of the names, by the number of the relation that they are."""
    named: dict[int, list[tuple[int, int]]] = {}
    for column in columns:
        select, parts = column.find_ancestor(exp.Select), column.parts
        fit = [
            (len(name), at)
            for at, (table, ref) in enumerate(found)
            if not ref.aliased and table.find_ancestor(exp.Select) is select
            for name in _names(ref)
            if _begins(parts, name)
        ]
        if len(fit) == 1 and not column.find_ancestor(exp.Lambda):
            [(length, at)] = fit
            named.setdefault(at, []).append((parts[0].meta["start"], parts[length - 1].meta["end"] + 1))
    return named


def _short(select: exp.Expr) -> set[str]:
    """What columns have before them in it, and in what it reads."""
    return {column.parts[0].name.lower() for column in select.find_all(exp.Column) if column.table}


def _names(ref: TableRef) -> list[tuple[str, ...]]:
    """By which its columns may be named, beside its last name alone."""
    own = tuple(part.lower() for part in ref.parts)
    own = own[1:] if own[0] == SESSION_CATALOG and len(own) > 2 else own
    return [own, (SESSION_CATALOG, *own)] if len(own) == 2 else []


def _begins(parts: Sequence[exp.Expr], own: tuple[str, ...]) -> bool:
    return len(parts) > len(own) and tuple(part.name.lower() for part in parts[: len(own)]) == own
