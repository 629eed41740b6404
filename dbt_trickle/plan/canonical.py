"""A value of any type as one that GROUP BY tells apart exactly, or up to the last digits of a double.

GROUP BY holds NaN = NaN and −0.0 = 0.0, which is how Spark compares rows. It cannot group a VARIANT, groups
maps only in some versions, and takes 'a' and 'A' for one under a collation that ignores case: a lost change
of case would pass for no difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from dbt_trickle.names import literal, quote

FLOATING = {"double": 12, "float": 6}  # significant digits that two computations of one sum must agree in
NOT_COMPARABLE = ("variant", "geometry", "geography", "object", "void")
TRUNCATED = " more fields"  # Spark cuts the type of a wide struct when it tells it
_COLLATED = re.compile(r"\s+collate\s+\S+", re.IGNORECASE)
_BOUNDED = re.compile(r"^(?:var)?char\(\d+\)$")


@dataclass(frozen=True)
class Type:
    """`array` (its element), `map` (key, value), `struct` (its fields), or the text of anything else."""

    name: str
    parts: tuple[tuple[str, Type], ...] = ()

    def has(self, found: Callable[[str], bool]) -> bool:
        return found(self.name) or any(part.has(found) for _, part in self.parts)


def parse(text: str) -> Type:
    """A type as DESCRIBE tells it: struct<a:int,b:map<string,double>>."""
    text = text.strip()
    head, bracket, inner = text.partition("<")
    if not bracket or not text.endswith(">") or head not in ("array", "map", "struct"):
        return Type("string" if _BOUNDED.match(text) else text)
    pieces = _split(inner[:-1])
    if head == "struct":
        fields = (piece.partition(":") for piece in pieces)
        return Type(head, tuple((name, parse(kind)) for name, _, kind in fields))
    return Type(head, tuple(zip(("key", "value") if head == "map" else ("element",), map(parse, pieces), strict=True)))


def _split(text: str) -> list[str]:
    """At the commas outside brackets: decimal(3,1) and nested types have some of their own."""
    pieces, depth, start = [], 0, 0
    for position, sign in enumerate(text):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            pieces.append(text[start:position])
            start = position + 1
    return [*pieces, text[start:]] if text else []


def not_comparable(kind: Type) -> bool:
    return kind.has(lambda name: name.split("(")[0] in NOT_COMPARABLE)


def is_floating(kind: Type) -> bool:
    return kind.has(FLOATING.__contains__)


def exact(value: str, kind: Type) -> str:
    """Maps as their entries in the order of their keys, strings by their bytes; all else as it is."""
    if not kind.has(lambda name: name == "map" or bool(_COLLATED.search(name))):
        return value
    return _rebuilt(value, kind, lambda leaf, name: f"CAST({leaf} AS STRING)" if _COLLATED.search(name) else leaf)


def exact_type(kind: Type) -> Type:
    """The type of what `exact` gives."""
    parts = tuple((name, exact_type(part)) for name, part in kind.parts)
    if kind.name == "map":
        return Type("array", (("element", Type("struct", parts)),))
    return Type(_COLLATED.sub("", kind.name), parts)


def rounded(value: str, kind: Type, shifted: bool) -> str:
    """Equal for values whose doubles agree in their first digits.

    Two neighbours may lie on both sides of a border between two rounded values. `shifted` has its borders
    elsewhere, by far more than what two such neighbours are apart: there they meet.
    """
    if not is_floating(kind):
        return value

    def leaf(inner: str, name: str) -> str:
        if name not in FLOATING:
            return inner
        digits = FLOATING[name]
        moved = f"{inner} * {1 + 5 * 10.0 ** (-digits - 1)!r}D" if shifted else inner
        return f"format_string('%.{digits - 1}e', {moved} + 0.0D)"  # −0.0 + 0.0 is 0.0

    return _rebuilt(value, kind, leaf)


def shown(value: str, kind: Type) -> str:
    """For a person to read."""
    return f"hex({value})" if kind.name == "binary" else f"CAST({value} AS STRING)"


def _rebuilt(value: str, kind: Type, leaf: Callable[[str, str], str], depth: int = 0) -> str:
    """The same value with its leaves changed. A NULL stays one: it is no struct of NULLs."""
    inside = f"__pgt_x{depth}"
    if kind.name == "array":
        return f"transform({value}, {inside} -> {_rebuilt(inside, kind.parts[0][1], leaf, depth + 1)})"
    if kind.name == "map":
        entry = _struct(inside, kind, leaf, depth + 1)
        return f"array_sort(transform(map_entries({value}), {inside} -> {entry}))"
    if kind.name == "struct":
        return f"IF({value} IS NULL, NULL, {_struct(value, kind, leaf, depth)})"
    return leaf(value, kind.name)


def _struct(value: str, kind: Type, leaf: Callable[[str, str], str], depth: int) -> str:
    fields = (f"{literal(name)}, {_rebuilt(f'{value}.{quote(name)}', part, leaf, depth)}" for name, part in kind.parts)
    return f"named_struct({', '.join(fields)})"
