"""Failures of a difference behind which the query itself may well be computed."""

from __future__ import annotations

import pytest

from dbt_trickle.errors import WarehouseError
from dbt_trickle.run.refresh import only_anew


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` … SQLSTATE: 22012\n== SQL ==", "(DIVIDE_BY_ZERO)"),
        ("[CAST_INVALID_INPUT] The value 'x' of the type … SQLSTATE: 22018", "(CAST_INVALID_INPUT)"),
        ("[INVALID_ARRAY_INDEX.WITHOUT_X] The index 3 … SQLSTATE: 22003", "(INVALID_ARRAY_INDEX)"),
        ("[USER_RAISED_EXCEPTION] [TRK-315] too many of the first rows went SQLSTATE: P0001", "first rows"),
        ("[USER_RAISED_EXCEPTION] [TRK-313] a sum is infinite SQLSTATE: P0001", ""),
        ("[TABLE_OR_VIEW_NOT_FOUND] The table … SQLSTATE: 42P01", ""),
        ("[DELTA_CONCURRENT_APPEND] … SQLSTATE: 2D521", ""),
    ],
)
def test_what_a_value_brings_is_asked_of_the_whole_query(said: str, why: str) -> None:
    found = only_anew(WarehouseError("TRK-301", said))
    assert (why in found, bool(found)) == (True, bool(why))
