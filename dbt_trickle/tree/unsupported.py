"""Why a query has no operator tree: it is computed as a whole, for this reason."""

from __future__ import annotations

from sqlglot import exp

from dbt_trickle.masking import masked
from dbt_trickle.sql import verbatim
from dbt_trickle.sql.text import line_and_column


class Unsupported(Exception):
    """A construct that is not maintained yet, as its user would call it. Not an error: a reason.

    `at`: where it begins in the text that a tree was to be built of.
    """

    def __init__(self, what: str, at: int | None = None, place: str = "") -> None:
        self.what = masked(what)  # it quotes the query
        self.at = at
        self.reason = self.what + place
        super().__init__(self.reason)

    def within(self, text: str, at: int | None) -> Unsupported:
        """With its place in a text, such as the one that the user has written."""
        if at is None:
            return self
        line, column = line_and_column(text, at)
        return Unsupported(self.what, self.at, f" (line {line}, column {column})")


def unsupported(what: str, where: exp.Expr | None = None) -> Unsupported:
    """`what` with its place, where the parser noted one in or below the node."""
    return Unsupported(what, verbatim.begin(where) if where is not None else None)


def not_yet(construct: str, where: exp.Expr | None = None) -> Unsupported:
    return unsupported(f"{construct} is not maintained yet", where)
