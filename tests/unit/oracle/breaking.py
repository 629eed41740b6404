"""What is broken, for as long as it takes to find it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pytest
from checked import HISTORIES, check, tried
from hypothesis import find
from kept import Case
from lake import Lake
from random_cases import cases
from random_queries import of_one
from spark_in_duckdb import NO_FIT

from dbt_trickle.apply import few, whole
from dbt_trickle.apply.base import Few, told_by
from dbt_trickle.apply.stored import Stored
from dbt_trickle.delta.context import Context, Cte, Delta
from dbt_trickle.delta.rule import rule
from dbt_trickle.names import quote
from dbt_trickle.tree.algebra import Operator

# The product's own; and Delta's, where two rows are merged into one, or one is written that does not fit.
ERRORS = ("[TRK-", "cannot affect the same target row more than once", NO_FIT)
Rule = Callable[..., Delta]
Breaks = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Broken:
    about: str
    operator: str  # of the grammar: where it shows
    breaks: Breaks | None = None
    rule: tuple[type[Operator], Callable[[Rule], Rule]] | None = None
    check: Callable[[Lake, Case], None] = check
    least: int = 0  # rows of each table at first


def last(change: Callable[[str], str]) -> Callable[[Rule], Rule]:
    """A rule whose last CTE says something else."""

    def broken(was: Rule) -> Rule:
        def instead(*arguments: Any) -> Delta:
            *before, end = was(*arguments).ctes
            return Delta((*before, Cte(end.name, change(end.sql))))

        return instead

    return broken


def new_twice(was: Rule) -> Rule:
    def instead(tree: Operator, context: Context, *arguments: Any) -> Delta:
        sources = {key: replace(source, old=source.new) for key, source in context.sources.items()}
        return was(tree, replace(context, sources=sources), *arguments)

    return instead


def text(module: Any, name: str, change: Callable[[str], str]) -> Breaks:
    """A function of the product that gives other text than it should; or a text that is another one."""

    def breaks(patch: pytest.MonkeyPatch) -> None:
        was = getattr(module, name)
        patch.setattr(module, name, (lambda *a, **k: change(was(*a, **k))) if callable(was) else change(was))

    return breaks


def instead_of(module: Any, name: str, other: Any) -> Breaks:
    return lambda patch: patch.setattr(module, name, other)


def all_of(*parts: Breaks) -> Breaks:
    def breaks(patch: pytest.MonkeyPatch) -> None:
        for part in parts:
            part(patch)

    return breaks


# Rows of groups that differ in what is kept of them alone are taken for the same.
STATE_IS_NOT_COMPARED = all_of(
    instead_of(whole, "told_by", lambda stored, _: told_by(stored, stored.outputs)),
    instead_of(Stored, "any_of", lambda _, name: f"any_value({quote(name)})"),
)


@contextmanager
def broken(this: Broken) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if this.breaks is not None:
            this.breaks(patch)
        if this.rule is None:
            yield
            return
        operator, change = this.rule
        was = rule.dispatch(operator)
        rule.register(operator, change(was))
        try:
            yield
        finally:
            rule.register(operator, was)


def find_out(lake: Lake, this: Broken) -> None:
    """Raises if no case shows it."""

    def found_out(case: Case) -> bool:
        try:
            this.check(lake, case)
        except AssertionError:
            return True
        except duckdb.Error as problem:
            if not any(error in str(problem) for error in ERRORS):
                raise
            return True
        return False

    with broken(this):
        found = cases(of_one(this.operator), HISTORIES, least=this.least)
        find(found, found_out, settings=tried(300, shrinks=False))


def few_says(way: str, which: str, old: str, new: str) -> Breaks:
    """One of the statements of keyed, bag or groups says something else."""
    was = getattr(few, way)

    def instead(*arguments: Any) -> Few:
        found: Few = was(*arguments)
        before = getattr(found, which)
        if old not in before:
            # No AssertionError: that would be taken for a result that is wrong.
            raise LookupError(f"{old!r} is not in\n{before}")
        return replace(found, **{which: before.replace(old, new)})

    return instead_of(few, way, instead)
