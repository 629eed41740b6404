"""Texts whose rows can be told although `row_number() = 1` chooses among rows that tie, and texts left alone."""

from __future__ import annotations

import pytest

from dbt_trickle.tree.winners import with_all_that_tie

NUMBERED = "select id, grp, row_number() over (partition by grp order by amount) as n from s.t VERSION AS OF 3"
TOLD = {
    "asked for the first": "select id, grp from ({}) q where n = 1",
    "with its number": "select * from ({}) where grp > 1 and (1 = n)",
    "joined": "with d as ({}) select d.*, c.x from d join s.c VERSION AS OF 2 c on c.id = d.id where d.n = 1",
}
LEFT_ALONE = {
    "not filtered": "{}",
    "the second": "select id from ({}) where n = 2",
    "or something else": "select id from ({}) where n = 1 or id = 3",
    "not the first": "select id from ({}) where not n = 1",
    "grouped": "select grp, count(*) as c from ({}) where n = 1 group by grp",
    "aggregated": "select max(id) as m from ({}) where n = 1",
    "beside rows that may stay alone": "select c.id from s.c left join (select * from ({}) where n = 1) q using (id)",
    "denied": "select id from s.c c where not exists (select 1 from ({}) q where n = 1 and q.id = c.id)",
    "in a subquery": "select id from s.c where id in (select id from ({}) where n = 1)",
    "a limit": "select id from ({}) where n = 1 limit 3",
    "distinct": "select distinct grp from ({}) where n = 1",
    "shown otherwise": "select id, n * 2 as m from ({}) where n = 1",
    "called otherwise": "select id from (select id, n as m from ({})) where m = 1",
    "read twice": "with d as ({}) select d.id from d join d e on d.id = e.id where d.n = 1",
    "another window": "select id, first(grp) over (order by id) as f from ({}) where n = 1",
    "a union": "select id from ({}) where n = 1 union all select id from s.c",
    "asked otherwise": "select id from ({}) where (n = 1) = false",
    "asked for the second in other words": "select id from ({}) where n = 1 + 1",
    "asked as a text": "select id from ({}) where n = '1'",
    "another column of its name": "select q.id, q.n from ({}) q join s.c c on c.id = q.id where c.n = 1",
    "other names": "select q.a from ({}) as q(a, b, c) join s.c x on x.id = q.a where x.n = 1 and q.c = 2",
    "joined by it": "select q.id from ({}) q join s.c using (n) where q.n = 1",
    "joined by all names": "select q.id from ({}) q natural join s.c where q.n = 1",
    "asked below it": "select id, n from (select id, row_number() over (order by x) as n from s.t where t.n = 1)",
    "any": "select any(id > 1) as s from ({}) where n = 1",
    "a function of a schema": "select builtin.max(id) as m from ({}) where n = 1",
    "a sample": "select id from (select * from ({}) tablesample (5 rows)) where n = 1",
    "not one query": "select id from ({}) where n = 1; select 2",
}


@pytest.mark.parametrize("query", TOLD.values(), ids=TOLD)
def test_all_that_tie(query: str) -> None:
    assert with_all_that_tie(query.format(NUMBERED)) == query.format(NUMBERED.replace("row_number", "rank"))


@pytest.mark.parametrize("query", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_where_it_is_not_certain(query: str) -> None:
    assert with_all_that_tie(query.format(NUMBERED)) is None
