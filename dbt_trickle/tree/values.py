"""What operators are made of: expressions, and what is named by them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expr:
    """Spark SQL over the columns of the operator below, quoted; and which columns those are."""

    sql: str
    columns: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Item:
    """A named expression."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Call:
    """A named aggregate: what is computed of the rows of a group.

    `argument`: where there is one, and nothing else: that of FILTER is put into it (NULL is never counted). What
    DISTINCT is said of is one as well.
    """

    name: str
    function: str  # in lower case, with `distinct` behind it
    value: Expr  # the whole call
    argument: Expr | None = None
    of_rows: bool = False  # the call follows from its argument's values, or it is count(*)


@dataclass(frozen=True)
class Field:
    """A column that a scan reads: the source's name for it, its type there, and its name in the tree."""

    source_name: str
    type: str
    name: str


@dataclass(frozen=True)
class Over:
    """A named call over a window."""

    name: str
    function: str
    value: Expr  # the whole of it
    argument: Expr | None = None  # where there is one
    # Whether it may see rows in an order that ORDER BY leaves open: row_number(), ROWS BETWEEN …
    by_position: bool = False


@dataclass(frozen=True)
class Predicate:
    """A semi join as a query's WHERE has it: `mine IN (SELECT others … WHERE correlated)`, or EXISTS without values."""

    mine: tuple[Expr, ...] = ()
    others: tuple[Expr, ...] = ()
    correlated: Expr | None = None


@dataclass(frozen=True)
class Lateral:
    """A lookup as a query's FROM has it: a relation of one row, with a column for each field of the value."""

    left: bool
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Grouping:
    """GROUPING SETS as the query has them: keys over the rows that were copied, and positions among them."""

    keys: tuple[Expr, ...]
    sets: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Pivoted:
    """PIVOT as the query has it: `calls FOR columns IN (values)`, grouped by all columns that it does not name.

    `picked`: Spark is supposed to compute each call by group and value, and then to pick; none: it makes no difference.
    `apart`: so does the tree.
    """

    columns: tuple[tuple[str, str], ...]  # the tree's, and what FOR calls them
    values: tuple[tuple[Expr, ...], ...]  # each with one part for each column
    calls: tuple[Expr, ...]  # over the rows
    picked: bool | None
    apart: bool
    rows: tuple[str, ...]  # the columns of the rows, in order
    names: tuple[str, ...]  # of what is made of them, by value and call


@dataclass(frozen=True)
class Unpivoted:
    """UNPIVOT as the query has it: of each row that is made the columns that are read, and what it is called."""

    columns: tuple[tuple[str, ...], ...]
    called: tuple[str, ...]
    rows: tuple[str, ...]  # the columns of the rows, in order


@dataclass(frozen=True)
class SortKey:
    """`direction`: what stands behind the column in ORDER BY."""

    column: str
    direction: str
