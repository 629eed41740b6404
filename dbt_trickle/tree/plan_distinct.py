"""Several DISTINCT aggregates, as Spark's optimizer writes them: whatever it did in no order is put in order.

    Aggregate [#k], [#k, count(#a) FILTER (WHERE (#g = 2)), sum(#b) FILTER (WHERE (#g = 1))]
    +- Aggregate [#k, #b, #a, #g], [#k, #b, #a, #g]
       +- Expand [[#k, #x, null, 1], [#k, null, #y, 2]], [#k, #b, #a, #g]

Which of the copies of a row is 1 and which is 2 follows from the hashes of ids: the same query was seen to be
planned both ways. So the copies are numbered as the upper Aggregate asks for them, and the columns below it come in
the order in which it names them. The two Aggregates read by id, so nobody asks for the order below.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from dbt_trickle.tree.plan_nodes import Node, listed_items, over

_ID = re.compile(r"#\d+")
_MADE = re.compile(r"(?:.* AS )?(#\d+)L?", re.DOTALL)


def in_order(node: Node) -> Node:
    node = over(node, in_order)
    below = node.children[0] if len(node.children) == 1 else None
    if node.kind != "Aggregate" or below is None or below.kind != "Aggregate" or below.inner:
        return node
    expand = below.children[0]
    grouped, copied = lists_of("Aggregate", below.text), lists_of("Expand", expand.text)
    if grouped is None or copied is None:
        return node
    keys, shown = grouped
    rows = [listed_items(row) for row in copied[0]]
    if any(row is None or len(row) != len(copied[1]) for row in rows):
        return node
    named = _Ranks(node.text)
    keys = sorted(keys, key=named.of)
    shown = sorted(shown, key=named.of)
    named.go_on(", ".join(shown))
    columns = sorted(
        zip(copied[1], *(row for row in rows if row is not None), strict=True), key=lambda column: named.of(column[0])
    )
    renamed = _numbers(node.text, columns)
    if renamed is None:
        return node
    at, numbers = renamed
    columns[at] = (columns[at][0], *(numbers[number] for number in columns[at][1:]))
    copies = sorted((list(row) for row in zip(*(column[1:] for column in columns), strict=True)), key=lambda r: r[at])
    asked = _asks(columns[at][0])
    below = replace(
        below,
        text=f"Aggregate {_list(keys)}, {_list(shown)}",
        children=(replace(expand, text=f"Expand {_list(map(_list, copies))}, {_list(each[0] for each in columns)}"),),
    )
    text = asked.sub(lambda match: f"{match.group(1)}{numbers[match.group(2)]})", node.text)
    return replace(node, text=text, children=(below,))


class _Ranks:
    """In which order ids are named."""

    def __init__(self, text: str) -> None:
        self._found: dict[str, int] = {}
        self.go_on(text)

    def go_on(self, text: str) -> None:
        for each in _ID.findall(text):
            self._found.setdefault(each, len(self._found))

    def of(self, item: str) -> int:
        made = _MADE.fullmatch(item)
        return self._found.get(made.group(1), len(self._found)) if made else len(self._found)


def lists_of(kind: str, text: str) -> tuple[list[str], list[str]] | None:
    """The two lists of `Aggregate [keys], [columns]` and `Expand [rows], [columns]`."""
    found = listed_items(f"[{text.removeprefix(f'{kind} ')}]") if text.startswith(f"{kind} ") else None
    if found is None or len(found) != 2:
        return None
    first, second = listed_items(found[0]), listed_items(found[1])
    return None if first is None or second is None else (first, second)


def _list(each: Iterable[str]) -> str:
    return f"[{', '.join(each)}]"


def _asks(number: str) -> re.Pattern[str]:
    return re.compile(rf"(\({re.escape(number)} = )(\d+)\)")


def _numbers(text: str, columns: list[tuple[str, ...]]) -> tuple[int, dict[str, str]] | None:
    """Which column numbers the copies, and what each number becomes."""
    for at, (made, *numbers) in enumerate(columns):
        if all(each.isdigit() for each in numbers) and len(set(numbers)) == len(numbers):
            asked = dict.fromkeys(number for _, number in _asks(made).findall(text))
            if asked and set(asked) <= set(numbers):
                order = [*asked, *sorted(set(numbers) - set(asked), key=int)]
                return at, {number: str(rank) for rank, number in enumerate(order, start=1)}
    return None
