"""Every error a user can meet, with a stable code. docs/errors.md lists each with its remedy.

Exception
├── TrickleError            something the user can act on; printed without a stack trace
│   ├── ConfigError         TRK-1xx  a model's or a project's configuration
│   ├── ModelError          TRK-2xx  the model's SQL, or what it reads
│   ├── WarehouseError      TRK-3xx  what the warehouse answered, or what was found in it
│   ├── EnvironmentProblem  TRK-4xx  Java, jars, the profile, another process
│   └── CommandError        TRK-5xx  a trickle command that cannot do what was asked
└── TrickleBug              TRK-900  a state the code holds to be impossible: ours to mend
"""

from __future__ import annotations

import re

from dbt_trickle.masking import masked


class TrickleError(Exception):
    """A problem the user can act on: what it is about, why it happened, what to do.

    What it says comes to the console, the log, the history and the events, so no secret is in it from the beginning.
    """

    def __init__(self, code: str, what: str, *, model: str | None = None, remedy: str = "") -> None:
        self.code = code
        self.what = masked(what)
        self.model = model
        self.remedy = masked(remedy)  # it may quote a log
        super().__init__(str(self))

    def __str__(self) -> str:
        subject = f"stream table {self.model}: " if self.model else ""
        remedy = f"\n  {self.remedy}" if self.remedy else ""
        return f"[{self.code}] {subject}{self.what}{remedy}"

    def about(self, model: str) -> TrickleError:
        """The same error, told of the model it was met in."""
        if self.model:
            return self
        return type(self)(self.code, self.what, model=model, remedy=self.remedy)


class ConfigError(TrickleError):
    pass


class ModelError(TrickleError):
    pass


class WarehouseError(TrickleError):
    pass


class EnvironmentProblem(TrickleError):
    pass


class CommandError(TrickleError):
    pass


class TrickleBug(Exception):
    """An impossible state. It keeps its stack trace: it is for us."""

    def __init__(self, what: str) -> None:
        self.what = masked(what)
        super().__init__(f"[TRK-900] {self.what} (this is a bug in dbt-trickle; please report it)")


# Statements of ours raise these themselves, where only the rows tell.
_REMEDIES = {
    "TRK-310": "Nothing was changed. `dbt run --full-refresh` on that model loads it anew; `trickle verify` tells "
    "whether others are concerned.",
    "TRK-311": "Name a `primary_key` that tells the rows apart, or leave it out: then rows are compared as a whole.",
    "TRK-312": "Run it once with `--full-refresh`, and give its rows something that tells them apart, or count them.",
    "TRK-313": "Set `refresh_mode: full` for that model, or let it sum numbers of fewer digits (`cast`).",
    "TRK-315": "Use `refresh_mode: auto`, which recomputes it then.",
}
_RAISED = re.compile(rf"\[({'|'.join(_REMEDIES)})\] (.*?)\.?(?: SQLSTATE: \w+)?(?:\n|$)")


def raised_in_sql(said: str) -> WarehouseError | None:
    """Spark puts words of its own around what a statement raises."""
    found = _RAISED.search(said)
    return WarehouseError(found.group(1), found.group(2), remedy=_REMEDIES[found.group(1)]) if found else None
