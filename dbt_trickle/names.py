"""Every reserved name, and the only place where names and texts become SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass

import xxhash

from dbt_trickle.errors import ConfigError, TrickleBug

RESERVED_PREFIX = "__pgt_"
SESSION_CATALOG = "spark_catalog"  # Spark's own
LONGEST_IDENTIFIER = 255
LONGEST_SCHEMA = 128  # in Hive's metastore; others take more
# What a Delta column may not be called without column mapping.
# The backquote for a change feed: Delta writes the changes of a column by a name that it quotes wrongly.
UNSTORABLE = frozenset(" ,;{}()\n\t=`")
_IN_A_NAME = re.compile("[A-Za-z0-9_]")


def quote(identifier: str) -> str:
    """One identifier, quoted. Spark's metastore cannot carry every name: those are refused here."""
    if not identifier:
        raise TrickleBug("an empty name was to be quoted")
    return "`" + identifier.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A string literal that means exactly this text.

    A dollar is written as an escape, because Spark replaces ${name} in any statement, literals included.
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"


def setting(key: str, value: str) -> str:
    """SET, both sides quoted: an unquoted value ends at a semicolon. Nothing is a value, too, and has no quotes."""
    if "\n" in value:
        raise TrickleBug(f"the value of the setting {key} has a line break")
    return f"SET {quote(key)} = {quote(value) if value else ''}".rstrip()


@dataclass(frozen=True, order=True)
class Relation:
    """A table or view by its parts: (table), (schema, table) or (catalog, schema, table)."""

    parts: tuple[str, ...]

    @classmethod
    def of(cls, schema: str, identifier: str) -> Relation:
        return cls((schema, identifier))

    @classmethod
    def parse(cls, text: str) -> Relation:
        """Back from str(). Names of the session catalog have no dots; a path may, behind `delta`."""
        first, _, rest = text.partition(".")
        return cls((first, rest)) if "/" in rest else cls(tuple(text.split(".")))

    @property
    def schema(self) -> str:
        if len(self.parts) < 2:
            raise TrickleBug(f"{self.parts} has no schema")
        return self.parts[-2]

    @property
    def identifier(self) -> str:
        return self.parts[-1]

    @property
    def sql(self) -> str:
        return ".".join(quote(part) for part in self.parts)

    @property
    def key(self) -> str:
        """One spelling for one relation."""
        return ".".join(spelled(self.parts))

    def __str__(self) -> str:
        return ".".join(self.parts)


def spelled(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Spark compares names without case. Of delta.`/lake/Sales` only the format is one: paths have case."""
    if any("/" in part for part in parts[1:]):
        return (parts[0].lower(), *parts[1:])
    return tuple(part.lower() for part in parts)


def key_of(source: str) -> str:
    """The key of a relation that is given as str() has it."""
    return Relation.parse(source).key


# dbt writes names without quotes, and there Spark reads a number: 2024, 1d, 3e4.
_NUMBER = re.compile(r"\d+(e\d+)?(l|s|y|f|d|bd)?", re.IGNORECASE)


def check_public_name(relation: Relation, model: str) -> None:
    """Refuse here what Spark's session catalog would refuse only when all rows have been computed."""
    longest = [("a `schema`", LONGEST_SCHEMA)] * (len(relation.parts) - 1) + [("an `alias`", LONGEST_IDENTIFIER)]
    for part, (what, most) in zip(relation.parts, longest, strict=True):
        if problem := _problem_of(part, most):
            remedy = f"Set {what} of at most {most} letters (a–z), digits and _ that is no number."
            raise ConfigError("TRK-105", f"the name {problem}", model=model, remedy=remedy)


def check_schema(schema: str, whose: str) -> None:
    """The same of a schema that is to be created. `whose`: where its name is set."""
    if problem := _problem_of(schema, LONGEST_SCHEMA):
        remedy = f"Set it to at most {LONGEST_SCHEMA} letters (a–z), digits and _ that are no number."
        raise ConfigError("TRK-105", f"{whose}: the name {problem}", remedy=remedy)


def _problem_of(name: str, longest: int) -> str:
    if _NUMBER.fullmatch(name):
        return f"{name!r} is a number to Spark wherever it is not quoted, and dbt does not quote it"
    if len(name) > longest:
        return f"{name[:40]}… has {len(name)} characters"
    bad = next((c for c in name if not _IN_A_NAME.match(c)), None)
    return f"{name!r} contains {bad!r}, and Spark's catalog takes letters (a–z), digits and _ only" if bad else ""


def pgt_id(unique_id: str, public: Relation) -> int:
    """The number of a stream table: the same in every run, another for each target's schema.

    53 bits, so that it survives JSON readers that know only doubles.
    """
    return xxhash.xxh64_intdigest(f"{unique_id}\n{public.key}".encode()) & ((1 << 53) - 1)


def storage(change_schema: str, number: int, generation: int) -> Relation:
    return Relation.of(change_schema, f"st_{number}_g{generation}")


def changes_view(change_schema: str, number: int) -> Relation:
    """What has come and gone of a stream table, for people and others."""
    return Relation.of(change_schema, f"changes_pgt_{number}")


def changes_table(change_schema: str, number: int, generation: int) -> Relation:
    """What refreshes of a generation stage in, where `change_buffer` is `table`."""
    return Relation.of(change_schema, f"st_{number}_g{generation}_changes")


def folder(root: str, storage: Relation, creation: str) -> str:
    """Where a storage lies that is not to lie in its schema's folder; `creation` makes it a folder of its own."""
    own = xxhash.xxh64_hexdigest(f"{storage.key}\n{creation}".encode())[:8]
    return f"{root.rstrip('/')}/{storage.identifier}_{own}"


def transaction_app(number: int) -> str:
    """The application whose transaction versions are this stream table's batches."""
    return f"trickle_{number}"


def placeholder(source: str) -> str:
    """Stands for a source in a query's text, whatever version of it is read. `source`: its key in a frontier."""
    return f"{RESERVED_PREFIX}source_{xxhash.xxh64_hexdigest(source.encode())}"


def storage_column(output_name: str, position: int) -> str:
    """The output's own name where Delta can store it, else one that it can; the view has the real one."""
    if UNSTORABLE.isdisjoint(output_name) and output_name.isprintable():
        return output_name
    return f"{RESERVED_PREFIX}out_{position}"
