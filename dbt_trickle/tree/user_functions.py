"""Whether a function of the user's own is determined by its arguments: what its text calls must be, in turn."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from dbt_trickle import sql
from dbt_trickle.sql import Unparsed, verbatim
from dbt_trickle.tree.binding import bound
from dbt_trickle.tree.scope import spelling
from dbt_trickle.tree.unsupported import Unsupported, unsupported


@dataclass(frozen=True)
class LookedInto:
    """`calls`: functions of the user's own that are to be looked into as well."""

    calls: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()
    obstacle: str = ""


def looked_into(body: str, parameters: str) -> LookedInto:
    """`body`: the expression behind RETURN; `parameters`: their names and types, and what they are if not given."""
    known = verbatim.parameters(parameters)
    if isinstance(known, Unparsed):
        return LookedInto(obstacle=f"its parameters are not understood: {known.reason}")
    names = frozenset(map(spelling, known))
    calls: set[str] = set()
    volatile: set[str] = set()
    obstacle = ""
    for text in (f"SELECT {each}" for each in (body, *known.values()) if each is not None):
        found, query = sql.analyse(text), verbatim.parse(text)
        if isinstance(found, Unparsed) or isinstance(query, Unparsed):
            return LookedInto(obstacle="its text is not understood")
        volatile.update(found.volatile)
        calls.update(name for name in verbatim.called(text) or () if "." in name)
        obstacle = obstacle or _obstacle(query, names)
    return LookedInto(tuple(sorted(calls)), tuple(sorted(volatile)), obstacle)


def _obstacle(query: exp.Query, parameters: frozenset[str]) -> str:
    if not isinstance(query, exp.Select) or len(query.expressions) != 1 or query.args.get("from_"):
        return "its text is no expression"

    def resolve(parts: tuple[str, ...], where: exp.Expr, inside: bool) -> exp.Expr:
        # f.x is the parameter x of f. What is none may be a word for something else, such as `user`.
        if not parameters.intersection(map(spelling, parts[:2])):
            raise unsupported(f"{'.'.join(parts)} is none of its parameters", where)
        return where

    try:
        bound(query.expressions[0], resolve)
    except Unsupported as problem:
        return problem.what
    return ""
