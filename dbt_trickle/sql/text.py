"""Edits of a query's text, and the text as words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType


@dataclass(frozen=True)
class Edit:
    start: int
    end: int
    text: str


def splice(sql: str, edits: list[Edit]) -> str:
    """The text with the edits made, each once, from the back so that positions stay right."""
    for edit in sorted(dict.fromkeys(edits), key=lambda e: e.start, reverse=True):
        sql = sql[: edit.start] + edit.text + sql[edit.end :]
    return sql


def origin(edits: Sequence[Edit], position: int) -> int:
    """Where a position of the spliced text is in the text as it was; of what was put in, where that begins."""
    moved = 0
    for edit in sorted(edits, key=lambda each: each.start):
        begin = edit.start + moved
        if position < begin:
            break
        if position < begin + len(edit.text):
            return edit.start
        moved += len(edit.text) - (edit.end - edit.start)
    return position - moved


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Both from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def without_terminator(sql: str) -> str:
    """The query without a closing semicolon (and whatever comment stands behind it)."""
    try:
        tokens = Spark().tokenize(sql)
    except SqlglotError:
        return sql.strip().rstrip(";").rstrip()
    if tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        return sql[: tokens[-1].start].rstrip()
    return sql.strip()


def words(sql: str) -> tuple[str, ...]:
    """The text as tokens: no comments, no white space, names and keywords in lower case.

    Literals and quoted names stay as written, and strings that touch stay one word: 'it''s' is not
    'it' 's', although a parser may read both alike.
    """
    try:
        tokens = Spark().tokenize(sql)
    except SqlglotError:
        return (sql,)
    # In a path into a VARIANT (v:aB.c) names have case; such a text keeps the case of all its words.
    lower = all(token.token_type != TokenType.COLON for token in tokens)
    result: list[str] = []
    depth, structs = 0, list[int]()  # of parentheses, and those in which names are fields, whose case to_json() shows
    previous_end, after_literal = -2, False
    for token in tokens:
        text = sql[token.start : token.end + 1]
        literal = text[:1] in "'\"`" or token.token_type in _LITERALS
        if text == "(":
            depth += 1
            if result and result[-1] == "struct":
                structs.append(depth)
        elif text == ")":
            if structs and structs[-1] == depth:
                structs.pop()
            depth -= 1
        if not literal and lower and not structs:
            text = text.lower()
        if literal and after_literal and token.start == previous_end + 1:
            result[-1] += text
        elif literal:
            result.append(text)
        else:
            # `group  by` is one token, with the white space that the user put into it.
            result.extend(text.split())
        previous_end, after_literal = token.end, literal
    return tuple(result)


_LITERALS = frozenset(
    {TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING, TokenType.IDENTIFIER, TokenType.NUMBER}
)
