"""How a column is compared, from the text of its type as Spark's DESCRIBE tells it.

GROUP BY does not tell apart all that a query can: it takes −0.0 for 0.0 and, under a collation, 'a' for
'A'. Were such rows netted against each other, `cast(x as string)` over the change would be wrong. So what a
column is grouped by can be more than the column itself, or nothing at all: then it is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dbt_trickle.names import quote

EXACT = frozenset(
    """boolean tinyint byte smallint short int integer bigint long string binary date timestamp
    timestamp_ntz timestamp_ltz decimal numeric dec char varchar""".split()
)
FLOATING = frozenset(["float", "real", "double"])
INCOMPARABLE = frozenset(["map", "variant", "object"])
BINARY_COLLATION = "utf8_binary"

_WORD = re.compile(r"[a-z_]+")
_DIGITS = re.compile(r"\( *\d+( *, *-?\d+)? *\)")
_COLLATE = re.compile(r" +collate +([A-Za-z0-9_.]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Incomparable:
    """Why rows cannot be compared by this column."""

    reason: str


@dataclass(frozen=True)
class Comparison:
    """What a column is grouped by, and how its value is read out of a group."""

    keys: tuple[str, ...]
    value: str


@dataclass(frozen=True)
class _Nature:
    """What there is anywhere in a type."""

    floating: bool = False
    collated: bool = False
    nested: bool = False


class _Refused(Exception):
    pass


def comparison(name: str, type_text: str) -> Comparison | Incomparable:
    column = quote(name)
    is_map = type_text.strip().lower().startswith("map<")
    try:
        nature = _nature(type_text, is_map)
    except _Refused as refused:
        return Incomparable(f"column {name} of type {type_text} {refused}")
    if nature.collated:
        if nature.nested:
            return Incomparable(f"column {name} of type {type_text} has a collation inside")
        return Comparison((f"({column} COLLATE UTF8_BINARY)",), f"any_value({column})")
    if is_map:
        # By its entries in their order: map_keys() and the like tell apart maps that only differ in that.
        entries = f"map_entries({column})"
        keys = (entries, f"CAST({entries} AS STRING)") if nature.floating else (entries,)
        return Comparison(keys, f"any_value({column})")
    if nature.floating:
        # Values that are equal but for the sign of a zero differ in their text at that zero's place.
        return Comparison((column, f"CAST({column} AS STRING)"), f"any_value({column})")
    return Comparison((column,), column)


def same(one: str, other: str) -> bool:
    """Whether two texts are of one type. Case counts: names inside a struct have it."""
    return _spelled(one) == _spelled(other)


def _spelled(text: str) -> str:
    return re.sub(r"\s+", " ", text.strip())


def _nature(text: str, is_map: bool) -> _Nature:
    parser = _Parser(text.strip())
    nature = parser.map() if is_map else parser.type()
    if parser.rest:
        raise _Refused("has a type that is not understood")
    return nature


class _Parser:
    """Walks a type's text. A name inside a struct may be anything, and is not quoted.

    That is safe: a name ends at its first colon, so what stands behind any colon is read as a type. An
    odd name can make the text look like more types than there are, but never hides one.
    """

    def __init__(self, text: str) -> None:
        self.rest = text

    def type(self) -> _Nature:
        found = _WORD.match(self.rest.lower())
        word = found.group() if found else ""
        self.rest = self.rest[len(word) :]
        if word in INCOMPARABLE:
            raise _Refused(f"holds a {word}, by which Spark cannot group")
        if word in ("array", "struct"):
            return self._nested(word)
        if word in FLOATING:
            return _Nature(floating=True)
        if word in EXACT:
            self._skip(_DIGITS)
            collation = self._skip(_COLLATE)
            plain = not collation or collation.strip().lower().endswith(f" {BINARY_COLLATION}")
            return _Nature(collated=not plain)
        raise _Refused("has a type that is not known")

    def map(self) -> _Nature:
        """That of a whole column; within another type there is none."""
        self.rest = self.rest[len("map") :]
        self._expect("<")
        key = self.type()
        self._expect(",")
        value = self.type()
        self._expect(">")
        return _Nature(key.floating or value.floating, key.collated or value.collated, True)

    def _nested(self, word: str) -> _Nature:
        self._expect("<")
        parts = []
        if word == "array":
            parts.append(self.type())
        elif not self.rest.startswith(">"):
            parts.append(self._member())
            while self.rest.startswith(","):
                self._expect(",")
                parts.append(self._member())
        self._expect(">")
        return _Nature(any(p.floating for p in parts), any(p.collated for p in parts), True)

    def _member(self) -> _Nature:
        _, colon, self.rest = self.rest.partition(":")
        if not colon:
            raise _Refused("has a type that is not understood")
        self.rest = self.rest.lstrip(" ")
        return self.type()

    def _expect(self, sign: str) -> None:
        if not self.rest.startswith(sign):
            raise _Refused("has a type that is not understood")
        self.rest = self.rest[len(sign) :].lstrip(" ")

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.rest)
        if found is None:
            return ""
        self.rest = self.rest[found.end() :]
        return found.group()
