"""Which columns a name may mean at a place of the query, by Spark's rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from dbt_trickle.tree.unsupported import unsupported

MOST_QUALIFIERS = 3  # catalog.schema.table


def spelling(name: str) -> str:
    """Spark compares names without case, quoted ones too."""
    return name.lower()


@dataclass(frozen=True)
class Visible:
    """A column under the name the query knows it by, and its name in the tree."""

    name: str
    qualifier: tuple[str, ...]  # any end of it may be written before the name
    column: str

    def is_called(self, qualifier: tuple[str, ...], name: str) -> bool:
        return spelling(self.name) == spelling(name) and self.belongs_to(qualifier)

    def belongs_to(self, qualifier: tuple[str, ...]) -> bool:
        mine = self.qualifier[len(self.qualifier) - len(qualifier) :] if qualifier else ()
        return tuple(map(spelling, mine)) == tuple(map(spelling, qualifier))


@dataclass(frozen=True)
class Scope:
    columns: tuple[Visible, ...] = ()  # those that * gives, in order
    hidden: tuple[Visible, ...] = ()  # the right keys of USING, found by their qualifier only

    def star(self, qualifier: tuple[str, ...], where: exp.Expr) -> tuple[Visible, ...]:
        if not qualifier:
            return self.columns
        found = tuple(each for each in self.hidden + self.columns if each.belongs_to(qualifier))  # Spark's order
        if not found:
            raise unsupported(f"{'.'.join(qualifier)}.* has no columns that are known", where)
        return found

    def find(self, parts: tuple[str, ...], where: exp.Expr) -> tuple[str, tuple[str, ...]] | None:
        """The tree's column, and the fields to take from it: in a.b.c each name may be either.

        The most qualified reading that finds something holds, as in Spark.
        """
        for depth in range(min(MOST_QUALIFIERS, len(parts) - 1), -1, -1):
            qualifier, name, fields = parts[:depth], parts[depth], parts[depth + 1 :]
            among = self.columns + self.hidden if qualifier else self.columns
            found = [each for each in among if each.is_called(qualifier, name)]
            if len(found) > 1:
                raise unsupported(f"the column {'.'.join(parts)} is ambiguous", where)
            if found:
                return found[0].column, fields
        return None

    def only(self, name: str, where: exp.Expr) -> Visible:
        """The one column of this name, as USING requires it of each side."""
        found = [each for each in self.columns if each.is_called((), name)]
        if len(found) != 1:
            raise unsupported(f"the join column {name} is not found once on each side", where)
        return found[0]

    def beside(self, other: Scope) -> Scope:
        return Scope(self.columns + other.columns, self.hidden + other.hidden)


@dataclass
class Names:
    """Names of a tree, each given once. Only used while a tree is built."""

    reserved: frozenset[str] = frozenset()  # what the query itself calls something; not for made-up names
    _given: set[str] = field(default_factory=set)
    _aliases: set[str] = field(default_factory=set)

    def fresh(self, wanted: str) -> str:
        """The wanted name, or with a number behind it."""
        return _fresh(wanted, self._given)

    def alias(self, wanted: str) -> str:
        """The same for a scan: it may well be called as a column is."""
        return _fresh(wanted, self._aliases)

    def numbered(self, word: str) -> str:
        number = 1
        while spelling(f"{word}_{number}") in self._given | self.reserved:
            number += 1
        return self.fresh(f"{word}_{number}")


def _fresh(wanted: str, given: set[str]) -> str:
    name, number = wanted, 1
    while spelling(name) in given:
        number += 1
        name = f"{wanted}_{number}"
    given.add(spelling(name))
    return name
