"""What a query reads, and where its text says so: positions in the user's own text.

The text that runs as the user's query is his own, with names pinned to versions: nothing is generated here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from dbt_trickle.sql.grammar import AsWritten
from dbt_trickle.sql.refs import TableRef, called, ref_of


@dataclass(frozen=True)
class Analysis:
    tables: tuple[TableRef, ...]
    unknown_functions: tuple[str, ...]  # not sqlglot's: Spark's lesser known ones, or the user's own
    volatile: tuple[str, ...]
    table_functions: tuple[str, ...]


@dataclass(frozen=True)
class Unparsed:
    reason: str


# Functions whose value is not determined by the sources' rows. By name for now; see docs/decisions.md.
VOLATILE = frozenset(
    """rand randn random uuid shuffle randstr uniform current_timestamp now localtimestamp current_date
    curdate current_time monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length current_user user session_user current_catalog
    current_database current_schema current_timezone reflect java_method try_reflect""".split()
)
# DATE 'yesterday'; and a time without a day is that time of today.
_OF_TODAY = re.compile(r"\s*(?:now|today|yesterday|tomorrow)\b|\s*T?\d{1,2}:", re.IGNORECASE)
# Spark writes settings, variables of the environment and Java's into any statement, literals included.
_SUBSTITUTED = re.compile(r"\$\{[^}]*\}")
# Those that may be written without parentheses, where the parser sees a column.
WITHOUT_PARENTHESES = frozenset(
    ["current_date", "current_timestamp", "current_time", "current_user", "session_user", "localtimestamp"]
)
# Table functions that only look at their arguments.
PURE_TABLE_FUNCTIONS = frozenset(
    """range explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple
    variant_explode variant_explode_outer unnest""".split()
)


def analyse(sql: str) -> Analysis | Unparsed:
    try:
        statements = sqlglot.parse(sql, dialect=AsWritten)
    except (SqlglotError, RecursionError) as problem:
        return Unparsed(str(problem).splitlines()[0] if str(problem) else type(problem).__name__)
    if len(statements) != 1 or statements[0] is None:
        return Unparsed("it is not one statement")
    tree = statements[0]
    if not isinstance(tree, exp.Query) or tree.find(exp.Command):
        return Unparsed("it is not a query that the parser understands")
    drop_hints(tree)
    tables: list[tuple[exp.Table, TableRef]] = []
    table_functions = []
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            table_functions.append(_function_name(table.this))
        elif not _is_cte(table):
            ref = ref_of(table)
            if ref is None:
                return Unparsed(f"the place of {table.sql(dialect=Spark)} in the text is not known")
            tables.append((table, ref))
    return Analysis(
        tuple(called(sorted(tables, key=lambda each: each[1].start), tree)),
        tuple(sorted(set(_unknown_functions(tree)))),
        tuple(sorted({*_volatile(tree), *_SUBSTITUTED.findall(sql)})),
        tuple(sorted({f for f in table_functions if f not in PURE_TABLE_FUNCTIONS})),
    )


def drop_hints(tree: exp.Expr) -> None:
    """/*+ BROADCAST(c) */ looks like a call, and its c like a table; it says how, and not what."""
    for hint in list(tree.find_all(exp.Hint)):
        hint.pop()


def _is_cte(table: exp.Table) -> bool:
    """Whether the unqualified name is one of a WITH that is visible where the table stands.

    Visible: in the body of the query that has the WITH, and in the CTEs after it (in itself when
    recursive). A name of a WITH elsewhere is a table, and must be found as a source.
    """
    if len(table.parts) != 1:
        return False
    name = table.name.lower()
    child: exp.Expr = table
    parent = table.parent
    inside: exp.CTE | None = None
    while parent is not None:
        if isinstance(child, exp.CTE):
            inside = child
        with_ = parent.args.get("with_") or parent.args.get("with")
        if isinstance(parent, exp.Query) and isinstance(with_, exp.With):
            visible = with_.expressions
            if child is with_ and inside is not None:
                position = next(i for i, cte in enumerate(visible) if cte is inside)
                visible = visible[: position + (1 if with_.args.get("recursive") else 0)]
            if any(cte.alias.lower() == name for cte in visible):
                return True
        child, parent = parent, parent.parent
    return False


def _function_name(node: exp.Expr) -> str:
    return (node.name if isinstance(node, exp.Anonymous) else node.key).lower()


def _unknown_functions(tree: exp.Expr) -> Iterator[str]:
    for call in tree.find_all(exp.Func):
        if (whole := _of_a_schema(call)) is not None:
            yield whole.sql(dialect=Spark).split("(")[0].lower()
        elif isinstance(call, exp.Anonymous) and not isinstance(call.parent, exp.Table):
            yield call.name.lower()


def _of_a_schema(call: exp.Func) -> exp.Dot | None:
    """util.now(x) is no now(): what it is its own text says."""
    return call.parent if isinstance(call.parent, exp.Dot) and call.arg_key == "expression" else None


def _volatile(tree: exp.Expr) -> Iterator[str]:
    for call in tree.find_all(exp.Func):
        names = {call.name.lower()} if isinstance(call, exp.Anonymous) else _spellings(call)
        if _of_a_schema(call) is None:
            yield from names & VOLATILE
            if "aes_encrypt" in names and _draws_a_vector(call):
                yield "aes_encrypt without an initialization vector"
    for column in tree.find_all(exp.Column):
        # `current_date` without parentheses may be parsed as a column of that name.
        if not column.table and column.name.lower() in WITHOUT_PARENTHESES:
            yield column.name.lower()
    for cast in tree.find_all(exp.Cast):
        text = cast.this.name if isinstance(cast.this, exp.Literal) and cast.this.is_string else ""
        if cast.to.this in exp.DataType.TEMPORAL_TYPES and _OF_TODAY.match(text):
            yield f"{cast.to.sql(dialect=Spark).lower()} '{text}'"
    for sample in tree.find_all(exp.TableSample):
        if sample.args.get("seed") is None:
            yield "tablesample without repeatable"


def _draws_a_vector(call: exp.Func) -> bool:
    """Arguments: value, key, mode, padding, vector. Without the last one it is drawn; ECB has none."""
    given = call.expressions
    mode = given[2] if len(given) > 2 else None
    has_none = isinstance(mode, exp.Literal) and mode.name.upper() == "ECB"
    return len(given) < 5 and not has_none


def _spellings(call: exp.Func) -> set[str]:
    """sqlglot folds synonyms into one class; every name it has for it is one the user may have written."""
    aliases = {exp.Rand: {"rand"}, exp.Randn: {"randn"}, exp.Uuid: {"uuid"}}.get(type(call))
    return aliases or {name.lower() for name in call.sql_names()}
