"""Expressions of a SELECT that name others further left by their aliases: `a + 1 AS b, b * 2 AS c`.

A tree has them spelled out. Spark computes what is named once, below, so that its plan shows which way it was written.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot.tokenizer_core import Token, TokenType

from dbt_trickle.names import RESERVED_PREFIX, quote
from dbt_trickle.sql.text import Edit, splice
from dbt_trickle.sql.verbatim import Verbatim


def by_aliases(chosen: Mapping[str, str]) -> dict[str, str]:
    """The select list, by what its columns are called, with aliases for the expressions that are in others.

    They are called as no column is: a name that is a column's means that one.
    """
    tokens = {label: Verbatim().tokenize(text) for label, text in chosen.items()}
    found: dict[str, str] = {}
    called: dict[str, str] = {}
    for label, text in chosen.items():
        before = sorted((each for each in found if _computes(tokens[each])), key=lambda each: -len(tokens[each]))
        edits: list[Edit] = []
        for other in before:
            for edit in _occurrences(tokens[label], tokens[other], quote(f"{RESERVED_PREFIX}alias_{other}")):
                if all(edit.end <= each.start or each.end <= edit.start for each in edits):
                    edits.append(edit)
                    called[other] = f"{RESERVED_PREFIX}alias_{other}"
        found[label] = splice(text, edits)
    return {called.get(label, label): text for label, text in found.items()}


def _computes(tokens: list[Token]) -> bool:
    return not all(token.token_type in (TokenType.IDENTIFIER, TokenType.DOT) for token in tokens)


def _occurrences(text: list[Token], part: list[Token], alias: str) -> list[Edit]:
    """Where it stands by itself: in parentheses of its own, or as a call or another expression that is one already."""
    words, wanted = [each.text for each in text], [each.text for each in part]
    if part[0].token_type is TokenType.L_PAREN and _is_one(part):
        alias = f"({alias})"  # they may be those of a call
    edits = []
    for at in range(len(words) - len(wanted) + 1):
        end = at + len(wanted)
        if words[at:end] == wanted and (_is_one(part) or _enclosed(text, at, end)):
            edits.append(Edit(text[at].start, text[end - 1].end + 1, alias))
    return edits


def _is_one(part: list[Token]) -> bool:
    """f(…): its last parenthesis closes its first."""
    depth = 0
    for at, token in enumerate(part):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if at > 0 and depth == 0:
            return at == len(part) - 1
    return False


def _enclosed(text: list[Token], at: int, end: int) -> bool:
    around = at > 0 and end < len(text)
    return around and (text[at - 1].token_type, text[end].token_type) == (TokenType.L_PAREN, TokenType.R_PAREN)
