"""What makes two definitions of a stream table the same one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from dbt_trickle import sql
from dbt_trickle.names import Relation, spelled

# Settings of the session that change what a query means: the same text under another one is another query.
ALWAYS = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")
# These belong to it where somebody has set them. Of those that only change how a query is run there are hundreds:
# they may be other ones in each target. Nor is binaryOutputStyle one, which only says how values are shown: the Thrift
# Server sets it behind a session's first statement.
_WHERE_SET = frozenset(
    f"spark.sql.{name}"
    for name in """ansi.doubleQuotedIdentifiers ansi.enforceReservedKeywords ansi.relationPrecedence
    bround.decimalOverflow caseSensitive charAsVarchar collation.allowInMapKeys
    decimalOperations.allowPrecisionLoss function.concatBinaryAsString function.eltOutputAsString groupByAliases
    groupByOrdinal icu.caseMappings.enabled jsonGenerator.ignoreNullFields
    jsonGenerator.writeNullIfWithDefaultValue mapKeyDedupPolicy orderByOrdinal parquet.binaryAsString
    parser.escapedStringLiterals parser.quotedRegexColumnNames preserveCharVarcharTypeInfo readSideCharPadding
    session.collation.default storeAssignmentPolicy timestampType timeType.enabled variable.substitute""".split()
)
_LEGACY = "spark.sql.legacy."


def has_meaning(setting: str) -> bool:
    return setting in ALWAYS or setting in _WHERE_SET or setting.startswith(_LEGACY)


def of(text: str, relations: Mapping[Relation, str], meaning: Mapping[str, str]) -> str:
    """White space, comments, the case of names and the schemas of dbt's own relations do not count.

    Relations that dbt resolved stand for their unique ids, so that --defer and another target's
    schema leave the fingerprint as it is.
    """
    words = _with_ids(sql.words(sql.without_terminator(text)), relations)
    parts = [list(words), sorted((k, v) for k, v in meaning.items() if has_meaning(k))]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def _with_ids(words: tuple[str, ...], relations: Mapping[Relation, str]) -> tuple[str, ...]:
    known = {spelled(relation.parts): unique_id for relation, unique_id in relations.items()}
    if not known:
        return words
    longest = max(len(parts) for parts in known) * 2 - 1
    result: list[str] = []
    position = 0
    while position < len(words):
        for length in range(longest, 2, -2):
            parts = _names_at(words, position, length)
            if parts in known and not _continues(words, position):
                result.append(f"<{known[parts]}>")
                position += length
                break
        else:
            result.append(words[position])
            position += 1
    return tuple(result)


def _names_at(words: tuple[str, ...], start: int, length: int) -> tuple[str, ...]:
    """The names of `a.b` or `a.b.c` at this place, or nothing."""
    piece = words[start : start + length]
    if len(piece) < length or any(dot != "." for dot in piece[1::2]):
        return ()
    return spelled(tuple(name[1:-1].replace("``", "`") if name[:1] == "`" else name for name in piece[::2]))


def _continues(words: tuple[str, ...], start: int) -> bool:
    """`x.a.b` names something else than `a.b`."""
    return start > 0 and words[start - 1] == "."
