"""The profile of `type: trickle`: dbt-spark's, with the embedded session as the default method."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt.adapters.spark.connections import SparkConnectionMethod, SparkCredentials
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.trickle import embedded, secrets
from dbt_trickle.errors import EnvironmentProblem

ANSI = "spark.sql.ansi.enabled"
# Commands of dbt's that write whatever they find; others take the lock when they do.
WRITING = frozenset(["build", "clone", "retry", "run", "seed", "snapshot"])


@dataclass
class TrickleCredentials(SparkCredentials):
    # Where the embedded warehouse, its metastore and its log live; default: .trickle in the project.
    home: str | None = None
    # How long a second writing process waits for the first one, in seconds.
    writer_lock_timeout: float = 1.5

    @classmethod
    def __pre_deserialize__(cls, data: Any) -> Any:
        data = super().__pre_deserialize__(data)
        data.setdefault("method", SparkConnectionMethod.SESSION.value)
        if data["method"] == SparkConnectionMethod.SESSION.value:
            data.setdefault("host", "embedded")
        return data

    @classmethod
    def translate_aliases(cls, kwargs: dict[str, Any], recurse: bool = False) -> dict[str, Any]:
        """Spark's settings may be written as YAML likes them (4, true); dbt-spark insists on quotes."""
        data = super().translate_aliases(kwargs, recurse)
        if isinstance(settings := data.get("server_side_parameters"), dict):
            data["server_side_parameters"] = {key: _text(value) for key, value in settings.items()}
        return data

    def __post_init__(self) -> None:
        if self.method == SparkConnectionMethod.SESSION:
            _require_pyspark()
        asked = {str(key): str(value) for key, value in (self.server_side_parameters or {}).items()}
        super().__post_init__()
        # dbt-spark forces ANSI mode off since 1.10. Off is our default too, so that packages written for
        # dbt-spark keep their meaning, but a profile that asks for it gets it.
        self.server_side_parameters[ANSI] = asked.get(ANSI, "false")
        secrets.remember(self, self.server_side_parameters)
        self._project_root = Path.cwd()
        self.is_to_write = False

    @property
    def type(self) -> str:
        return "trickle"

    @property
    def unique_field(self) -> str:
        return self.host or "embedded"

    @property
    def embedded_home(self) -> Path:
        """`.trickle` of the project, or the folder that the profile names (relative to the project)."""
        return (self._project_root / (self.home or ".trickle")).resolve()

    def belongs_to(self, project_root: str | None, command: str | None = None) -> None:
        if project_root:
            self._project_root = Path(project_root)
        self.is_to_write = command in WRITING

    def _connection_keys(self) -> tuple[str, ...]:
        if self.method == SparkConnectionMethod.SESSION:
            return "method", "schema", "home"
        return ("method", *super()._connection_keys())


def _require_pyspark() -> None:
    """Before dbt-spark asks: its remedy installs a Spark that ours does not work with."""
    try:
        embedded.require_pyspark()
    except EnvironmentProblem as problem:
        raise DbtRuntimeError(str(problem)) from problem


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
