"""What dbt asks for: one model, as compiled, and what follows from it without asking the warehouse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from dbt_trickle.capture.choose import Mode
from dbt_trickle.catalog.state import Column, StreamTable, Unversioned
from dbt_trickle.config import LAYOUT, SourceSettings, StreamTableConfig
from dbt_trickle.names import Relation, folder, key_of
from dbt_trickle.plan import steps

NO_DOCS = steps.Docs()
NO_SETTINGS = SourceSettings()


@dataclass(frozen=True)
class Request:
    pgt_id: int
    unique_id: str
    public: Relation
    query: str  # the user's text (inside the contract's column list, where there is one)
    original: str  # the model's file, before dbt compiled it
    config: StreamTableConfig
    relations: Mapping[Relation, str] = field(default_factory=dict)  # what dbt resolved → unique ids
    sources: Mapping[str, SourceSettings] = field(default_factory=dict)  # by Relation.key, where one has its own
    existing: str | None = None  # what has the public name now: view, table or nothing
    shown: str | None = None  # the text of that view; none: it is not known
    began: StreamTable | None = None  # what it was when this run looked first, where it looks again
    hooked: bool = False  # statements of the user's ran in the session before
    meaning: Mapping[str, str] | None = None  # the settings that they left; none: they are the run's
    variables: bool = False  # some of which set variables of the session, that the text may name
    sampled: bool = False
    full_refresh: bool = False
    docs: steps.Docs = NO_DOCS
    constraints: tuple[steps.Constraint, ...] = ()
    project: str = ""
    dbt_target: str = ""  # see dbt_target()

    @property
    def name(self) -> str:
        return str(self.public)

    @property
    def layout(self) -> str:
        """What only a new generation can change, in one comparable text."""
        constraints = [[c.name, c.expression] for c in self.constraints]
        return json.dumps([self.config.layout, constraints], default=list)

    @property
    def docs_mark(self) -> str:
        return json.dumps([self.docs.relation, self.docs.columns], ensure_ascii=False)

    def source(self, relation: str) -> SourceSettings:
        return self.sources.get(key_of(relation), NO_SETTINGS)

    def capture_of(self, relation: str) -> Mode:
        """How a source's changes are to be captured: what is said of the source wins over the model."""
        return cast(Mode, self.source(relation).cdc_mode or self.config.cdc_mode)

    def settings(self) -> dict[str, Any]:
        """What the catalog shows of the model and its configuration."""
        return {
            "project": self.project,
            "dbt_target": self.dbt_target,
            "schedule": self.config.schedule,
            "refresh_mode": self.config.refresh_mode,
            "change_buffer": self.config.change_buffer,
            "diamond_consistency": self.config.diamond_consistency,
            "diamond_schedule_policy": self.config.diamond_schedule_policy,
            "auto_threshold": self.config.max_change_ratio,
            "defining_query": self.query,
            "original_query": self.original,
        }

    def definition(
        self, columns: tuple[Column, ...], unversioned: tuple[Unversioned, ...], functions: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """What a commit's marker says, so that the catalog can be rebuilt from it alone."""
        return {
            **self.settings(),
            "columns": [{"name": c.name, "type": c.type, "stored": c.stored} for c in columns],
            "layout": self.layout,
            "expose": self.config.expose,
            "docs": self.docs_mark,
            "unversioned": [asdict(found) for found in unversioned],
            "functions_used": functions,
            "pgt_schema": self.public.schema,
            "pgt_name": self.public.identifier,
            "dbt_unique_id": self.unique_id,
        }

    def target(self, storage: Relation, columns: tuple[Column, ...]) -> steps.Target:
        properties = {
            **dict(self.config.tblproperties),
            **ownership(self.pgt_id, self.unique_id, self.public, self.project),
        }
        return steps.Target(
            self.public, storage, columns, self.docs, self.constraints, tuple(sorted(properties.items()))
        )

    def unset(self, before: StreamTable | None) -> tuple[str, ...]:
        """The `tblproperties` that an earlier configuration had and this one has not."""
        if before is None or not before.layout:
            return ()
        had = dict(json.loads(before.layout)[0][LAYOUT.index("tblproperties")])
        return tuple(sorted(had.keys() - dict(self.config.tblproperties).keys()))

    def location(self, storage: Relation, invocation_id: str) -> str | None:
        """The folder of a new storage where it is not its schema's, and none that any storage has ever had.

        There files outlive DROP. In a folder that was used before, Delta would find a log that has the batch, and
        skip the load.
        """
        root = self.config.location_root
        if root is None or (storage == self.public and self.existing == "table"):
            return None  # Delta replaces a table where it lies, and refuses a LOCATION that is another one
        return folder(root, storage, invocation_id)

    def standing(self, base: StreamTable) -> str | None:
        """What has the public name, told apart: 'ours' is the view of an older generation."""
        if self.existing == "view" and base.expose == "view" and base.storage_relation:
            return "ours"
        return self.existing


_GRAPH = re.compile(r"^(?:\d*\+|@)?(.*?)(?:\+\d*)?$")


def is_named(unique_id: str, selectors: Iterable[str]) -> bool:
    """Whether a selection has the model by its name, its package's and its own, its path of folders, or its version's;
    `2+name` and `name+1` are that as well.
    """
    _, package, name, *version = unique_id.split(".")
    names = {unique_id, name, f"{package}.{name}"} | {f"{name}{sign}{v}" for v in version for sign in "._"}
    words = (word for each in selectors for word in re.split(r"[\s,]+", each))
    asked = (_GRAPH.sub(r"\1", word).removeprefix("fqn:") for word in words)
    return any(w in names or (w.startswith(f"{package}.") and w.endswith(f".{name}")) for w in asked)


def dbt_target(name: str, schema: str) -> str:
    """What a stream table was built for: dbt's target, and the schema that those of the models are derived from.

    Both: a macro may derive a model's schema from either, and `trickle repair` must not take for a removed model
    what another target has built.
    """
    return f"{name}/{schema.lower()}"


def ownership(pgt_id: int, unique_id: str, public: Relation, project: str) -> dict[str, str]:
    """The properties that say whose a relation is."""
    return {
        "trickle.pgt_id": str(pgt_id),
        "trickle.unique_id": unique_id,
        "trickle.public": str(public),
        "trickle.project": project,
    }
