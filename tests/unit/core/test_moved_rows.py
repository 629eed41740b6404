"""How many rows a commit of ours brought and took, by its marker and its metrics."""

from __future__ import annotations

import pytest

from dbt_trickle.formats.base import Commit, Marker
from dbt_trickle.run.recover import moved_rows

BIG = {"numOutputRows": "998", "numCopiedRows": "997", "numDeletedRows": "3"}


def marker(**given: object) -> Marker:
    return Marker(5, 2, 1, "DIFFERENTIAL", "", "", {}, "", "run", 10, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "metrics", "moved"),
    [
        ({"work": "replace", "touched": 3}, BIG, (1, 3)),
        # Nothing is written where all that was touched went, and then Delta counts no rows at all.
        ({"work": "replace", "touched": 2}, {"numRemovedFiles": "1", "numFiles": "0"}, (0, 2)),
        ({"work": "replace", "moved": (4, 5), "touched": 7}, BIG, (4, 5)),
        ({"work": "replace", "moved": (0, 2), "touched": 2}, {"numRemovedFiles": "1"}, (0, 2)),
        ({"work": "append"}, {"numOutputRows": "4"}, (4, 0)),
        ({"work": "overwrite"}, {"numOutputRows": "4"}, (4, 10)),
        ({"work": "merge"}, {"numTargetRowsInserted": "2", "numTargetRowsUpdated": "1"}, (3, 1)),
    ],
)
def test_moved_rows(given: dict[str, object], metrics: dict[str, str], moved: tuple[int, int]) -> None:
    commit = Commit(3, "2026-01-01T00:00:00.000+00:00", "WRITE", marker(**given), metrics)
    assert moved_rows(commit, marker(**given)) == moved
    assert Marker.from_json(marker(**given).to_json()) == marker(**given)
