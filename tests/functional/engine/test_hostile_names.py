"""Names and values that no SQL would take as they stand, kept up to date by the feed and by the log."""

from __future__ import annotations

from typing import Any

import pytest
from engine_world import World

from dbt_trickle.names import literal, quote
from dbt_trickle.plan.steps import Docs
from dbt_trickle.run.request import Request

pytestmark = pytest.mark.spark

# Of a column: what it is called and its type; a source may have one of ours, an output not. A backtick is left to
# sources that are never updated: Delta cannot update such a column at all.
COLUMNS = {
    'it\'s; "the" id -- /*': "INT",
    "größe / 重さ": "DECIMAL(10,2)",
    "select": "STRING",
    "__pgt_row_id": "STRING",
    "a.b": "INT",
    "$ {0} %s \\": "STRING",
    "part of 'it'": "STRING",
}
ID, SIZE, WORD, LIKE_OURS, DOTTED, TEXT, PART = map(quote, COLUMNS)
VALUES = (
    "it's; \"a\" \\ \\' ${spark.app.name} -- b\n/* c */ `d` %s {0}",
    "'; DROP TABLE x; --",
    "C:\\temp\\new\t",
    "=%2F/é=重\u2028",
    "",
    "__HIVE_DEFAULT_PARTITION",
)
CAPTURES = {"feed": ("rows", "keyed", "groups", "filtered"), "log": ("rows", "groups")}
TEXTS = {"tblproperties": (("it's; --", VALUES[0].replace("\n", " ")),)}


def row(number: int, value: str, part: str | None = None) -> str:
    given = "NULL" if part is None else literal(part)
    text = literal(value)
    return f"({number}, {number}.25, {text}, {text}, {number % 2}, {text}, {given})"


class TestHostileNames:
    def made(self, world: World, capture: str) -> tuple[str, list[Request]]:
        source = world.relation(f"hostile_{capture}").sql
        columns = ", ".join(f"{quote(name)} {kind}" for name, kind in COLUMNS.items())
        world.sql(
            f"CREATE TABLE {source} ({columns}) USING delta PARTITIONED BY ({PART}) TBLPROPERTIES ("
            f"delta.columnMapping.mode = 'name', delta.enableChangeDataFeed = {str(capture == 'feed').lower()})",
            f"INSERT INTO {source} VALUES {', '.join(row(n, value, value) for n, value in enumerate(VALUES))}",
        )
        all_but_ours = [quote(name) for name in COLUMNS if quote(name) != LIKE_OURS]
        queries: dict[str, tuple[str, dict[str, Any]]] = {
            "rows": (f"SELECT {', '.join(all_but_ours)}, {LIKE_OURS} AS `x` FROM {source} AS `it's`", {}),
            "keyed": (f"SELECT {ID}, {TEXT}, {PART} FROM {source}", {"primary_key": (next(iter(COLUMNS)),)}),
            "groups": (
                f"SELECT `x y`.{PART}, sum({SIZE}) AS {SIZE}, count({TEXT}) AS `count(*)`, max({WORD}) AS {WORD} "
                f"FROM {source} AS `x y` GROUP BY {PART}",
                {"partition_by": (list(COLUMNS)[-1],), "docs": Docs(VALUES[0], (("count(*)", VALUES[0]),))},
            ),
            "filtered": (
                f"SELECT o.{DOTTED}, o.{LIKE_OURS} AS `a\"b'c` FROM {source} o WHERE {TEXT} <> {literal(VALUES[0])}",
                {"expose": "table"},
            ),
        }
        return source, [
            world.request(f"{capture}_{name}", query, refresh_mode="differential", cdc_mode=capture, **TEXTS, **config)
            for name, (query, config) in queries.items()
            if name in CAPTURES[capture]
        ]

    def run(self, world: World, requests: list[Request], action: str, by: tuple[str, ...] = ("",)) -> None:
        outcomes = world.run(*requests)
        for request, outcome in zip(requests, outcomes, strict=True):
            told = outcome.refresh
            assert told.action == action, (request.name, told)
            assert any(each in told.reason for each in by), (request.name, told.reason)
            assert world.rows(f"SELECT * FROM {request.public.sql}") == world.rows(request.query), request.name

    def test_they_are_kept_up_to_date(self, world: World) -> None:
        made = [self.made(world, capture) for capture in CAPTURES]
        requests = [request for _, each in made for request in each]
        by = (" by feed (cdc_mode is feed)", " by difference (cdc_mode is log; ")
        self.run(world, requests, "FULL")
        for source, _ in made:
            rows = f"SELECT * FROM VALUES {row(1, VALUES[3], VALUES[0])}, {row(30, VALUES[0], 'x y')} AS v"
            named = f"({', '.join(map(quote, COLUMNS))})"
            world.sql(
                f"INSERT INTO {source} VALUES {row(20, VALUES[1], VALUES[2])}, {row(21, VALUES[2], None)}",
                f"UPDATE {source} SET {PART} = {literal(VALUES[3])}, {SIZE} = {SIZE} + 1 "
                f"WHERE {TEXT} = {literal(VALUES[2])}",
                f"MERGE INTO {source} t USING ({rows} {named}) s ON t.{ID} = s.{ID} "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
                f"DELETE FROM {source} WHERE {PART} = {literal(VALUES[0])} AND {ID} = 0",
            )
        self.run(world, requests, "DIFFERENTIAL", by)

    def test_files_of_a_plain_log_are_read(self, world: World) -> None:
        """Without mapped columns, so of names that a Delta file may have."""
        source = world.relation("plain_log").sql
        world.sql(
            f"CREATE TABLE {source} (`it's` INT, `größe.重` STRING, `select` STRING) USING delta",
            f"INSERT INTO {source} VALUES (1, {literal(VALUES[0])}, 'a')",
        )
        request = world.request(
            "plain", f"SELECT `it's`, `größe.重`, `select` FROM {source}", refresh_mode="differential", cdc_mode="log"
        )
        self.run(world, [request], "FULL")
        world.sql(f"INSERT INTO {source} VALUES {', '.join(f'(2, {literal(v)}, {literal(v)})' for v in VALUES)}")
        self.run(world, [request], "DIFFERENTIAL", (" by log (cdc_mode is log; files were only added)",))

    @pytest.mark.parametrize("capture", CAPTURES)
    def test_a_backtick_where_rows_only_come(self, world: World, capture: str) -> None:
        source, name = world.relation(f"backtick_{capture}").sql, quote("a`b ``")
        feed = str(capture == "feed").lower()
        world.sql(
            f"CREATE TABLE {source} ({name} STRING, n INT) USING delta "
            f"TBLPROPERTIES (delta.columnMapping.mode = 'name', delta.enableChangeDataFeed = {feed})",
            f"INSERT INTO {source} VALUES ('a', 1), ('`', 2), (NULL, 3)",
        )
        queries = {
            "rows": f"SELECT * FROM {source}",
            "chosen": f"SELECT {name}, n FROM {source} AS o WHERE o.{name} <> 'a'",
            "groups": f"SELECT {name}, sum(n) AS {quote('su`m')} FROM {source} GROUP BY {name}",
            "joined": f"SELECT l.{name}, r.n FROM {source} l JOIN {source} r ON l.{name} = r.{name}",
        }
        requests = [
            world.request(f"backtick_{capture}_{each}", query, refresh_mode="differential", cdc_mode=capture)
            for each, query in queries.items()
        ]
        self.run(world, requests, "FULL")
        world.sql(f"INSERT INTO {source} VALUES ('a', 4), ('`', 5), (NULL, 6), ('new', 7)")
        self.run(world, requests, "DIFFERENTIAL", (f"(cdc_mode is {capture}",))
