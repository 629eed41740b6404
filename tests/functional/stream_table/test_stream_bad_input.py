"""What cannot be a stream table is refused by name, with what to write instead; the old content goes on serving."""

from __future__ import annotations

import json

import pytest
from shop import Shop, model, sources

pytestmark = pytest.mark.spark

ORDERS = "{{ source('shop', 'orders') }}"
QUERY = f"select id, amount from {ORDERS}"
MODES = "auto, differential, full, immediate"

# A model and words of the message it is refused with.
REFUSED: dict[str, tuple[str, tuple[str, ...]]] = {
    "unknown_key": (model(QUERY, refresh_mod="full"), ("TRK-101", "`refresh_mod`", "Did you mean `refresh_mode`")),
    "unknown_value": (model(QUERY, refresh_mode="hourly"), ("TRK-102", "`refresh_mode` is 'hourly'", MODES)),
    "no_duration": (model(QUERY, schedule="5 parsecs"), ("TRK-102", "`schedule`", "'5m', '2h' or '1d'")),
    "no_moment": (model(QUERY, schedule="99 99 99 99 99"), ("TRK-102", "`schedule`", "five fields", "99 is no minute")),
    "too_often": (model(QUERY, schedule="10s"), ("TRK-102", "minimum of 60 s", "trickle_min_schedule_seconds")),
    "no_ratio": (model(QUERY, max_change_ratio=2), ("TRK-102", "a number from 0 to 1")),
    "other_format": (model(QUERY, file_format="parquet"), ("TRK-102", "`file_format` is 'parquet'", "delta")),
    "buckets": (model(QUERY, buckets=4), ("TRK-102", "liquid_clustered_by")),
    "two_layouts": (
        model(QUERY, partition_by="id", liquid_clustered_by="id"),
        ("TRK-102", "`partition_by`", "`liquid_clustered_by`"),
    ),
    "no_such_partition": (
        model(QUERY, partition_by=["id", "nowhere"], refresh_mode="full"),
        ("TRK-108", "`partition_by` names nowhere, which", "id, amount"),
    ),
    "no_such_cluster": (
        model(QUERY, liquid_clustered_by="Nowhere", expose="table"),
        ("TRK-108", "`liquid_clustered_by` names Nowhere, which", "id, amount"),
    ),
    "no_such_key": (model(QUERY, primary_key="nowhere", refresh_mode="full"), ("TRK-108", "`primary_key` names")),
    "immediate": (model(QUERY, refresh_mode="immediate"), ("TRK-104", "immediate")),
    "long_name": (model(QUERY, alias="x" * 300), ("TRK-105", "300 characters", "at most 255")),
    "slash": (model(QUERY, alias="a/b"), ("TRK-105", "'/'", "`alias`")),
    "dollar": (model(QUERY, alias="a${b}"), ("TRK-105", "'$'", "a–z")),
    "spaces": (model(QUERY, alias="monthly report"), ("TRK-105", "' '")),
    "quotes": (model(QUERY, alias="the_'best'"), ("TRK-105", '"\'"')),
    "backquotes": (model(QUERY, alias="a`; drop table orders; `"), ("TRK-105", "'`'")),
    "umlaut": (model(QUERY, alias="größe"), ("TRK-105", "'ö'")),
    "itself": (model("select * from {{ this }}"), ("TRK-210", "{{ this }}")),
    "missing_source": (model("select * from {{ source('shop', 'nowhere') }}"), ("TRK-202", "nowhere")),
    "missing_table": (model("select * from {{ target.schema }}.nothing"), ("TRK-202", "nothing")),
    "no_column": (model(f"select nope from {ORDERS}"), ("UNRESOLVED_COLUMN", "nope")),
    "no_syntax": (model(f"select id,, amount from {ORDERS}"), ("PARSE_SYNTAX_ERROR",)),
    "two_statements": (model(f"select 1 as a; drop table {ORDERS}"), ("PARSE_SYNTAX_ERROR",)),
    "rand": (model(f"select id, rand() as r from {ORDERS}"), ("TRK-204", "rand", "volatile_functions: full")),
    "now": (model(f"select id, current_timestamp() as t from {ORDERS}"), ("TRK-204", "current_timestamp")),
    "today": (model(f"select id, current_date as t from {ORDERS}"), ("TRK-204", "current_date")),
    "hidden_uuid": (model("select * from {{ source('shop', 'with_uuid') }}"), ("TRK-204", "uuid")),
    "twice": (model(f"select id, amount as ID from {ORDERS}"), ("TRK-206", "`ID`")),
    "joined": (model(f"select * from {ORDERS} a join {ORDERS} b on a.id = b.id"), ("TRK-206", "`id`")),
    "reserved": (model(f"select id as __pgt_row_id from {ORDERS}"), ("TRK-207", "__pgt_")),
    "nothing": (model(f"select id, null as n from {ORDERS}"), ("TRK-208", "`n`", "void")),
    "nested_nothing": (model(f"select array(null) as n from {ORDERS}"), ("TRK-208", "`n`", "array<void>")),
    "interval": (model(f"select interval 1 day * id as d from {ORDERS}"), ("TRK-208", "`d`", "interval")),
    "no_alias": (model(f"select sum(amount) from {ORDERS}", expose="table"), ("TRK-209", "sum(amount)")),
    "at_runtime": (
        model(f"select case when amount > 15 then cast(raise_error('too much') as int) end as a from {ORDERS}"),
        ("too much",),
    ),
}


class TestBadInput:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "sources.yml": sources("orders", "nowhere", "with_uuid"),
            **{f"{name}.sql": text for name, (text, _) in REFUSED.items()},
            **{f"good_{n}.sql": model(QUERY) for n in range(3)},
        }

    def test_refused(self, shop: Shop) -> None:
        shop.table("orders")
        shop.sql("create view with_uuid as select id, uuid() as u from orders")
        results = shop.run(*REFUSED, ok=False)
        wrong = {}
        for name, (_, words) in REFUSED.items():
            message = str(results[name].message)
            if results[name].status != "error" or not all(word in message for word in words):
                wrong[name] = (results[name].status, message)
        assert wrong == {}
        # No stack of a machine's: what a person can act on fits into a few lines.
        assert [name for name, result in results.items() if len(result.message.splitlines()) > 9] == []
        assert shop.sql(f"show views in {shop.schema}")[0].viewName == "with_uuid"
        assert len(shop.sql(f"show tables in {shop.schema}")) == 2
        # What was never loaded has a history, too, and can be asked for it.
        [failed] = shop.trickle_json("history", "no_column")
        assert (failed["action"], failed["status"]) == ("FULL", "FAILED")
        assert "UNRESOLVED_COLUMN" in failed["error_message"]
        state = shop.state("no_column")
        assert (state.status, state.is_populated, state.consecutive_errors) == ("INITIALIZING", False, 1)

    def test_the_old_content_serves(self, shop: Shop) -> None:
        shop.table("orders")
        shop.sql("create or replace view with_uuid as select id, uuid() as u from orders")
        good = ("good_0", "good_1", "good_2")
        shop.run(*good)
        before = {name: (shop.state(name), shop.sql(f"select * from {name}")) for name in good}
        shop.sql("insert into orders values (3, 'north', 5)")
        bad = {
            name: REFUSED[kind][0] for name, kind in zip(good, ("no_column", "at_runtime", "unknown_key"), strict=True)
        }
        for name, text in bad.items():
            shop.write(f"{name}.sql", text)
        results = shop.run(*good, ok=False)
        assert {result.status for result in results.values()} == {"error"}
        written = json.loads((shop.root / "target" / "run_results.json").read_text())["results"]
        assert {result["status"] for result in written} == {"error"}
        for name in good:
            state, rows = before[name]
            now, failed = shop.state(name), shop.history(name)[-1]
            assert shop.sql(f"select * from {name}") == rows
            assert (now.batch, now.generation, now.frontier) == (state.batch, state.generation, state.frontier)
            assert (now.status, now.consecutive_errors) == ("ACTIVE", 1)
            assert (failed.status, failed.end_time is not None) == ("FAILED", True)
            assert failed.error_message == now.last_error
            assert failed.error_message.splitlines()[0].split("] ", 1)[1] in results[name].message
        for name in good:
            shop.write(f"{name}.sql", model(QUERY))
        shop.step(dict.fromkeys(good, ("FULL", "orders moved from version 1 to 2")))
        assert {shop.state(name).consecutive_errors for name in good} == {0}

    def test_a_view_that_was_to_become_a_table_serves_on(self, shop: Shop) -> None:
        shop.table("orders")
        shop.run("good_0", flags=("--full-refresh",))
        shop.write("good_0.sql", REFUSED["at_runtime"][0].replace("stream_table'", "stream_table', expose='table'"))
        assert "too much" in shop.run("good_0", ok=False)["good_0"].message
        assert shop.sql(f"select count(*) as n from {shop.public('good_0')}")[0].n == 2
        shop.write("good_0.sql", model(QUERY, expose="table"))
        assert shop.run("good_0")["good_0"].adapter_response["action"] == "ALTER"
        assert shop.sql(f"show views in {shop.schema} like 'good_0'") == []
