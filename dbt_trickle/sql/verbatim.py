"""A query parsed so that printing it gives back what the user wrote.

sqlglot's own Spark dialect translates: 'it''s' becomes CONCAT('it', 's'), percentile_cont becomes
percentile_approx, formats of dates are rewritten. Here a function is a name with arguments, and a literal is
its text: what is printed differs from what was written in white space, parentheses and synonyms of operators.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from dbt_trickle.sql.analysis import Unparsed, drop_hints
from dbt_trickle.sql.text import Edit, splice

# Calls with a grammar of their own; all others are a name and arguments separated by commas.
_SPECIAL_CALLS = ("CAST", "TRY_CAST", "EXTRACT")
_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?(l|s|y|f|d|bd)?", re.IGNORECASE)


class Verbatim(Spark):
    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser for name, parser in SparkParser.FUNCTION_PARSERS.items() if name in _SPECIAL_CALLS
        }

    class Generator(SparkGenerator):
        def literal_sql(self, expression: exp.Literal) -> str:
            return str(expression.this)  # strings, too: their quotes and escapes are the user's


def parse(text: str) -> exp.Query | Unparsed:
    try:
        statements = Verbatim().parser().parse(_verbatim_literals(text), text)
    except (SqlglotError, RecursionError) as problem:
        first = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        return Unparsed(re.sub(r" but got <Token.*?>(?=\.|$)", "", first))
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        return Unparsed("it is not one query that the parser understands")
    return statements[0]


def begin(node: exp.Expr) -> int | None:
    """Where a node's text begins, as far as the parser has noted it in or below the node."""
    return min((each.meta["start"] for each in node.walk() if "start" in each.meta), default=None)


def called(text: str) -> frozenset[str] | None:
    """The functions that a query calls, by the names that Spark looks them up under; none: it is not understood.

    Not by sqlglot's classes: it knows functions of other databases as well, and Spark's user may have one of that name.
    """
    query = parse(text)
    if isinstance(query, Unparsed):
        return None
    drop_hints(query)
    return frozenset(_called(query))


def _called(query: exp.Query) -> Iterator[str]:
    for call in query.find_all(exp.Anonymous):
        parent = call.parent
        if isinstance(parent, exp.Dot):
            yield printed(parent).split("(")[0].replace("`", "").lower()
        elif not isinstance(parent, exp.Table):
            yield call.name.lower()


def printed(node: exp.Expr) -> str:
    return node.sql(dialect=Verbatim, comments=False, normalize_functions=False)


def replaced(text: str, names: Mapping[str, str]) -> str:
    """An expression of quoted columns with other text in their places; fields of a struct are no columns, nor are the
    names that are given to them.
    """
    tokens = Verbatim().tokenize(text)
    edits = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        field = before is not None and before.token_type in (TokenType.DOT, TokenType.ALIAS)
        if token.token_type == TokenType.IDENTIFIER and not field and token.text in names:
            edits.append(Edit(token.start, token.end + 1, names[token.text]))
    return splice(text, edits)


def atomic(text: str) -> str:
    """The expression so that it may be put into another one."""
    tokens = Verbatim().tokenize(text)
    plain = all(token.token_type in (TokenType.IDENTIFIER, TokenType.DOT) for token in tokens)
    return text if plain else f"({text})"


def without_order(text: str) -> str:
    """The query without the ORDER BY that closes it: nothing else may follow that."""
    depth, cut = 0, len(text)
    for token in Verbatim().tokenize(text):
        if token.token_type == TokenType.L_PAREN:
            depth += 1
        elif token.token_type == TokenType.R_PAREN:
            depth -= 1
        elif depth == 0 and token.token_type == TokenType.ORDER_BY:
            cut = token.start
    return text[:cut].rstrip()


def _verbatim_literals(text: str) -> list[Token]:
    """Tokens whose literals carry their text in the query: '…' with its quotes, 1L with its suffix."""
    result: list[Token] = []
    tokens = Verbatim().tokenize(text)
    position = 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        if token.token_type in _STRINGS:
            # Strings side by side are one literal to Spark; where they touch it is an escaped quote.
            written, end = text[token.start : token.end + 1], token.end
            while position < len(tokens) and tokens[position].token_type in _STRINGS:
                piece = tokens[position]
                between = "" if piece.start == end + 1 else " "
                written, end = written + between + text[piece.start : piece.end + 1], piece.end
                position += 1
            token = _reworded(token, TokenType.STRING, written)
        elif token.token_type == TokenType.NUMBER:
            # 1L comes as three tokens of one place: 1, ::, BIGINT.
            while position < len(tokens) and tokens[position].start == token.start:
                position += 1
            written = text[token.start : token.end + 1]
            if not _NUMBER.fullmatch(written):  # 1e3+2 is one token to sqlglot, but no number
                raise ParseError(f"{written} is not understood as a number")
            token = _reworded(token, TokenType.NUMBER, written)
        result.append(token)
    return result


def _reworded(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)
