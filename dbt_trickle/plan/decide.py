"""What a refresh does, and why: one pure function from facts to a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from dbt_trickle.catalog.state import StreamTable
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.errors import ConfigError, ModelError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan import cost
from dbt_trickle.plan.cost import Choice

SUPERSEDED = "another run has altered it since this one began, which brings no other query or layout itself"
SUSPENDED_BY_USER = "suspended by the user"
NOTHING_NEWER = "its branches agree on no newer state"
KEPT_OLD_DEFINITION = "`on_configuration_change: continue` keeps the old definition"


class Work(Enum):
    """What is done to the storage."""

    NOTHING = "nothing"
    LOAD = "a new generation is loaded, then the public name moves to it"
    DELTA = "what changed is brought in, where that can be done"
    OVERWRITE = "all rows are replaced in one commit"
    PLACEHOLDER = "an empty stand-in, so that what reads it compiles"


@dataclass(frozen=True)
class Decision:
    action: str  # NO_DATA, FULL, DIFFERENTIAL, REINITIALIZE, ALTER or SKIP
    reason: str
    work: Work
    is_first: bool = False  # nothing was loaded before
    choice: Choice | None = None  # where it was full or differential by what either costs
    # Rows of each source that moved; none where its history does not tell. Where it was asked.
    changed: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """All that a decision rests on; gathered before, printed by whoever wants to know why."""

    config: StreamTableConfig
    state: StreamTable | None
    fingerprint: str
    layout: str
    frontier: Mapping[str, SourceVersion]
    held: str = ""  # why sources are read at older states than the newest
    apart: str = ""  # why its sources have no states that can be read together
    suspended: tuple[str, ...] = ()  # stream tables that it reads, directly or over others, and that are not refreshed
    unversioned: tuple[str, ...] = ()  # why some source, or the query itself, has no version to compare
    public_is_ours: bool = True
    storage_touched: str = ""
    not_due: str = ""  # by its schedule, where schedules are heeded
    deploys: bool = True  # its definition is another one than when the run began, or nobody need know
    shows_another: bool = False  # the public view is not of any storage of it
    sampled: bool = False
    full_refresh: bool = False
    previous_storage_missing: bool = False


def decide(facts: Facts) -> Decision:
    """The order is that of the README's table: the first line that applies decides.

    What is skipped comes before what only the warehouse can tell (a storage or a view that is another one), because
    `consider.passed_over` asks here before it asks the warehouse, and the answer must not depend on that.
    """
    state, config = facts.state, facts.config
    populated = state is not None and state.is_populated and facts.public_is_ours
    if facts.sampled:
        # The text of a sampled run is not the model's: neither content nor fingerprint may see it.
        if populated:
            return Decision("SKIP", "--empty and --sample leave an existing stream table as it is", Work.NOTHING)
        return Decision("SKIP", "--empty or --sample: a stand-in until the first real run", Work.PLACEHOLDER)
    if suspended_by_user(state, config):
        return Decision("SKIP", SUSPENDED_BY_USER, Work.NOTHING)
    if state is None or not populated:
        _require_agreement(facts)
        return _told_held(facts, Decision("FULL", _first_load(facts), Work.LOAD, is_first=True))
    changed = _changed(facts, state)
    if changed and not facts.deploys:
        # To alter it back would undo what somebody has just deployed, at the cost of two loads.
        return Decision("SKIP", SUPERSEDED, Work.NOTHING)
    if changed and not facts.full_refresh and (kept := _kept(config, changed)):
        return kept
    if not changed and not facts.full_refresh and _suspended_by(state, "ERRORS", config):
        return Decision("SKIP", f"suspended after {state.consecutive_errors} errors", Work.NOTHING)
    if facts.not_due and not changed and not facts.full_refresh:
        return Decision("SKIP", facts.not_due, Work.NOTHING)
    if facts.previous_storage_missing or facts.shows_another:
        _require_agreement(facts)  # nothing is served
    if facts.apart:
        return Decision("SKIP", f"{facts.apart}; {NOTHING_NEWER}", Work.NOTHING)
    return _told_held(facts, _by_its_state(facts, state, changed) or _by_its_sources(facts, state))


def _by_its_state(facts: Facts, state: StreamTable, changed: str) -> Decision | None:
    """All rows anew, whatever moved."""
    config = facts.config
    if facts.previous_storage_missing:
        return Decision("REINITIALIZE", "its storage is gone", Work.LOAD)
    if facts.shows_another:
        return Decision("REINITIALIZE", "its name showed something else", Work.LOAD)
    if changed:
        return Decision("ALTER", changed, Work.LOAD)
    if state.needs_reinit:
        return Decision("REINITIALIZE", state.reinit_reason or "it was marked to be loaded anew", Work.LOAD)
    if facts.storage_touched:
        if config.refresh_mode == "differential" and not facts.full_refresh:
            raise ModelError(
                "TRK-213",
                facts.storage_touched,
                remedy="Find out who writes there. `dbt run --full-refresh` loads it anew.",
            )
        return Decision("REINITIALIZE", facts.storage_touched, Work.LOAD)
    if facts.full_refresh:
        return Decision("FULL", "--full-refresh", Work.OVERWRITE)
    return None


def _by_its_sources(facts: Facts, state: StreamTable) -> Decision:
    config = facts.config
    moved = moved_sources(state.frontier, facts.frontier)
    if not moved and not facts.unversioned:
        if facts.held:
            return Decision("SKIP", f"{facts.held}; {NOTHING_NEWER}", Work.NOTHING)
        return Decision("NO_DATA", _nothing_moved(facts), Work.NOTHING)
    why = "; ".join((*moved, *facts.unversioned))
    if facts.unversioned or not config.differential:
        return instead(config, Decision("FULL", why, Work.OVERWRITE))
    return Decision("DIFFERENTIAL", why, Work.DELTA)


def _nothing_moved(facts: Facts) -> str:
    waits = (f"{upstream}, which it reads, is suspended" for upstream in facts.suspended)
    return "; ".join(("no source moved", *waits))


def _told_held(facts: Facts, decision: Decision) -> Decision:
    if not facts.held or decision.work is Work.NOTHING:
        return decision
    reason = f"{decision.reason}; {facts.held}; what is read is an older state, on which its branches agree"
    return replace(decision, reason=reason)


def _require_agreement(facts: Facts) -> None:
    if facts.apart:
        raise ModelError(
            "TRK-216",
            f"its branches agree on no state of what they share: {facts.apart}",
            remedy="Refresh them in one run (`dbt run --select +model`); `trickle graph` shows where they part.",
        )


def instead(config: StreamTableConfig, decision: Decision) -> Decision:
    """A full refresh where a differential one was due: the user may have forbidden it."""
    if config.refresh_mode == "differential" and decision.work in (Work.OVERWRITE, Work.LOAD):
        raise ModelError(
            "TRK-203",
            f"`refresh_mode: differential` forbids the full refresh that is due ({decision.reason})",
            remedy="Use `refresh_mode: auto` (or `full`), or run once with --full-refresh to go on from there.",
        )
    return decision


def moved_sources(old: Mapping[str, SourceVersion], new: Mapping[str, SourceVersion]) -> tuple[str, ...]:
    """One phrase per source that is not in the state that the stream table was computed from."""
    moved = []
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        if after is None:
            moved.append(f"{key} is not read any more")
        elif before is None:
            moved.append(f"{after.relation} is read for the first time")
        elif before.table_id != after.table_id:
            moved.append(f"{after.relation} was replaced")
        elif not after.same_state(before):
            moved.append(f"{after.relation} moved from version {before.version} to {after.version}")
    return tuple(moved)


def suspended_by_user(state: StreamTable | None, config: StreamTableConfig) -> bool:
    return config.status == "suspended" or _suspended_by(state, "USER", config)


def _suspended_by(state: StreamTable | None, whom: str, config: StreamTableConfig) -> bool:
    return config.status is None and state is not None and state.suspended_by == whom


def _first_load(facts: Facts) -> str:
    if facts.state is None or not facts.state.is_populated:
        return "first load"
    return "the public name was something else than this stream table"


def _changed(facts: Facts, state: StreamTable) -> str:
    if facts.fingerprint != state.fingerprint:
        return "the query changed"
    return "its layout in the warehouse changed" if facts.layout != state.layout else ""


def _kept(config: StreamTableConfig, changed: str) -> Decision | None:
    """Where a change is not to be applied."""
    match config.on_configuration_change:
        case "fail":
            raise ConfigError(
                "TRK-106",
                f"{changed}, and `on_configuration_change` is `fail`",
                remedy="Set it to `apply`, or bring the model back to what was deployed.",
            )
        case "continue":
            return Decision("SKIP", f"{changed}; {KEPT_OLD_DEFINITION}", Work.NOTHING)
        case _:
            return None


def predicted(state: StreamTable | None, decision: Decision) -> int | None:
    """Milliseconds, by what was measured of this stream table; none where nothing was, or nothing is done."""
    if state is None or decision.action in ("NO_DATA", "SKIP"):
        return None
    if decision.action != "DIFFERENTIAL":
        return state.last_full_ms
    counts = list(decision.changed.values())
    touched = None if None in counts else sum(count or 0 for count in counts)
    if decision.choice is not None:
        touched = decision.choice.touched
    measured = (state.untold if touched is None else state.told).measured
    return cost.predicted_ms(measured, touched or 0) if measured else state.last_diff_ms
