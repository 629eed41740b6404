"""Whatever happens to a source has one outcome, and the stream table is its query after it, or what it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from engine_world import Rows, World
from source_events import Case, load

from dbt_trickle.catalog.state import ERROR
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import TrickleError
from dbt_trickle.run.request import Request
from dbt_trickle.run.session import Session

pytestmark = pytest.mark.spark

EVENTS, KINDS = load()
CASES = [*EVENTS, *KINDS]
DROPPED = "dropped for good"
RECOMPUTED = ("FULL", "REINITIALIZE")


@dataclass(frozen=True)
class Seen:
    """What a refresh said, and what readers had before and after it."""

    outcome: str  # its action, or its error's code
    reason: str
    before: Rows | None  # none: it was refused at its first load; or not asked, because it is not to be refused
    after: Rows | None
    wanted: Rows | None  # none: the query does not compile any more


@dataclass(frozen=True)
class Lived:
    """All cases at once: a source each, one refresh of all, the events, and another refresh of all."""

    world: World
    requests: Mapping[tuple[str, str], Request]  # by case and mode
    seen: Mapping[tuple[str, str], Seen]


@pytest.fixture(scope="class")
def world(connect: Callable[[], Session]) -> World:
    return World.create(connect, ProjectSettings(catalog_schema="events_catalog", change_schema="events_changes"))


@pytest.fixture(scope="class")
def lived(world: World, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    folder: Path = tmp_path_factory.mktemp("sources")
    names: dict[str, dict[str, Any]] = {
        case.name: {
            "t": f"{world.schema}.source_{number}",
            "other": f"{world.schema}.other_{number}",
            "path": folder / str(number),
        }
        for number, case in enumerate(CASES)
    }
    requests: dict[tuple[str, str], Request] = {}
    for number, case in enumerate(CASES):
        tell(world, case, case.create, names[case.name])
        for mode in ("differential", "auto"):
            query = case.query.format(**names[case.name])
            # Of these few rows most change: what is looked at is which of them can be brought forward.
            config = {"refresh_mode": mode, "max_change_ratio": 1.0, **case.config}
            requests[case.name, mode] = world.request(f"{mode}_{number}", query, **config)
    first = world.attempt(list(requests.values()))
    refused = {case.name for case in CASES if case.is_refused}
    for (name, mode), (outcome, reason) in zip(requests, first, strict=True):
        assert outcome == "FULL" or (mode == "differential" and name in refused), (name, outcome, reason)
    before = {
        key: found(world, f"SELECT * FROM {request.public.sql}") if key[0] in refused else None
        for key, request in requests.items()
    }
    for case in CASES:
        tell(world, case, case.do, names[case.name])
    told = world.attempt(list(requests.values()))
    seen = {
        key: Seen(
            *answer, before[key], found(world, f"SELECT * FROM {request.public.sql}"), found(world, request.query)
        )
        for (key, request), answer in zip(requests.items(), told, strict=True)
    }
    return Lived(world, requests, seen)


def tell(world: World, case: Case, statements: tuple[str, ...], names: Mapping[str, Any]) -> None:
    try:
        world.sql(*(text.format(**names) for text in statements))
    except TrickleError as problem:
        raise AssertionError(f"{case.name}: {problem}") from None


def found(world: World, query: str) -> Rows | None:
    try:
        return world.rows(query)
    except TrickleError:
        return None


class TestSources:
    @pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
    def test_it_has_one_outcome(self, case: Case, lived: Lived) -> None:
        seen = lived.seen[case.name, "differential"]
        assert (seen.outcome, case.reason in seen.reason) == (case.differential, True), seen
        require_right(seen)
        instead = lived.seen[case.name, "auto"]
        assert instead.outcome in by_auto(case), instead
        require_right(instead)

    def test_nothing_is_left_to_do(self, lived: Lived) -> None:
        """A second look finds the same versions; what was refused is refused again, and a file has none."""
        requests = [lived.requests[case.name, "differential"] for case in CASES]
        for case, (outcome, reason) in zip(CASES, lived.world.attempt(requests), strict=True):
            expected = case.differential if case.is_refused else "NO_DATA"
            assert outcome == expected, (case.name, outcome, reason)

    def test_a_source_that_stays_away_ends_in_an_error_that_is_seen(self, lived: Lived) -> None:
        request = lived.requests[DROPPED, "differential"]
        before = found(lived.world, f"SELECT * FROM {request.public.sql}")
        limit = lived.world.settings.max_consecutive_errors
        while (state := lived.world.states()[request.pgt_id]).consecutive_errors < limit:
            assert state.status != ERROR
            assert lived.world.attempt([request])[0][0] == "TRK-202"
        assert (state.status, state.suspended_by) == (ERROR, "ERRORS")
        assert "does not exist" in (state.last_error or "")
        assert lived.world.attempt([request])[0][:2] == ("SKIP", f"suspended after {limit} errors")
        assert found(lived.world, f"SELECT * FROM {request.public.sql}") == before


def by_auto(case: Case) -> tuple[str, ...]:
    """The same, or all rows anew where nobody tells how many have changed."""
    if case.auto:
        return RECOMPUTED if case.auto == "recomputed" else (case.auto,)
    return (case.differential, *(["FULL"] if case.differential == "DIFFERENTIAL" else []))


def require_right(seen: Seen) -> None:
    """Its query's rows, or where it was refused, the rows that it had."""
    assert seen.after == (seen.before if seen.outcome.startswith("TRK-") else seen.wanted), seen
