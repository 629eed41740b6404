"""dbt's errors as the `trickle` command tells them: in words, with a code and a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dbt_common.exceptions import DbtBaseException

from dbt_trickle.errors import EnvironmentProblem, TrickleError


@contextmanager
def user_errors() -> Iterator[None]:
    """dbt's errors about profile, project or connection are the user's to mend: in words, without a stack."""
    try:
        yield
    except DbtBaseException as problem:
        if told := ours(problem):
            raise told from None
        raise EnvironmentProblem("TRK-409", str(problem).strip(), remedy="See `dbt debug`.") from problem


def ours(problem: BaseException | str) -> TrickleError | None:
    """What the adapter said, where dbt has put words of its own before it."""
    cause = getattr(problem, "__cause__", None)
    return cause if isinstance(cause, TrickleError) else said_in(str(problem))


def said_in(text: str) -> TrickleError | None:
    """An error of ours that was made a text of."""
    said = re.search(r"\[(TRK-\d+)\] (.*)", text, re.DOTALL)
    if said is None:
        return None
    what, *remedy = (line.strip() for line in said.group(2).strip().splitlines())
    return EnvironmentProblem(said.group(1), what, remedy="\n  ".join(remedy) or "See `dbt debug`.")
