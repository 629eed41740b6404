"""A plan that Spark has printed, as a tree of its lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

_INDENT = re.compile(r"(?:[: ]  )*(?:[:+]- )?")
# How much further right: a subquery's plan comes before those that the node reads.
_CHILD, _INNER = 1, 2


class Unread(Exception):
    """A plan that is not printed as plans are: nothing can be said of it."""


@dataclass(frozen=True)
class Node:
    """`inner`: the plans of the subqueries that stand in its expressions."""

    text: str
    children: tuple[Node, ...] = ()
    inner: tuple[Node, ...] = ()

    @property
    def kind(self) -> str:
        return re.split(r"\W", self.text, maxsplit=1)[0]


def walk(node: Node) -> Iterator[Node]:
    yield node
    for child in (*node.inner, *node.children):
        yield from walk(child)


def parsed(lines: list[str]) -> Node:
    """Each level is three characters further right. What has no mark of a child belongs to the line before."""
    depths: list[tuple[int, str]] = []
    for line in lines:
        indent = len(_INDENT.match(line).group())  # type: ignore[union-attr]
        if depths and (indent == 0 or indent % 3):
            depths[-1] = (depths[-1][0], f"{depths[-1][1]}\n{line}")
        else:
            depths.append((indent // 3, line[indent:]))

    def ends(at: int) -> int:
        """Behind all that is further right."""
        end = at + 1
        while end < len(depths) and depths[end][0] > depths[at][0]:
            end += 1
        return end

    def node(at: int) -> Node:
        depth, found = depths[at][0], {_CHILD: list[Node](), _INNER: list[Node]()}
        next_ = at + 1
        while next_ < ends(at):
            step = depths[next_][0] - depth
            if step not in found or (step == _INNER and found[_CHILD]):
                raise Unread(depths[next_][1])
            found[step].append(node(next_))
            next_ = ends(next_)
        return Node(depths[at][1], tuple(found[_CHILD]), tuple(found[_INNER]))

    if not depths or ends(0) != len(depths):
        raise Unread("")
    return node(0)


def over(node: Node, change: Callable[[Node], Node]) -> Node:
    return replace(node, children=tuple(map(change, node.children)), inner=tuple(map(change, node.inner)))


def listed_items(listed: str) -> list[str] | None:
    """What stands between the commas of a list."""
    if not (listed.startswith("[") and listed.endswith("]")):
        return None
    result, depth, item = [], 0, ""
    for character in listed[1:-1] + ",":
        depth += (character in "([") - (character in ")]")
        if character != "," or depth:
            item += character
            continue
        result.append(item.strip())
        item = ""
    return result
