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

from dbt_trickle.names import quote
from dbt_trickle.sql.analysis import Unparsed, drop_hints
from dbt_trickle.sql.grammar import Grammar
from dbt_trickle.sql.text import Edit, splice

# Calls with a grammar of their own; all others are a name and arguments separated by commas.
_SPECIAL_CALLS = ("CAST", "TRY_CAST", "EXTRACT")
# What may stand around a call: it is all one aggregate.
AROUND = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_PLAIN = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?(l|s|y|f|d|bd)?", re.IGNORECASE)


class Verbatim(Spark):
    class Parser(Grammar):
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
        return Unparsed(_first_line(problem))
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        return Unparsed("it is not one query that the parser understands")
    _name_whole(statements[0])
    return statements[0]


def _name_whole(query: exp.Query) -> None:
    """schema.f(x) is a call of that name; the parser has a field f(x) of schema, or a column f(x) FILTER (…) of it."""
    for call in list(query.find_all(exp.Anonymous)):
        if isinstance(call.parent, exp.Table):
            continue
        whole: exp.Expr = call
        while isinstance(whole.parent, AROUND) and whole.arg_key == "this":
            whole = whole.parent
        if isinstance(whole.parent, exp.Dot) and whole.arg_key == "expression":
            qualifier = _identifiers(whole.parent.this)
        elif isinstance(whole.parent, exp.Column) and whole.arg_key == "this":
            qualifier = list(whole.parent.parts[:-1])
        else:
            continue
        if qualifier:
            names = (*(each.name for each in qualifier), call.name)
            call.set("this", ".".join(each if _PLAIN.fullmatch(each) else quote(each) for each in names))
            whole.parent.replace(whole)


def _identifiers(node: exp.Expr) -> list[exp.Expr]:
    """The parts of a.b; nothing where it is something else."""
    if isinstance(node, exp.Identifier):
        return [node]
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        before = _identifiers(node.this)
        return [*before, node.expression] if before else []
    return []


def parameters(text: str) -> dict[str, str | None] | Unparsed:
    """What a function calls its parameters, and the expression that each stands for where it is not given."""
    if not text:
        return {}
    tokens = _verbatim_literals(created := f"CREATE TABLE t ({text})")
    try:
        statements = Verbatim().parser().parse(tokens, created)
    except (SqlglotError, RecursionError) as problem:
        return Unparsed(_first_line(problem))
    schema = next((each.this for each in statements if isinstance(each, exp.Create)), None)
    listed = [each for each in schema.expressions if isinstance(each, exp.ColumnDef)] if schema is not None else []
    found = {each.name: each.find(exp.DefaultColumnConstraint) for each in listed}
    given = sum(constraint is not None for constraint in found.values())
    if not found or given != sum(token.token_type == TokenType.DEFAULT for token in tokens):
        return Unparsed("something else than names, types and defaults")
    return {name: None if constraint is None else printed(constraint.this) for name, constraint in found.items()}


def _first_line(problem: Exception) -> str:
    first = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
    return re.sub(r" but got <Token.*?>(?=\.|$)", "", first)


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
        if not isinstance(call.parent, exp.Table):
            yield call.name.replace("`", "").lower()
    for field in query.find_all(exp.Dot):
        if isinstance(field.expression, exp.Func):  # one of its schema that is called as a special one of Spark's
            yield printed(field).split("(")[0].replace("`", "").lower()


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
