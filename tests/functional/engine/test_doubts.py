"""Queries that Spark plans as they were understood, and that a refresh would compute otherwise: they are recomputed."""

from __future__ import annotations

import re

import pytest
from capture_looked import Remembering
from engine_world import World

from dbt_trickle.errors import ModelError

pytestmark = pytest.mark.spark

AGAIN = "of a subquery may come out differently a second time"
DOUBTED = {
    "select k from {t} where k in (select s from {u})": "IN compares int with string",
    "select k from {u} where day not in (select s from {u})": "IN compares date with string",
    "select s from {u} intersect select day from {u}": "INTERSECT compares string with date",
    "select at from {u} except all select s from {u}": "EXCEPT ALL compares timestamp with string",
    "select k, count(*) as n from {t} where d > (select avg(d) from {t}) group by k": AGAIN,
    "select v, count(*) n from (select (select first(s) from {u} u where u.k = t.k) v from {t} t) q group by v": AGAIN,
    "select low, count(*) as n from (select k, min(d) as low from {t} group by k) q group by low": AGAIN,
    "select distinct n, s from (select s, row_number() over (partition by k order by day) n from {u})": AGAIN,
    "select l, count(*) as n from (select collect_list(k) as l from {t} group by d) q group by size(l), l": AGAIN,
}
# The same of types that meet, and of values that are the same again.
MAINTAINED = (
    "select k from {t} where k in (select big from {u})",
    "select k from {t} intersect select big from {u}",
    "select k, count(*) as n from {t} where k > (select avg(k) from {t}) group by k",
    "select low, count(*) as n from (select k, min(s) as low from {u} group by k) q group by low",
    "select t, count(*) as n from (select s, sum(distinct big) as t from {u} group by s) q group by t",
    # Of what is at the top it makes no difference, also where its keys are not shown.
    "select sum(d) as t, collect_list(d) as l from {t} group by k",
    "select day, row_number() over (partition by s, k order by day) as n from {u}",
)


class TestDoubts:
    @pytest.fixture(scope="class")
    def tables(self, world: World) -> dict[str, str]:
        names = {name: f"{world.schema}.{name}" for name in ("t", "u")}
        world.sql(
            f"CREATE TABLE {names['t']} (k int, d double) USING delta",
            f"CREATE TABLE {names['u']} (k int, big bigint, s string, day date, at timestamp) USING delta",
            f"INSERT INTO {names['t']} VALUES (1, 1.5D), (2, 2.5D), (2, -0.0D)",
            f"INSERT INTO {names['u']} VALUES (1, 1, '1', date '2024-01-01', timestamp '2024-01-01 00:00:00')",
        )
        return names

    @pytest.mark.parametrize("text", DOUBTED)
    def test_it_is_recomputed(self, world: World, tables: dict[str, str], text: str) -> None:
        request = world.request("doubted", text.format(**tables), refresh_mode="differential")
        with pytest.raises(ModelError, match=re.escape(DOUBTED[text])) as problem:
            world.run(request)
        assert problem.value.code == "TRK-203"

    @pytest.mark.parametrize("number", range(len(MAINTAINED)))
    def test_it_is_maintained(self, world: World, tables: dict[str, str], number: int) -> None:
        request = world.request(f"kept_{number}", MAINTAINED[number].format(**tables), refresh_mode="differential")
        assert world.run(request)[0].refresh.action == "FULL"

    def test_of_a_query_it_is_asked_once(self, world: World, tables: dict[str, str]) -> None:
        text, why = next(iter(DOUBTED.items()))
        request = world.request("asked_once", text.format(**tables))
        asked = []
        for day in range(3):
            world.sql(f"INSERT INTO {tables['t']} VALUES ({day}, 7D)")
            session = Remembering(world.connect())
            [outcome] = world.run(request, session=session)
            assert outcome.refresh.action == "FULL"
            assert day == 0 or why in outcome.refresh.reason
            asked.append(len([sql for sql in session.answers if "AS `v0`" in sql or sql.startswith("EXPLAIN")]))
        assert asked[0] > 0
        assert asked[1:] == [0, 0]
