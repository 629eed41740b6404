"""The user's own functions that a query calls, as Spark tells of them.

A SQL function is an expression with a name: its text is known, and stands for a version as that of a view does. So
one whose value is determined by its arguments may be called by what is maintained. Of any other function nothing is
known but its name.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dbt_trickle.catalog.state import Unversioned
from dbt_trickle.errors import ModelError, WarehouseError
from dbt_trickle.formats.base import FUNCTION, Frontier, SourceVersion
from dbt_trickle.names import Relation
from dbt_trickle.run.pins import qualified
from dbt_trickle.run.session import Session, passes
from dbt_trickle.tree.fingerprint import has_meaning
from dbt_trickle.tree.user_functions import looked_into

WITHOUT_SCHEMA = "is no function of Spark's own, and is named without its schema"
_SETTING = "sqlConfig."
_MISSING = ("UNRESOLVED_ROUTINE", "ROUTINE_NOT_FOUND")


@dataclass(frozen=True)
class FunctionText:
    """`expression`: what stands behind RETURN; none where that is a query."""

    expression: str | None
    parameters: str
    returns: str
    deterministic: bool
    settings: Mapping[str, str]  # those that it was made with, and is evaluated under, whatever the session has

    @property
    def digest(self) -> str:
        meaning = sorted((key, value) for key, value in self.settings.items() if has_meaning(key))
        parts = [self.expression, self.parameters, self.returns, self.deterministic, meaning]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    @property
    def obstacle(self) -> str:
        if self.expression is None:
            return "has a query for its text, and what that reads is not known"
        return "gives a text of a collation" if "COLLATE" in self.returns.upper() else ""


@dataclass(frozen=True)
class Called:
    """What it means for a query that it calls some functions."""

    frontier: Frontier = field(default_factory=dict)
    unversioned: tuple[Unversioned, ...] = ()
    volatile: tuple[str, ...] = ()
    below: tuple[str, ...] = ()  # those that are called by what it calls

    def beside(self, other: Called) -> Called:
        return Called(
            {**self.frontier, **other.frontier},
            tuple(dict.fromkeys(self.unversioned + other.unversioned)),
            tuple(dict.fromkeys(self.volatile + other.volatile)),
            tuple(dict.fromkeys(self.below + other.below)),
        )


class Functions:
    """What was found of them, for one invocation."""

    def __init__(self) -> None:
        self._texts: dict[str, FunctionText | str] = {}
        self._guard = threading.RLock()

    def forget(self) -> None:
        """Somebody may have made them anew."""
        with self._guard:
            self._texts.clear()

    def called(self, session: Session, names: Iterable[str]) -> Called:
        """`names`: as a query has them, of functions that are not Spark's own."""
        found = Called()
        for name in sorted(set(names)):
            relation = qualified(tuple(name.split(".")), None)
            if relation is None:
                # A temporary one, or of whatever schema the session is in.
                found = found.beside(Called(unversioned=(Unversioned(f"{name}() {WITHOUT_SCHEMA}"),)))
            else:
                found = found.beside(self._of(session, relation, ()))
        return found

    def _of(self, session: Session, name: Relation, above: tuple[str, ...]) -> Called:
        found = self._text(session, name)
        if isinstance(found, str):
            return Called(unversioned=(Unversioned(f"{name}() {found}"),))
        version = SourceVersion(f"{name.key}()", FUNCTION, f"{name}()", found.digest, 0, "")
        mine = Called({version.key: version})
        if not found.deterministic:
            which = f"{name}()"
            return replace(mine, unversioned=(Unversioned(f"{which} is volatile"),), volatile=(which,))
        if found.obstacle or found.expression is None:
            return replace(mine, unversioned=(Unversioned(f"{name}() {found.obstacle}"),))
        within = looked_into(found.expression, found.parameters)
        for each in within.volatile:
            which = f"{each} in {name}()"
            mine = mine.beside(Called(unversioned=(Unversioned(f"{which} is volatile"),), volatile=(which,)))
        if within.obstacle and not within.volatile:
            mine = mine.beside(Called(unversioned=(Unversioned(f"within {name}() {within.obstacle}"),)))
        for each in within.calls:
            called = qualified(tuple(each.split(".")), None)
            if called is not None and called.key not in (name.key, *above):
                mine = mine.beside(self._of(session, called, (name.key, *above)))
        return replace(mine, below=(*mine.below, *within.calls))

    def _text(self, session: Session, name: Relation) -> FunctionText | str:
        with self._guard:
            if name.key not in self._texts:
                self._texts[name.key] = described(session, name)
            return self._texts[name.key]


def described(session: Session, name: Relation) -> FunctionText | str:
    """Or why its text is not known."""
    try:
        rows = session.query(f"DESCRIBE FUNCTION EXTENDED {name.sql}")
    except WarehouseError as problem:
        if any(word in problem.what for word in _MISSING):
            raise no_such_function(name) from problem
        if passes(problem):
            raise
        return f"cannot be looked at: {problem.what}"
    return parse_function([str(next(iter(row.values()))) for row in rows])


def parse_function(lines: Iterable[str]) -> FunctionText | str:
    """The answer of DESCRIBE FUNCTION EXTENDED. Of a SQL function the line for its usage is all that there is of it."""
    usage = next((line.partition(": ")[2] for line in lines if line.startswith("Usage: ")), "")
    known = _properties(usage)
    if known.get("sqlFunction.isTableFunc") != "false":
        return "is no SQL function: whether it gives the same value of the same arguments can be read nowhere"
    return FunctionText(
        known.get("sqlFunction.expression"),
        known.get("sqlFunction.inputParam", ""),
        known.get("sqlFunction.returnType", ""),
        known.get("sqlFunction.deterministic") == "true",
        {key.removeprefix(_SETTING): value for key, value in known.items() if key.startswith(_SETTING)},
    )


def _properties(usage: str) -> dict[str, Any]:
    try:
        known = json.loads(usage)
    except ValueError:
        return {}
    return known if isinstance(known, dict) else {}


def no_such_function(name: Relation) -> ModelError:
    return ModelError(
        "TRK-202",
        f"the function {name}(), which it calls, does not exist",
        remedy="Check its name and schema, and that what creates it (a hook, a script) has run.",
    )
