"""An optimized plan as EXPLAIN prints it, less what does not matter: queries of one meaning then print alike.

Names go where an id stands behind them: ours differ, and it is the ids that say which column is meant; the
relations at the bottom say which ids are theirs, and keep their names. A column that is only called something
else is the same column, a Project that changes nothing is none, and ids are numbered by their first appearance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count

from dbt_trickle.tree import plan_loops
from dbt_trickle.tree.plan_distinct import in_order, lists_of
from dbt_trickle.tree.plan_nodes import Node, listed_items, over, parsed, walk

# A name with spaces and the like: known where the column comes from, and where it is made.
_RELATION_COLUMN = re.compile(r"[\[,] ?([^#\[\],]+)#(\d+)")
_MADE_COLUMN = re.compile(r" AS ([^#]+)#(\d+)")
_NAMED_ID = re.compile(r"[\w.]*(#\d+L?)")
_ID = re.compile(r"#(\d+)(L?)")
_KEY = re.compile(r"#\d+L?(?: AS #\d+L?)?")
_MADE_ID = re.compile(r" AS #(\d+)")
_RENAMED = re.compile(r"(?<=[\[ ])#(\d+)L? AS #(\d+)L?(?=[,\]])")
_HINT = re.compile(r", (?:left|right)Hint=\([^()]*\)")
_ALIAS_OF_GENERATOR = re.compile(r"^(Generate .*, (?:true|false)), \w+, (?=\[)", re.DOTALL)
# The positions of its child's columns that nobody above reads, and the columns that it makes.
_GENERATED = re.compile(r"Generate .*?(?:, \[([\d, ]*)\])?, (?:true|false), (\[[^\[\]]*\])", re.DOTALL)
_CROSS = re.compile(r"^Join Cross\b")  # with a condition, or without one: the same as Inner
_PLAIN = re.compile(r"Project \[[#\dL, ]*\]")
_ONE = re.compile(r"#\d+L?")
_SHOWN = re.compile(r"(?:.* AS )?#(\d+)L?", re.DOTALL)
_OF_BOTH = ("Join Inner", "Join LeftOuter", "Join RightOuter", "Join FullOuter")
_OF_THE_LEFT = ("Join LeftSemi", "Join LeftAnti")
_PASS_ON = ("Filter", "Sort", "Window", "WindowGroupLimit")  # their child's columns, in that order
_CTE = re.compile(r"\b(CTERelation(?:Def|Ref)) (\d+)")


def section(explained: str, stage: str) -> str | None:
    """Of EXPLAIN EXTENDED: Parsed, Analyzed or Optimized."""
    found = re.search(rf"== {stage} Logical Plan ==\n(.*?)(?=\n== |\Z)", explained, re.DOTALL)
    return found.group(1) if found else None


def normalized(plan: str) -> Node:
    tree = plan_loops.numbered(parsed([line.rstrip() for line in plan.strip("\n").splitlines()]))
    tree = _changed(tree, lambda text: _ALIAS_OF_GENERATOR.sub(r"\1, ", _CROSS.sub("Join Inner", _HINT.sub("", text))))
    return _numbered(in_order(_without_idle_projects(_without_renaming(_without_names(tree)))))


def ids_of_two_relations(plan: Node) -> set[str]:
    """With one id on both sides of a join, which of the two is meant could not be told from the text.

    What is on the right of a semi join is not seen above it: Spark may put a copy of that into another join.
    """
    return _seen_twice(plan)[1]


def _seen_twice(node: Node) -> tuple[set[str], set[str]]:
    """The ids of the relations that may be named above the node, and those that are of two of them."""
    if node.kind in ("Relation", "UnionLoopRef"):
        return {number for number, _ in _ID.findall(node.text)}, set()
    seen: set[str] = set()
    twice: set[str] = set()
    for each in node.inner:
        twice |= _seen_twice(each)[1]
    for at, child in enumerate(node.children):
        ids, found = _seen_twice(child)
        # Above a union its columns are those of the first branch.
        twice |= found | (seen & ids if node.kind != "Union" else set())
        if not (at and node.text.startswith(_OF_THE_LEFT)):
            seen |= ids
    if node.kind in ("Project", "Aggregate"):
        # What it does not name nobody names above it: LATERAL has the relations before it a second time, below.
        seen &= {number for number, _ in _ID.findall(node.text)}
    if node.kind == "UnionLoop":
        seen = {number for number, _ in _ID.findall(node.text)}
    return seen, twice


def _changed(node: Node, change: Callable[[str], str]) -> Node:
    return replace(over(node, lambda each: _changed(each, change)), text=change(node.text))


def _without_names(tree: Node) -> Node:
    found = {
        pair
        for node in walk(tree)
        for pair in (_RELATION_COLUMN if node.kind == "Relation" else _MADE_COLUMN).findall(node.text)
    }
    found |= {pair for node in walk(tree) if plan_loops.is_loop(node) for pair in plan_loops.columns(node.text)}
    odd = sorted((pair for pair in found if not pair[0].isidentifier()), key=lambda pair: -len(pair[0]))

    def nameless(text: str) -> str:
        if text.startswith("Relation "):
            return text
        if text.startswith("UnionLoop"):
            return plan_loops.without_names(text)
        for name, number in odd:
            text = re.sub(rf"{re.escape(name)}#{number}(?!\d)", f"#{number}", text)
        return _NAMED_ID.sub(r"\1", text)

    return _changed(tree, nameless)


def _without_renaming(tree: Node) -> Node:
    """But for the keys of a copy that LATERAL has of what is before it: by their ids they are told from that."""
    copied = _made_twice(tree)
    pairs = {
        (new, old)
        for node in walk(tree)
        if node.kind in ("Project", "Aggregate")
        for old, new in _RENAMED.findall(node.text)
        if not (old in copied and _is_distinct(node.text))
    }
    often = Counter(new for new, _ in pairs)
    same = {new: old for new, old in pairs if often[new] == 1}  # another column in another place is another one

    def first(match: re.Match[str]) -> str:
        number = match.group(1)
        while number in same:
            number = same[number]
        return f"#{number}{match.group(2)}"

    def old_one(match: re.Match[str]) -> str:
        return match.group().split(" AS ")[0] if match.group(2) in same else match.group()

    def merged(text: str) -> str:
        if text.startswith(("Project", "Aggregate")):
            text = _RENAMED.sub(old_one, text)
        return _ID.sub(first, text)

    return _changed(tree, merged)


def _is_distinct(text: str) -> bool:
    """Nothing but keys: so LATERAL asks what is before it for the values that it looks for."""
    lists = lists_of("Aggregate", text)
    return lists is not None and all(_KEY.fullmatch(shown) for shown in lists[1])


def _made_twice(tree: Node) -> set[str]:
    """Ids that come from two places of the plan: Spark has put a copy of one part into another."""
    found: Counter[str] = Counter()
    for node in walk(tree):
        listed = _ID if node.kind == "Relation" else _MADE_ID
        found.update({match.group(1) for match in listed.finditer(node.text)})
    return {number for number, often in found.items() if often > 1}


def _without_idle_projects(node: Node, ordered: bool = True) -> Node:
    """One that puts columns in another order does nothing, either, where their order is nobody's."""
    below = _is_ordered_below(node, ordered)
    children = tuple(_without_idle_projects(child, below) for child in node.children)
    node = replace(node, children=children, inner=tuple(map(_without_idle_projects, node.inner)))
    if node.kind == "Aggregate" or (node.kind == "Project" and not ordered):
        node = replace(node, text=_without_repeats(node.text))
    if node.kind == "Project" and _PLAIN.fullmatch(node.text):
        found, mine = _output(node.children[0]), _output(node)
        if found and mine and (found == mine or (not ordered and sorted(found) == sorted(mine))):
            return node.children[0]
    return node


def _without_repeats(text: str) -> str:
    """A column that is passed on twice, where the list's order is nobody's; or that is grouped by twice."""
    kind, _, lists = text.partition(" ")
    listed, comma, rest = lists.partition("], ") if kind == "Aggregate" else (lists, "", "")
    items = listed_items(listed + ("]" if comma else ""))
    if items is None or (kind == "Aggregate" and not comma):
        return text
    if not any(_ONE.fullmatch(each) and items.count(each) > 1 for each in items):
        return text
    return f"{kind} [{', '.join(dict.fromkeys(items))}{comma or ']'}{rest}"


def _is_ordered_below(node: Node, ordered: bool) -> bool:
    """Whether the order of the columns below matters: where a list names them it is nobody's."""
    if node.kind in _PASS_ON or node.text.startswith((*_OF_BOTH, *_OF_THE_LEFT)):
        return ordered
    return node.kind not in ("Project", "Aggregate")


def _output(node: Node) -> list[str] | None:
    """The ids of a node's rows, where they can be told."""
    match node.kind:
        case "Relation" | "UnionLoop" | "UnionLoopRef":
            return [number for number, _ in _ID.findall(node.text)]
        case "Project":
            return [] if node.text == "Project" else _made(node.text.removeprefix("Project "))
        case "Aggregate":
            _, keys_too, listed = node.text.removeprefix("Aggregate ").partition("], ")
            if not keys_too:
                # An empty list is not printed: [#1] may be the keys, or what is made without keys. Keys have no AS.
                listed = node.text.removeprefix("Aggregate ") if " AS " in node.text else ""
            return _made(listed)
        case "Filter" | "Sort":
            return _output(node.children[0])
        case "Expand":
            lists = lists_of("Expand", node.text)
            return _made(f"[{', '.join(lists[1])}]") if lists is not None else None
        case "Generate":
            return _generated(node)
        case "Join" if node.text.startswith(_OF_THE_LEFT):
            return _output(node.children[0])
        case "Join" if node.text.startswith(_OF_BOTH):
            left, right = (_output(child) for child in node.children)
            return None if left is None or right is None else left + right
        case _:
            return None


def _generated(node: Node) -> list[str] | None:
    found, below = _GENERATED.fullmatch(node.text), _output(node.children[0])
    made = _made(found.group(2)) if found is not None else None
    if found is None or below is None or made is None:
        return None
    unread = {int(each) for each in (found.group(1) or "").split(",") if each.strip()}
    return [each for at, each in enumerate(below) if at not in unread] + made


def _made(listed: str) -> list[str] | None:
    """The ids of a select list: `[#1, sum(#2) AS #3L]`."""
    found = [_SHOWN.fullmatch(each) for each in listed_items(listed) or [""]]
    return None if None in found else [each.group(1) for each in found if each is not None]


def _as_read_above(project: str, numbers: Mapping[str, int]) -> str:
    """A list whose order is nobody's, in the order in which its columns are read above."""
    items, made = listed_items(project.removeprefix("Project ")), _made(project.removeprefix("Project "))
    if items is None or made is None or not all(each in numbers for each in made):
        return project
    return f"Project [{', '.join(each for _, each in sorted(zip((numbers[m] for m in made), items, strict=True)))}]"


def _numbered(tree: Node) -> Node:
    """What a union's branch reads is seen by that branch alone, so its ids are its own: where a query reads one thing
    twice Spark may give both branches the same ids, or may not. Above the union its columns have the first one's.
    """
    numbers: dict[str, int] = {}
    places = count()

    def numbered(node: Node, ordered: bool, place: str) -> Node:
        def number(key: str) -> int:
            return numbers.setdefault(key, len(numbers))

        text = node.text
        if node.kind == "Project" and not ordered:
            text = _as_read_above(text, {key.removeprefix(place): n for key, n in numbers.items() if place in key})
        text = _ID.sub(lambda match: f"#{number(place + match.group(1))}{match.group(2)}", text)
        text = _CTE.sub(lambda match: f"{match.group(1)} {number(f'cte {match.group(2)}')}", text)
        below = _is_ordered_below(node, ordered)
        inner = tuple(numbered(each, True, place) for each in node.inner)
        apart = node.kind == "Union"
        at = [f"{next(places)}." if apart and n else place for n in range(len(node.children))]
        children = tuple(numbered(child, below, where) for child, where in zip(node.children, at, strict=True))
        return Node(text, children, inner)

    return numbered(tree, True, "")
