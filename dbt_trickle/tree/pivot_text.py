"""PIVOT and UNPIVOT as the query has them: each in a FROM clause of its own, for it is of all that stands before it.

Its rows have the columns that they have in the query and no others; and FOR names some without saying whose they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dbt_trickle.names import RESERVED_PREFIX, quote
from dbt_trickle.tree.algebra import Aggregate, Generate
from dbt_trickle.tree.blocks import Block, Writer, labels_of, named, select
from dbt_trickle.tree.values import Pivoted, Unpivoted

_MADE = f"{RESERVED_PREFIX}made"


def pivot(tree: Aggregate, how: Pivoted, below: Block, writer: Writer) -> Block:
    called = dict(how.columns)
    labels, rows = _rows(how.rows, called, below, writer)
    several = len(how.calls) > 1
    calls = ", ".join(f"{rows.of(call)}{f' AS c{at}' if several else ''}" for at, call in enumerate(how.calls))
    values = ", ".join(
        f"{_together(part.sql for part in value)} AS {_MADE}_{at}" for at, value in enumerate(how.values)
    )
    text = f"SELECT * FROM {rows.source} PIVOT ({calls} FOR {_together(map(quote, called.values()))} IN ({values}))"
    suffixes = [f"_c{at}" for at in range(len(how.calls))] if several else [""]
    made = [f"{_MADE}_{at}{suffix}" for at in range(len(how.values)) for suffix in suffixes]
    keys = [key.name for key in tree.keys]
    return named(text, (*keys, *how.names), writer, (*(labels[key] for key in keys), *made))


def unpivot(tree: Generate, how: Unpivoted, below: Block, writer: Writer) -> Block:
    """Without the columns that it reads, which nobody sees above."""
    read = {name for row in how.columns for name in row}
    labels, rows = _rows([name for name in how.rows if name in tree.child.columns], {}, below, writer)
    kept = [name for name in labels if name not in read]
    name, *values = (f"{_MADE}_{at}" for at in range(len(tree.names)))
    parts = ", ".join(
        f"{_together(rows.values[each] for each in row)} AS {quote(called)}"
        for row, called in zip(how.columns, how.called, strict=True)
    )
    turned = f"UNPIVOT INCLUDE NULLS ({_together(values)} FOR {name} IN ({parts}))"
    text = f"SELECT * FROM {rows.source} {turned}"
    return named(text, (*kept, *tree.names), writer, (*(labels[each] for each in kept), name, *values))


def _rows(
    names: Iterable[str], called: Mapping[str, str], below: Block, writer: Writer
) -> tuple[Mapping[str, str], Block]:
    """The rows as a relation of these columns, and what each of them is called there."""
    columns = tuple(names)
    taken = {each.lower() for each in called.values()}
    labels = {
        name: called.get(name) or (label if label.lower() not in taken else f"{_MADE}_of_{at}")
        for at, (name, label) in enumerate(zip(columns, labels_of(columns), strict=True))
    }
    chosen = {label: below.values[name] for name, label in labels.items()}
    return labels, named(select(below, chosen), columns, writer, tuple(labels.values()))


def _together(parts: Iterable[str]) -> str:
    found: Sequence[str] = list(parts)
    return found[0] if len(found) == 1 else f"({', '.join(found)})"
