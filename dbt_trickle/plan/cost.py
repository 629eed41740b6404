"""Whether to bring in what changed or to compute all rows anew: by what either took of late, and before that is
known, by how much changed.

A measurement may be wrong for tomorrow, and what is never chosen is never measured again. So each differential
refresh counts for three at most, and after some full ones in a row a differential one is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median

from dbt_trickle.catalog.state import StreamTable

KEPT = 3
# A prediction holds for changes of about the measured sizes.
REACH = 4
# What a full refresh must save for all rows to be written, and read by those downstream, as new ones. Below some
# seconds it is noise that would choose: the first statement of its kind in a process takes that much longer.
SAVES_SHARE, SAVES_MS = 0.2, 5000
FIRST_PATIENCE, LONGEST_PATIENCE = 2, 64
# Above this nobody need try.
HOPELESS = 0.5


@dataclass(frozen=True)
class Moved:
    """How much of one source changed; `touched`: none where its history does not tell, `rows`: where nobody asked."""

    source: str
    touched: int | None
    rows: int | None = None

    @property
    def share(self) -> float | None:
        if self.touched is None or self.rows is None:
            return None
        return self.touched / max(self.rows, self.touched, 1)

    def __str__(self) -> str:
        if self.touched is None:
            return f"how many rows of {self.source} changed is not told"
        of = f" of {self.rows} rows" if self.rows is not None else " row" if self.touched == 1 else " rows"
        return f"{self.touched}{of} of {self.source} changed"


@dataclass(frozen=True)
class Choice:
    differential: bool
    reason: str
    touched: int | None = None  # rows of sources; none where their histories do not tell
    tried: bool = False  # against what is known, to know it anew


def can_predict(state: StreamTable, moved: Sequence[Moved]) -> bool:
    """Whether measurements suffice; else the sources' sizes have to be asked for."""
    touched = _touched(moved)
    if touched is None or state.last_full_ms is None or not state.measured:
        return False
    return touched <= REACH * max(rows for _, rows in state.measured)


def choose(state: StreamTable, moved: Sequence[Moved], max_change_ratio: float) -> Choice:
    choice = _by_cost(state, moved) if can_predict(state, moved) else _by_share(moved, max_change_ratio)
    hopeless = any(each.share is None or each.share > HOPELESS for each in moved) and not can_predict(state, moved)
    if choice.differential or hopeless or state.fulls_chosen < max(state.patience, FIRST_PATIENCE):
        return choice
    reason = f"{choice.reason}; tried after {state.fulls_chosen} full refreshes"
    return replace(choice, differential=True, reason=reason, tried=True)


def remembered(state: StreamTable, choice: Choice, spent_ms: int) -> StreamTable:
    """The state after a refresh that was chosen so and took that long."""
    if not choice.differential:
        return replace(state, fulls_chosen=state.fulls_chosen + 1)
    now = ((spent_ms, choice.touched),) if choice.touched is not None else ()
    if choice.tried:
        patience = min(2 * max(state.patience, FIRST_PATIENCE), LONGEST_PATIENCE)
        return replace(state, measured=now, fulls_chosen=0, patience=patience)
    return replace(state, measured=(*state.measured, *now)[-KEPT:], fulls_chosen=0, patience=FIRST_PATIENCE)


def predicted_ms(measured: Sequence[tuple[int, int]], touched: int) -> int:
    """A fixed cost and one per row, as most of the measurements have it (Theil and Sen's line)."""
    slopes = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in combinations(measured, 2) if a[1] != b[1]]
    per_row = max(0.0, median(slopes)) if slopes else 0.0
    fixed = max(0.0, median(ms - per_row * rows for ms, rows in measured))
    return round(fixed + per_row * touched)


def _by_cost(state: StreamTable, moved: Sequence[Moved]) -> Choice:
    touched = _touched(moved) or 0
    full, differential = state.last_full_ms or 0, predicted_ms(state.measured, touched)
    saved = differential - full
    told = f"{_told(moved)}; predicted {differential} ms, a full refresh {full} ms"
    return Choice(saved < max(SAVES_SHARE * differential, SAVES_MS), told, touched)


def _by_share(moved: Sequence[Moved], max_change_ratio: float) -> Choice:
    """The source of which most changed decides: a small one that is joined may touch every row of the result."""
    for each in moved:
        if each.share is None or each.share > max_change_ratio:
            return Choice(False, f"{each}, max_change_ratio is {max_change_ratio:g}", _touched(moved))
    return Choice(True, _told(moved), _touched(moved))


def _told(moved: Sequence[Moved]) -> str:
    return "; ".join(map(str, moved))


def _touched(moved: Sequence[Moved]) -> int | None:
    counts = [each.touched for each in moved]
    return None if any(count is None for count in counts) else sum(count or 0 for count in counts)
