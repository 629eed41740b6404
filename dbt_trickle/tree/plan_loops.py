"""WITH RECURSIVE in an optimized plan: a UnionLoop, and in its second branch a UnionLoopRef for the rows so far.

    UnionLoop 0                                    UnionLoop 0, [#7, #8]
    :- Project [a#1, 0 AS 0#2]                     :- Project [#1, 0 AS #2]
    +- Project [b#4, (d#6 + 1) AS (d + 1)#9]   →   +- Project [#4, (#6 + 1) AS #9]
       +- UnionLoopRef 0, [a#5, 0#6], false           +- UnionLoopRef 0, [#5, #6], false

By which ids those above know its columns is only in the physical plan, which has the same ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from dbt_trickle.tree.plan_nodes import Node, Unread, over

_LOOP = re.compile(r"\bUnionLoop (\d+)$", re.MULTILINE)
_DONE = re.compile(r"\bUnionLoop (\d+), (\[.*\])$", re.MULTILINE)
_LISTED = re.compile(r"(UnionLoop(?:Ref)?) (\d+), \[(.*)\]((?:, \w+)?)", re.DOTALL)
_COLUMN = re.compile(r"([^#]+)#(\d+)L?(?:, |$)")


def with_columns(plan: str, explained: str) -> str:
    """The optimized plan, of which each UnionLoop says what it says as a physical one."""
    done: dict[str, str] = {}
    for number, listed in _DONE.findall(explained.partition("== Physical Plan ==")[2]):
        if done.setdefault(number, listed) != listed:
            raise Unread(f"UnionLoop {number}")

    def shown(match: re.Match[str]) -> str:
        if match.group(1) not in done:
            raise Unread(match.group())
        return f"{match.group()}, {done[match.group(1)]}"

    return _LOOP.sub(shown, plan)


def is_loop(node: Node) -> bool:
    return node.kind in ("UnionLoop", "UnionLoopRef")


def columns(text: str) -> list[tuple[str, str]]:
    """Names and ids."""
    return _COLUMN.findall(_parts(text)[2])


def without_names(text: str) -> str:
    kind, number, _, rest = _parts(text)
    return f"{kind} {number}, [{', '.join(f'#{each}' for _, each in columns(text))}]{rest}"


def numbered(tree: Node) -> Node:
    """By their place: a CTE that is read twice is there twice, under one number."""
    return _numbered(tree, {}, count())


def _numbered(node: Node, known: Mapping[str, int], numbers: Iterator[int]) -> Node:
    if is_loop(node):
        kind, number, listed, rest = _parts(node.text)
        if node.kind == "UnionLoop":
            known = {**known, number: next(numbers)}
        if number not in known:
            raise Unread(node.text)
        node = replace(node, text=f"{kind} {known[number]}, [{listed}]{rest}")
    return over(node, lambda each: _numbered(each, known, numbers))


def _parts(text: str) -> tuple[str, str, str, str]:
    found = _LISTED.fullmatch(text)
    if found is None:
        raise Unread(text)
    kind, number, listed, rest = found.groups()
    return kind, number, listed, rest
