"""Whether to bring in what changed or to compute all rows anew: by what either took of late, and before that is
known, by how much changed.

A measurement may be wrong for tomorrow, and what is never chosen is never measured again. So each differential
refresh counts for three at most, and after some full ones in a row a differential one is tried, however much
changed. What is known of changes of which the sources' histories tell how many rows they touched (`told`) and of the
others (`untold`: a table that was made anew, overwritten or restored) is kept apart: each of the two is measured, and
tried, for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median

from dbt_trickle.catalog.state import Experience, StreamTable

KEPT = 3
# A prediction holds for changes of about the measured sizes.
REACH = 4
# What a full refresh must save for all rows to be written, and read by those downstream, as new ones. Below some
# seconds one measurement may be noise: the first statement of its kind in a process takes that much longer. Where all
# that are kept say so, it is no noise.
SAVES_SHARE, SAVES_MS, AGREED_MS = 0.2, 5000, 1000
FIRST_PATIENCE, LONGEST_PATIENCE = 2, 64


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
    measured = _past(state, touched).measured
    if state.last_full_ms is None or not measured:
        return False
    if touched is None:
        return True
    sizes = [rows for _, rows in measured]
    return touched <= REACH * max(sizes) and REACH * touched >= min(sizes)


def choose(state: StreamTable, moved: Sequence[Moved], max_change_ratio: float) -> Choice:
    known = can_predict(state, moved)
    choice = _by_cost(state, moved) if known else _by_share(moved, max_change_ratio)
    past = _past(state, choice.touched)
    # What tries were in vain for says nothing of changes of another size.
    patience = max(past.patience, FIRST_PATIENCE) if known else FIRST_PATIENCE
    if choice.differential or past.fulls_chosen < patience:
        return choice
    reason = f"{choice.reason}; tried after {past.fulls_chosen} full refreshes"
    return replace(choice, differential=True, reason=reason, tried=True)


def begun(state: StreamTable, choice: Choice) -> StreamTable:
    """The state while a differential refresh is tried: should it fail, the next one is not to be tried as well."""
    past = _past(state, choice.touched)
    patience = min(2 * max(past.patience, FIRST_PATIENCE), LONGEST_PATIENCE)
    return _with(state, choice, replace(past, fulls_chosen=0, patience=patience))


def remembered(state: StreamTable, choice: Choice, spent_ms: int) -> StreamTable:
    """The state after a refresh that was chosen so and took that long."""
    past = _past(state, choice.touched)
    if not choice.differential:
        return _with(state, choice, replace(past, fulls_chosen=past.fulls_chosen + 1))
    now = (spent_ms, choice.touched or 0)
    measured = (*past.measured, now)[-KEPT:]
    if not choice.tried:
        return _with(state, choice, Experience(measured, patience=FIRST_PATIENCE))
    if not _is_worth(spent_ms - (state.last_full_ms or 0), spent_ms, AGREED_MS):
        # What was measured before of such changes spoke against it, and is not to outvote it.
        measured = (*(each for each in past.measured if not _is_like(each[1], now[1])), now)[-KEPT:]
    return _with(state, choice, replace(_past(begun(state, choice), choice.touched), measured=measured))


def _is_like(rows: int, others: int) -> bool:
    return rows <= REACH * others and others <= REACH * rows


def predicted_ms(measured: Sequence[tuple[int, int]], touched: int) -> int:
    """A fixed cost and one per row, as most of the measurements have it (Theil and Sen's line)."""
    slopes = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in combinations(measured, 2) if a[1] != b[1]]
    per_row = max(0.0, median(slopes)) if slopes else 0.0
    fixed = max(0.0, median(ms - per_row * rows for ms, rows in measured))
    return round(fixed + per_row * touched)


def _by_cost(state: StreamTable, moved: Sequence[Moved]) -> Choice:
    touched = _touched(moved)
    measured, full = _past(state, touched).measured, state.last_full_ms or 0
    differential = predicted_ms(measured, touched or 0)
    told = f"{_told(moved)}; predicted {differential} ms, a full refresh {full} ms"
    return Choice(not _is_dearer(measured, differential, full), told, touched)


def _is_dearer(measured: Sequence[tuple[int, int]], differential: int, full: int) -> bool:
    if _is_worth(differential - full, differential, SAVES_MS):
        return True
    if len(measured) < KEPT:
        return False
    # Even if it were as much quicker than predicted as the quickest of them.
    quickest = differential + min(ms - predicted_ms(measured, rows) for ms, rows in measured)
    return _is_worth(quickest - full, quickest, AGREED_MS)


def _is_worth(saved: int, differential: int, least: int) -> bool:
    return saved >= max(SAVES_SHARE * differential, least)


def _by_share(moved: Sequence[Moved], max_change_ratio: float) -> Choice:
    """The source of which most changed decides: a small one that is joined may touch every row of the result."""
    for each in moved:
        if each.share is None:
            return Choice(False, _told(moved), _touched(moved))
        if each.share > max_change_ratio:
            return Choice(False, f"{each}, max_change_ratio is {max_change_ratio:g}", _touched(moved))
    return Choice(True, _told(moved), _touched(moved))


def _past(state: StreamTable, touched: int | None) -> Experience:
    return state.untold if touched is None else state.told


def _with(state: StreamTable, choice: Choice, past: Experience) -> StreamTable:
    return replace(state, untold=past) if choice.touched is None else replace(state, told=past)


def _told(moved: Sequence[Moved]) -> str:
    return "; ".join(map(str, moved))


def _touched(moved: Sequence[Moved]) -> int | None:
    counts = [each.touched for each in moved]
    return None if any(count is None for count in counts) else sum(count or 0 for count in counts)
