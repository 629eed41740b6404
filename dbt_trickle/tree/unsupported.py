"""Why a query has no operator tree: it is computed as a whole, for this reason."""

from __future__ import annotations

from sqlglot import exp

from dbt_trickle.masking import masked


class Unsupported(Exception):
    """A construct that is not maintained yet, as its user would call it. Not an error: a reason."""

    def __init__(self, reason: str) -> None:
        self.reason = masked(reason)  # it quotes the query
        super().__init__(self.reason)


def unsupported(what: str, where: exp.Expr | None = None) -> Unsupported:
    """`what` with its line, where the parser noted one in or below the place."""
    lines = [node.meta["line"] for node in where.walk() if "line" in node.meta] if where is not None else []
    return Unsupported(f"{what} (line {min(lines)})" if lines else what)


def not_yet(construct: str, where: exp.Expr | None = None) -> Unsupported:
    return unsupported(f"{construct} is not maintained yet", where)
