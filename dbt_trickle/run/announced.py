"""What a run says that it is going to do, and what became of it: of each stream table one of either."""

from __future__ import annotations

from dataclasses import dataclass

from dbt_trickle.catalog.events import Event
from dbt_trickle.catalog.state import Dependency, Refresh, StreamTable
from dbt_trickle.names import Relation
from dbt_trickle.plan.due import Scheduled


@dataclass(frozen=True)
class Outcome:
    """What one refresh did: for the console, run_results.json and the catalog."""

    refresh: Refresh
    state: StreamTable | None
    dependencies: tuple[Dependency, ...] | None = None  # none: as they were
    statements: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    moved: bool = False  # readers were led to another storage


@dataclass(frozen=True)
class Planned:
    """A stream table that this invocation has selected."""

    pgt_id: int
    refresh_id: str
    public: Relation
    unique_id: str = ""
    project: str = ""
    dbt_target: str = ""
    schedule: str | None = None
    reads: frozenset[str] = frozenset()  # unique ids of stream tables
    named: bool = False  # the user asked for this very one
    policy: str = "fastest"  # diamond_schedule_policy

    @property
    def scheduled(self) -> Scheduled:
        return Scheduled(self.pgt_id, self.unique_id, self.schedule, self.reads, self.named, self.policy)

    def unborn(self, now: str) -> StreamTable | None:
        """What the catalog has of one whose first load failed: a name to ask for its history by."""
        if not self.unique_id:
            return None
        return StreamTable(
            self.pgt_id,
            self.public.schema,
            self.public.identifier,
            self.unique_id,
            project=self.project,
            dbt_target=self.dbt_target,
            created_at=now,
        )
