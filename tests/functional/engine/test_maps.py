"""Sources with maps: their changes are told by the entries, and a stream table over them is maintained."""

from __future__ import annotations

from collections import Counter

import pytest
from engine_world import World

pytestmark = pytest.mark.spark

QUERIES = {
    "keys_of": "select k, tag from {t} lateral view outer explode(map_keys(tags)) e as tag",
    "looked_up": "select tags['a'] as a, count(*) as n from {t} group by tags['a']",
    "shown": "select k, tags, prices from {t} where k < 9",
    "shown_by_key": "select tags['a'] as a, max_by(tags, k) as tags, count(*) as n from {t} group by tags['a']",
    "beside_windows": "select k, tags, rank() over (partition by size(tags) order by k) as place from {t}",
    "first_rows": "select k, tags from {t} order by k limit 9",
    "filtered": "select k, size(tags) as s from {t} where tags['b'] > 1 or prices['x'] <> 0",
}
CHANGES = (
    "insert into {t} values (4, map('a', 7, 'c', 1), map('x', 1.5D)), (4, map('a', 7, 'c', 1), map('x', 1.5D))",
    "update {t} set tags = map('b', 2, 'a', 1) where k = 1",  # the same entries in another order
    "update {t} set tags = map_concat(tags, map('z', k)), prices = map('x', -0.0D) where k <= 2",
    "delete from {t} where k = 4",
    "update {t} set tags = null where k = 2",
    "insert overwrite {t} values (1, map('a', 1), null), (9, map(), map('x', double('NaN')))",
)


@pytest.mark.parametrize("feed", ["true", "false"])
def test_maps(world: World, feed: str) -> None:
    table = f"{world.schema}.maps_{feed}"
    world.sql(
        f"CREATE TABLE {table} (k int, tags map<string,int>, prices map<string,double>) USING delta "
        f"TBLPROPERTIES ('delta.enableChangeDataFeed' = '{feed}')",
        f"INSERT INTO {table} VALUES (1, map('a', 1, 'b', 2), map('x', 0.0D)), (2, map('b', 3), null), (3, null, null)",
    )
    queries = {f"{name}_{feed}": text.format(t=table) for name, text in QUERIES.items()}
    requests = [world.request(name, text, refresh_mode="differential") for name, text in queries.items()]
    world.run(*requests)
    for statement in CHANGES:
        world.sql(statement.format(t=table))
        for request, outcome in zip(requests, world.run(*requests), strict=True):
            assert outcome.refresh.action in ("DIFFERENTIAL", "NO_DATA"), outcome.refresh.reason
            shown, due = (rows(world, text) for text in (f"SELECT * FROM {request.public.sql}", request.query))
            assert shown == due, f"{request.public}, {statement}: {outcome.refresh.reason}"


def test_a_map_within_another_type_is_recomputed(world: World) -> None:
    table = f"{world.schema}.nested_maps"
    world.sql(
        f"CREATE TABLE {table} (k int, tags array<map<string,int>>) USING delta",
        f"INSERT INTO {table} VALUES (1, array(map('a', 1)))",
    )
    text = f"select k, size(tags) as s from {table}"
    world.run(world.request("nested", text))
    world.sql(f"INSERT INTO {table} VALUES (2, null)")
    [outcome] = world.run(world.request("nested", text))
    assert (outcome.refresh.action, "holds a map" in outcome.refresh.reason) == ("FULL", True)
    [(code, _)] = world.attempt([world.request("strict", text, refresh_mode="differential")])
    assert code == "TRK-203"


def test_what_is_grouped_by_a_map_is_recomputed(world: World) -> None:
    table = f"{world.schema}.map_keys"
    world.sql(f"CREATE TABLE {table} (k int, tags map<string,int>) USING delta")
    text = f"select count(*) as n from {table} group by tags"
    [(code, why)] = world.attempt([world.request("by_map", text, refresh_mode="differential")])
    assert (code, "holds a map" in why) == ("TRK-203", True), why


def test_a_key_may_have_a_map(world: World) -> None:
    table = f"{world.schema}.keyed_maps"
    world.sql(
        f"CREATE TABLE {table} (k int, tags map<string,int>, v int) USING delta",
        f"INSERT INTO {table} VALUES (1, map('a', 1), 1), (1, map('b', 1), 2), (2, null, 3)",
    )
    config = {"primary_key": ("k", "tags"), "refresh_mode": "differential"}
    request = world.request("keyed_by_map", f"select k, tags, v from {table}", **config)
    world.run(request)
    world.sql(f"UPDATE {table} SET v = v + 10 WHERE k = 1", f"DELETE FROM {table} WHERE k = 2")
    [outcome] = world.run(request)
    assert outcome.refresh.action == "DIFFERENTIAL", outcome.refresh.reason
    assert rows(world, f"SELECT * FROM {request.public.sql}") == rows(world, request.query)


def test_a_looked_up_map_is_recomputed(world: World) -> None:
    """Whether it is another one than before cannot be asked."""
    table = f"{world.schema}.one_map"
    world.sql(f"CREATE TABLE {table} (k int, tags map<string,int>) USING delta")
    text = f"select k, size((select tags from {table})) as s from {table}"
    [(code, why)] = world.attempt([world.request("map_looked_up", text, refresh_mode="differential")])
    assert (code, "holds a map" in why) == ("TRK-203", True)


def rows(world: World, query: str) -> Counter[str]:
    return Counter(str(tuple(row.values())) for row in world.looking.query(query))
