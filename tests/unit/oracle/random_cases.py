"""Random cases: a query, small tables under it with NULLs and copies, and what becomes of these."""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st
from kept import Case
from lake import KINDS, TABLES, VALUES, Change, History, sources_of
from random_queries import Query
from spark_in_duckdb import Row

MOST_ROWS = 5


def _row(table: str, number: int) -> Row:
    """One number per row: it is quicker to draw than a value per column, and shrinks to plain rows."""
    found = []
    for kind in TABLES[table].values():
        domain = VALUES[KINDS[kind]]
        number, position = divmod(number, len(domain))
        found.append(domain[position])
    return tuple(found)


def rows(table: str, least: int = 0, most: int = MOST_ROWS) -> st.SearchStrategy[tuple[Row, ...]]:
    """Small domains, and each row may be there twice."""
    different = prod(len(VALUES[KINDS[kind]]) for kind in TABLES[table].values())
    numbers = st.lists(st.integers(0, 2 * different - 1), min_size=least, max_size=most, unique=True)
    return numbers.map(lambda drawn: tuple(_row(table, n // 2) for n in drawn for _ in range(1 + n % 2)))


def _change(draw: st.DrawFn, table: str, now: list[Row], grows: bool) -> Change:
    """INSERT, DELETE of some rows or of all, UPDATE of a column of some: the rows as they are decide which."""
    kind = draw(st.sampled_from(["insert", "delete", "update", "truncate"])) if now and not grows else "insert"
    if kind == "insert":
        return Change(table, (), draw(rows(table, 1, 2)))
    if kind == "truncate":
        return Change(table, tuple(now), ())
    chosen = tuple(
        row for row, hit in zip(now, draw(st.integers(1, 2 ** len(now) - 1).map(_bits)), strict=False) if hit
    )
    if kind == "delete":
        return Change(table, chosen, ())
    column = draw(st.integers(0, len(TABLES[table]) - 1))
    value = draw(st.sampled_from(VALUES[KINDS[list(TABLES[table].values())[column]]]))
    return Change(table, chosen, tuple((*row[:column], value, *row[column + 1 :]) for row in chosen))


def _bits(number: int) -> list[bool]:
    return [bit == "1" for bit in reversed(f"{number:b}")]


@st.composite
def histories(
    draw: st.DrawFn, tables: tuple[str, ...], moving: tuple[str, ...], most: int, least: int, grows: bool = False
) -> History:
    """All changes in one window."""
    start = {table: draw(rows(table, least)) for table in tables}
    now = {table: list(found) for table, found in start.items()}
    changes = []
    for table in draw(st.lists(st.sampled_from(moving), min_size=1, max_size=most)):
        changes.append(_change(draw, table, now[table], grows))
        for row in changes[-1].gone:
            now[table].remove(row)
        now[table] += changes[-1].came
    return History(start, (tuple(changes),))


@st.composite
def cases(
    draw: st.DrawFn,
    queries: st.SearchStrategy[Query],
    often: int = 1,
    most: int = 4,
    least: int = 0,
    *,
    grows: bool = False,
) -> Case:
    """`often`: how many histories; `most`: the changes in each; `least`: the rows of each table at first; `grows`: rows
    come and none go.

    Some sources of the query may not move.
    """
    query = draw(queries)
    tables = sources_of(query.text)
    moving = tuple(draw(st.lists(st.sampled_from(tables), min_size=1, max_size=len(tables), unique=True)))
    found = tuple(draw(histories(tables, moving, most, least, grows)) for _ in range(often))
    declared = query.key if query.key and draw(st.booleans()) else ()
    return Case(query.text, moving, found, declared, draw(st.booleans()))
