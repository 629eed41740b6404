"""The least and the greatest, brought forward while rows only come, of every type that they are kept of."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from engine_world import World

from dbt_trickle.apply import few
from dbt_trickle.apply.unrestricted import ALL_ROWS

pytestmark = pytest.mark.spark

COLUMNS = {
    "b": "boolean",
    "i": "int",
    "n": "decimal(31,4)",
    "d": "double",
    "f": "float",
    "s": "string",
    "day": "date",
    "at": "timestamp",
}
CALLS = ", ".join(f"min({name}) AS low_{name}, max({name}) AS high_{name}" for name in COLUMNS)
BITS = "bit_and(i) AS both, bit_or(i) AS either, min(i) FILTER (WHERE b) AS low_if, sum(n) AS total"
ONE = f"SELECT {CALLS}, {BITS} FROM {{}}"
GROUPS = f"SELECT k, {CALLS}, {BITS} FROM {{}} GROUP BY k"
NULLS = ", ".join(["NULL"] * len(COLUMNS))
# Each commit, and whether rows only came.
CHANGES = (
    (f"INSERT INTO {{}} VALUES (1, {NULLS}), (NULL, {NULLS}), (2, {NULLS})", True),
    (
        "INSERT INTO {} VALUES (1, true, 6, 123456789012345678901234567.1234, double('NaN'), float('-Infinity'), 'b', "
        "date'1600-01-01', timestamp'1969-12-31 23:59:59.999999'), "
        "(2, false, -7, -0.0001, -0.0D, 0.0F, '', date'9999-12-31', timestamp'1901-01-01 00:00:00')",
        True,
    ),
    # Copies of one row, which count once to an extreme and each time to a sum.
    (
        "INSERT INTO {} SELECT 2, true, 12, 999999999999999999999999999.9999, 0.0D, -0.0F, 'ä', date'2000-02-29', "
        "timestamp'2030-01-01 12:00:00' FROM range(3)",
        True,
    ),
    ("INSERT INTO {} VALUES (3, false, 5, 1.5, double('Infinity'), float('NaN'), 'Ä', NULL, NULL)", True),
    ("UPDATE {} SET i = 3, d = 1D WHERE k = 2", False),
    ("INSERT INTO {} VALUES (2, true, -1, 2.5, -1e308D, 1F, 'zz', NULL, NULL)", True),
    ("DELETE FROM {} WHERE k = 1 OR s = 'zz'", False),
    (f"INSERT INTO {{}} VALUES (1, {NULLS})", True),
    ("DELETE FROM {} WHERE true", False),
    ("INSERT INTO {} VALUES (7, true, 1, 1, 1D, 1F, 'x', date'2020-01-01', timestamp'2020-01-01 00:00:00')", True),
)


class TestExtremes:
    @pytest.mark.parametrize("most", [few.MOST, 0])
    @pytest.mark.parametrize("query", [ONE, GROUPS], ids=["one", "groups"])
    def test_they_are_what_they_are_of_all_rows(
        self, world: World, query: str, most: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(few, "MOST", most)
        name = f"extremes_{'one' if query is ONE else 'groups'}_{most}"
        table = f"{world.schema}.of_{name}"
        columns = ", ".join(f"{column} {kind}" for column, kind in COLUMNS.items())
        world.sql(f"CREATE TABLE {table} (k int, {columns}) USING delta")
        request = world.request(name, query.format(table), refresh_mode="differential")
        [loaded] = world.run(request)
        told = "\n".join(loaded.warnings)
        assert ("will be the error TRK-203" in told, bool(told)) == (query is ONE, query is ONE), told
        for change, grows in CHANGES:
            world.sql(change.format(table))
            [(action, reason)] = world.attempt([request])
            about = f"{change}\n{action}: {reason}"
            if grows:
                assert (action, "brought forward from their stored state" in reason) == ("DIFFERENTIAL", True), about
            elif query is GROUPS:
                assert "touched groups computed anew (rows went, and " in reason, about
            else:
                # The full refresh that is due is forbidden; asked for by hand, it is gone on from.
                assert (action, ALL_ROWS in reason) == ("TRK-203", True), about
                world.run(replace(request, full_refresh=True))
            assert self.rows(world, request.query) == self.rows(world, f"SELECT * FROM {request.public.sql}"), about

    def rows(self, world: World, query: str) -> Counter[str]:
        """Of 0.0 and -0.0 either may be the least."""
        found = world.looking.query(f"SELECT to_json(struct(*)) AS row FROM (\n{query}\n)")
        return Counter(str(row["row"]).replace("-0.0,", "0.0,") for row in found)
