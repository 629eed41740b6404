"""Pinning: each source is read in one state, the same for the whole invocation, whatever stands between."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from dbt_trickle.catalog.state import Column, ForeignWrite, StreamTable, Unversioned
from dbt_trickle.errors import ModelError, WarehouseError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.names import Relation, placeholder
from dbt_trickle.plan.points import states
from dbt_trickle.run import guard
from dbt_trickle.run.pins import PinnedQuery, Wanted, dependencies
from dbt_trickle.run.sources import Sources

MEANING = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}
THEN = datetime(2026, 1, 2, 3, 4, 5)
NOW = "2026-01-03T00:00:00.000+00:00"
LATER = "2026-01-03T01:00:00.000+00:00"


def commit(version: int, operation: str = "WRITE") -> dict[str, Any]:
    return {
        "version": version,
        "timestamp": THEN,
        "operation": operation,
        "userMetadata": None,
        "operationMetrics": {"numOutputRows": "1"},
    }


def view(text: str, columns: Sequence[str], **more: Any) -> list[dict[str, str]]:
    described = {
        "columns": [{"name": name} for name in columns],
        "view_text": text,
        "view_catalog_and_namespace": "spark_catalog.shop",
        "view_query_output_columns": list(columns),
        "view_creation_spark_configuration": MEANING,
        **more,
    }
    return [{"json_metadata": json.dumps(described)}]


class Warehouse:
    """Answers by statement; what it was not told about does not exist."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []

    def execute(self, sql: str) -> None:
        raise AssertionError(f"looking must not change anything: {sql}")

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self.asked.append(sql)
        answer = self.answers.get(sql, "[TABLE_OR_VIEW_NOT_FOUND] it is not there")
        if isinstance(answer, str):
            raise WarehouseError("TRK-301", answer)
        return answer  # type: ignore[no-any-return]


def table(name: str, version: int) -> dict[str, Any]:
    return {
        f"DESCRIBE HISTORY {name} LIMIT 1": [commit(version)],
        f"DESCRIBE DETAIL {name}": [{"id": f"id of {name}"}],
    }


def a_view(name: str, text: str, columns: Sequence[str], **more: Any) -> dict[str, Any]:
    return {
        f"DESCRIBE HISTORY {name} LIMIT 1": "[EXPECT_TABLE_NOT_VIEW] a view",
        f"DESCRIBE TABLE EXTENDED {name} AS JSON": view(text, columns, **more),
    }


def pin(text: str, answers: Mapping[str, Any], *, upstream: StreamTable | None = None) -> PinnedQuery:
    def at(relation: Relation) -> StreamTable | None:
        return upstream if upstream is not None and upstream.public == relation else None

    return Sources(at, lambda: NOW).pin_query(Warehouse(answers), text, Wanted(MEANING, {}))


def reasons(pinned: PinnedQuery) -> list[str]:
    return [str(why) for why in pinned.unversioned]


def test_a_table_is_read_at_its_version() -> None:
    pinned = pin("select o.k from shop.orders o -- end", table("`shop`.`orders`", 7))
    assert pinned.text == "select o.k from `shop`.`orders` VERSION AS OF 7 o -- end"
    assert {k: v.version for k, v in pinned.frontier.items()} == {"shop.orders": 7}
    assert pinned.unversioned == ()


def test_a_table_by_its_path_has_versions() -> None:
    pinned = pin("select * from delta.`/wh/Orders`", table("`delta`.`/wh/Orders`", 7))
    assert pinned.text == "select * from `delta`.`/wh/Orders` VERSION AS OF 7"


def test_paths_that_differ_in_case_are_two_tables() -> None:
    answers = {**table("`delta`.`/lake/Sales`", 7), **table("`delta`.`/lake/sales`", 2)}
    pinned = pin(
        "select * from delta.`/lake/Sales` a join DELTA.`/lake/sales` b using (k)",
        {**answers, **table("`DELTA`.`/lake/sales`", 2)},
    )
    assert "`delta`.`/lake/Sales` VERSION AS OF 7 a" in pinned.text
    assert "`DELTA`.`/lake/sales` VERSION AS OF 2 b" in pinned.text
    assert {key: found.version for key, found in pinned.frontier.items()} == {
        "delta./lake/Sales": 7,
        "delta./lake/sales": 2,
    }
    assert len({placeholder(key) for key in pinned.frontier if placeholder(key) in pinned.template}) == 2


def test_files_by_their_path_have_none() -> None:
    """Spark says of their history that there is no such table; the path it names when the query is planned."""
    pinned = pin("select * from parquet.`/data/orders`", {})
    assert pinned.text == "select * from parquet.`/data/orders`"
    assert reasons(pinned) == ["parquet./data/orders: it is no Delta table and keeps no history"]


def test_an_unqualified_name_may_be_anything() -> None:
    pinned = pin("select * from orders", table("`shop`.`orders`", 7))
    assert pinned.text == "select * from orders"
    assert reasons(pinned) == ["orders is named without its schema"]


def test_spark_s_own_catalog_may_be_named() -> None:
    assert set(pin("select * from spark_catalog.shop.orders", table("`shop`.`orders`", 7)).frontier) == {"shop.orders"}


def test_one_invocation_asks_once_and_sees_one_state() -> None:
    warehouse = Warehouse(table("`shop`.`orders`", 7))
    sources = Sources(lambda _: None, lambda: NOW)
    first = sources.pin_query(warehouse, "select 1 from shop.orders", Wanted(MEANING, {}))
    warehouse.answers = table("`shop`.`orders`", 8)
    assert sources.pin_query(warehouse, "select 1 from SHOP.ORDERS", Wanted(MEANING, {})).frontier == first.frontier
    assert len(warehouse.asked) == 2
    sources.forget(Relation.of("shop", "orders"))
    later = sources.pin_query(warehouse, "select 1 from shop.orders", Wanted(MEANING, {}))
    assert later.frontier["shop.orders"].version == 8, "a node of this run has written it"


def test_an_unmoved_source_costs_one_question() -> None:
    known = {
        "shop.orders": SourceVersion("shop.orders", "TABLE", "shop.orders", "id", 7, "2026-01-02T03:04:05.000+00:00")
    }
    warehouse = Warehouse(table("`shop`.`orders`", 7))
    sources, wanted = Sources(lambda _: None, lambda: NOW), Wanted(MEANING, known)
    pinned = sources.pin_query(warehouse, "select 1 from shop.orders", wanted)
    assert warehouse.asked == ["DESCRIBE HISTORY `shop`.`orders` LIMIT 1"]
    assert pinned.frontier == known


def test_views_are_read_through_to_their_tables() -> None:
    answers = {
        **a_view("`shop`.`v`", "select k as a from w", ["A"], view_query_output_columns=["a"]),
        **a_view("`shop`.`w`", "select * from raw.t", ["k"]),
        **table("`raw`.`t`", 3),
    }
    pinned = pin("select * from shop.v", answers)
    assert "`raw`.`t` VERSION AS OF 3" in pinned.text
    assert pinned.text.endswith("AS `v`")
    assert "`a` AS `A`" in pinned.text
    assert set(pinned.frontier) == {"raw.t", "shop.w", "shop.v"}


@pytest.mark.parametrize("read", ["orders", "orders version as of 3", "orders as o"])
def test_a_bare_name_in_a_view_is_no_cte_of_the_query(read: str) -> None:
    """What cannot be pinned keeps its name, but not one that means something else outside of the view."""
    answers = {
        **a_view("`shop`.`v`", f"select * from {read}", ["k"]),
        "DESCRIBE HISTORY `shop`.`orders` LIMIT 1": "[DELTA_TABLE_ONLY_OPERATION] a file",
    }
    pinned = pin("with orders as (select 1 as k) select * from shop.v join orders using (k)", answers)
    assert f"select * from `shop`.{read.replace('orders', '`orders`', 1)}" in pinned.text
    assert pinned.unversioned


def test_a_changed_view_text_is_a_moved_source() -> None:
    one = pin("select * from shop.v", {**a_view("`shop`.`v`", "select 1 as k", ["k"])})
    two = pin("select * from shop.v", {**a_view("`shop`.`v`", "select 2 as k", ["k"])})
    assert one.frontier != two.frontier


def test_a_view_of_other_settings_is_not_inlined() -> None:
    other = {"view_creation_spark_configuration": {"spark.sql.ansi.enabled": "true"}}
    pinned = pin("select * from shop.v", a_view("`shop`.`v`", "select 1 as k", ["k"], **other))
    assert pinned.text == "select * from shop.v"
    assert "spark.sql.ansi.enabled=true" in reasons(pinned)[0]


@pytest.mark.parametrize("made", [{"spark.sql.legacy.timeParserPolicy": "LEGACY"}, {}])
def test_a_view_made_before_or_after_a_setting_is_not_inlined(made: dict[str, str]) -> None:
    """Whichever of the two has it: a date is read by the one as it is not by the other."""
    view_has = {"view_creation_spark_configuration": {**MEANING, **made}}
    session_has = {} if made else {"spark.sql.legacy.timeParserPolicy": "LEGACY"}
    sources = Sources(lambda _: None, lambda: NOW)
    answers = a_view("`shop`.`v`", "select 1 as k", ["k"], **view_has)
    pinned = sources.pin_query(Warehouse(answers), "select * from shop.v", Wanted({**MEANING, **session_has}, {}))
    assert "spark.sql.legacy.timeParserPolicy" in reasons(pinned)[0]


def test_a_view_is_pinned_for_the_settings_of_who_reads_it() -> None:
    """Hooks of one model have set another zone; of another model they have not."""
    warehouse = Warehouse(
        {**a_view("`shop`.`v`", "select k from orders", ["k"]), **table("`shop`.`orders`", 7)},
    )
    sources = Sources(lambda _: None, lambda: NOW)
    elsewhere = {**MEANING, "spark.sql.session.timeZone": "America/New_York"}
    for _ in range(2):
        assert not sources.pin_query(warehouse, "select * from shop.v", Wanted(MEANING, {})).unversioned
        assert "New_York" in reasons(sources.pin_query(warehouse, "select * from shop.v", Wanted(elsewhere, {})))[0]
    assert warehouse.asked.count("DESCRIBE HISTORY `shop`.`orders` LIMIT 1") == 1, "the table is in one state for all"


def test_data_are_as_old_as_their_pin() -> None:
    """A stream table that comes late in a run reads what an earlier one has pinned."""
    times = iter(["10:00", "10:30"])
    sources = Sources(lambda _: None, lambda: next(times))
    warehouse = Warehouse({**table("`shop`.`orders`", 7), **table("`shop`.`items`", 1)})
    assert sources.pin_query(warehouse, "select 1 from shop.orders", Wanted(MEANING, {})).as_of == ("10:00",)
    assert sources.pin_query(warehouse, "select 1 from shop.orders, shop.items", Wanted(MEANING, {})).as_of == (
        "10:00",
        "10:30",
    )


def test_volatile_functions_below_a_view_are_found() -> None:
    assert pin("select * from shop.v", a_view("`shop`.`v`", "select rand() as k", ["k"])).volatile == ("rand",)


def test_too_many_views_are_refused() -> None:
    answers: dict[str, Any] = {}
    for depth in range(12):
        answers |= a_view(f"`shop`.`v{depth}`", f"select * from v{depth + 1}", ["k"])
    with pytest.raises(ModelError, match="TRK-205"):
        pin("select * from shop.v0", answers)


def test_a_missing_source_is_named() -> None:
    with pytest.raises(ModelError, match=r"TRK-202.*shop\.nix does not exist"):
        pin("select * from shop.nix", {})


def test_another_format_has_no_versions() -> None:
    history = {"DESCRIBE HISTORY `shop`.`p` LIMIT 1": "[DELTA_TABLE_ONLY_OPERATION] parquet"}
    pinned = pin("select * from shop.p", history)
    assert reasons(pinned) == ["shop.p: it is no Delta table and keeps no history"]


def test_a_stream_table_is_read_from_its_storage_at_its_newest_change() -> None:
    upstream = StreamTable(
        5,
        "shop",
        "totals",
        "model.shop.totals",
        storage_relation="trickle_changes.st_5_g1",
        is_populated=True,
        data_timestamp="2026-01-01T00:00:00+00:00",
        columns=(Column("sum(x)", "bigint", "__pgt_out_0"),),
    )
    commits = [commit(9, "OPTIMIZE"), commit(8, "WRITE")]
    pinned = pin(
        "select * from shop.totals",
        {"DESCRIBE HISTORY `trickle_changes`.`st_5_g1` LIMIT 10": commits},
        upstream=upstream,
    )
    assert pinned.text == (
        "select * from (SELECT `__pgt_out_0` AS `sum(x)` FROM `trickle_changes`.`st_5_g1` VERSION AS OF 9) AS `totals`"
    )
    found = pinned.frontier["pgt_5"]
    assert (found.version, found.read_version) == (8, 9), "an OPTIMIZE changes no row, and a VACUUM may follow it"
    assert pinned.as_of == ("2026-01-01T00:00:00+00:00",)


def test_a_stream_table_is_read_as_it_was_found_for_the_whole_run() -> None:
    """Whatever else this run refreshes meanwhile, and although another run refreshes it."""
    upstream = StreamTable(
        5, "shop", "totals", "model.shop.totals", storage_relation="changes.st_5_g1", is_populated=True,
        columns=(Column("n", "bigint", "n"),),
    )  # fmt: skip
    history = "DESCRIBE HISTORY `changes`.`st_5_g1` LIMIT 10"
    warehouse = Warehouse({history: [commit(8)], **a_view("`shop`.`v`", "select 1 as k", ["k"])})
    sources = Sources(lambda relation: upstream if relation.key == "shop.totals" else None, lambda: NOW)

    def version() -> int:
        return sources.pin_query(warehouse, "select * from shop.totals", Wanted(MEANING, {})).frontier["pgt_5"].version

    assert version() == 8
    warehouse.answers[history] = [commit(9), commit(8)]
    sources.forget(Relation.of("shop", "other"))
    assert version() == 8
    sources.forget(Relation.of("shop", "totals"))
    assert version() == 9


def test_of_a_stream_table_that_nobody_has_written_to_the_history_is_not_asked() -> None:
    upstream = StreamTable(
        5, "shop", "totals", "model.shop.totals", storage_relation="changes.st_5_g1", is_populated=True,
        storage_version=8, storage_at=NOW, seen_version=8, seen_at=LATER, columns=(Column("n", "bigint", "n"),),
        frontier={"shop.orders": SourceVersion("shop.orders", "TABLE", "shop.orders", "id", 3, NOW)},
    )  # fmt: skip

    def pinned(upstream: StreamTable = upstream, **listed: str) -> PinnedQuery:
        found = {int(version.strip("v")): at for version, at in listed.items()}
        warehouse = Warehouse({"DESCRIBE HISTORY `changes`.`st_5_g1` LIMIT 10": [commit(9), commit(8)]})
        sources = Sources(lambda _: upstream, lambda: NOW, lambda state: guard.stands(state, found, ours=False))
        return sources.pin_query(warehouse, "select * from shop.totals", Wanted(MEANING, {}))

    stands = pinned(v8=LATER)
    version = stands.frontier["pgt_5"]
    assert (version.version, version.committed_at, version.read_version, version.read_at) == (8, NOW, 8, NOW)
    known, *_ = states(stands.branches["pgt_5"], lambda _: None, None)
    assert known.point == {**upstream.frontier, "pgt_5": version}
    for otherwise in ({}, {"v8": LATER, "v9": LATER}, {"v8": NOW}):
        assert pinned(**otherwise).frontier["pgt_5"].version == 9
    # Of what came behind its last commit, and changed no row, the time of the file alone is known.
    assert pinned(replace(upstream, storage_version=7), v8=LATER).frontier["pgt_5"].version == 9
    written_to = replace(upstream, hidden_write=ForeignWrite("DELETE", 8))
    assert pinned(written_to, v8=LATER).frontier["pgt_5"].version == 9


def test_what_another_run_has_read_later_is_found_anew() -> None:
    answers = {**table("`shop`.`orders`", 7), **table("`shop`.`other`", 3)}
    warehouse, sources = Warehouse(answers), Sources(lambda _: None, lambda: NOW)

    def versions() -> dict[str, int]:
        found = sources.pin_query(warehouse, "select * from shop.orders, shop.other", Wanted(MEANING, {})).frontier
        return {key: version.version for key, version in found.items()}

    first = sources.pin_query(warehouse, "select * from shop.orders, shop.other", Wanted(MEANING, {})).frontier
    warehouse.answers |= {**table("`shop`.`orders`", 8), **table("`shop`.`other`", 4)}
    sources.forget_older(first)
    assert versions() == {"shop.orders": 7, "shop.other": 3}, "all that a run reads is of one moment"
    sources.forget_older({"shop.orders": replace(first["shop.orders"], version=8)})
    assert versions() == {"shop.orders": 8, "shop.other": 3}


def test_a_stream_table_whose_storage_somebody_has_dropped_is_named() -> None:
    upstream = StreamTable(
        5, "shop", "totals", "model.shop.totals", storage_relation="trickle_changes.st_5_g1", is_populated=True
    )
    with pytest.raises(ModelError, match=r"TRK-202.*trickle_changes\.st_5_g1.*shop\.totals") as raised:
        pin("select * from shop.totals", {}, upstream=upstream)
    assert "Run that stream table" in str(raised.value)


def test_a_version_of_the_user_s_own_choice_stays() -> None:
    pinned = pin("select * from shop.orders version as of 3", table("`shop`.`orders`", 7))
    assert pinned.text == "select * from shop.orders version as of 3"
    assert reasons(pinned) == ["shop.orders is read at a version that the query chooses"]


def test_a_function_of_another_database_may_be_the_user_s_own_here() -> None:
    """sqlglot knows safe_divide and normalize; Spark does not."""
    answers = {**table("`shop`.`orders`", 7), "SHOW SYSTEM FUNCTIONS": [{"function": "hll_union"}]}
    pinned = pin("select safe_divide(a, b), upper(normalize(c)) from shop.orders", answers)
    assert [why.split("(")[0] for why in reasons(pinned)] == ["normalize", "safe_divide"]
    assert pinned.functions == ("normalize", "safe_divide", "upper")


def test_functions_of_the_user_s_own_are_read_anew_each_time() -> None:
    answers = {**table("`shop`.`orders`", 7), "SHOW SYSTEM FUNCTIONS": [{"function": "hll_union"}]}
    text = "select my_udf(k), hll_union(a, b) from shop.orders"
    assert reasons(pin(text, answers)) == ["my_udf() is no function of Spark's own, and is named without its schema"]


FUNCTIONS = {"SHOW SYSTEM FUNCTIONS": [{"function": "hll_union"}]}


def a_function(name: str, expression: str, deterministic: bool = True) -> dict[str, Any]:
    return {f"DESCRIBE FUNCTION EXTENDED {name}": described(expression, deterministic=deterministic)}


def described(expression: str, *, deterministic: bool) -> list[dict[str, str]]:
    told = {
        "sqlFunction.isTableFunc": "false",
        "sqlFunction.inputParam": "x INT",
        "sqlFunction.returnType": "INT",
        "sqlFunction.deterministic": str(deterministic).lower(),
        "sqlFunction.expression": expression,
    }
    return [{"function_desc": f"Usage: {json.dumps(told)}"}]


def test_a_sql_function_s_text_stands_for_a_version() -> None:
    text = "select shop.F(k), `lib`.`g`(k) filter (where lib.h(k) > 1) from shop.orders"
    answers = {
        **table("`shop`.`orders`", 7),
        **FUNCTIONS,
        **a_function("`shop`.`f`", "lib.h(x) + 1"),
        **a_function("`lib`.`g`", "x"),
        **a_function("`lib`.`h`", "x"),
    }
    pinned = pin(text, answers)
    assert pinned.unversioned == ()
    assert set(pinned.frontier) == {"shop.orders", "shop.f()", "lib.g()", "lib.h()"}
    assert set(pinned.functions) == {"shop.f", "lib.g", "lib.h"}
    assert [row.source for row in dependencies(5, pinned.frontier, ())] == ["shop.orders"], "it has no rows"
    other = pin(text, {**answers, **a_function("`lib`.`h`", "x + 1")})
    moved = {key for key, version in other.frontier.items() if not version.same_state(pinned.frontier[key])}
    assert moved == {"lib.h()"}


def test_a_function_below_a_view_is_the_query_s() -> None:
    answers = {
        **a_view("`shop`.`v`", "select lib.g(k) as k from orders", ["k"]),
        **table("`shop`.`orders`", 7),
        **FUNCTIONS,
        **a_function("`lib`.`g`", "x + 1"),
    }
    pinned = pin("select * from shop.v", answers)
    assert "lib.g(k)" in pinned.text
    assert set(pinned.frontier) == {"shop.v", "shop.orders", "lib.g()"}
    assert pinned.functions == ("lib.g",)
    assert pin("select * from shop.v", {**answers, **a_function("`lib`.`g`", "rand()")}).volatile == (
        "rand in lib.g()",
    )


def test_a_view_that_calls_one_by_its_bare_name_stays_a_view() -> None:
    answers = {
        **a_view("`shop`.`v`", "select g(k) as k from orders", ["k"]),
        **table("`shop`.`orders`", 7),
        **FUNCTIONS,
    }
    pinned = pin("select * from shop.v", answers)
    assert pinned.text == "select * from shop.v"
    assert reasons(pinned) == ["shop.v: g() is no function of Spark's own, and is named without its schema"]


def test_a_function_of_a_schema_is_not_the_one_of_spark_s_that_is_called_so() -> None:
    answers = {**table("`shop`.`orders`", 7), **FUNCTIONS, **a_function("`lib`.`now`", "x", deterministic=False)}
    assert pin("select lib.now(k) from shop.orders", answers).volatile == ("lib.now()",)
    assert pin("select lib.cast(k as int) from shop.orders", {**answers, **a_function("`lib`.`cast`", "x")}).functions


def test_where_statements_of_the_user_s_ran_texts_are_read_again() -> None:
    answers = {
        **a_view("`shop`.`v`", "select lib.g(k) as k from orders", ["k"]),
        **table("`shop`.`orders`", 7),
        **FUNCTIONS,
        **a_function("`lib`.`g`", "x + 1"),
    }
    warehouse, sources = Warehouse(answers), Sources(lambda _: None, lambda: NOW)
    first = sources.pin_query(warehouse, "select * from shop.v", Wanted(MEANING, {}))
    warehouse.answers |= a_function("`lib`.`g`", "x + 2")
    assert sources.pin_query(warehouse, "select * from shop.v", Wanted(MEANING, {})) == first
    sources.forget_texts()
    second = sources.pin_query(warehouse, "select * from shop.v", Wanted(MEANING, {}))
    assert second.frontier["lib.g()"] != first.frontier["lib.g()"]
    assert warehouse.asked.count("DESCRIBE HISTORY `shop`.`orders` LIMIT 1") == 1, "the table is in one state for all"


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("select rand() as r from shop.orders", []),
        ("select my_udf(k) as k from shop.orders", []),
        ("select * from shop.orders, range(3)", []),
        ("select * from unqualified", []),
        ("select * from shop.p", ["shop.p"]),
        ("select * from shop.orders version as of 3", ["shop.orders"]),
        ("select * from shop.v", ["raw.p"]),
    ],
)
def test_only_relations_are_dependencies(text: str, sources: list[str]) -> None:
    no_delta = "[DELTA_TABLE_ONLY_OPERATION] parquet"
    answers = {
        **table("`shop`.`orders`", 7),
        **a_view("`shop`.`v`", "select rand() as k from raw.p", ["k"]),
        "SHOW SYSTEM FUNCTIONS": [{"function": "rand"}],
        "DESCRIBE HISTORY `shop`.`p` LIMIT 1": no_delta,
        "DESCRIBE HISTORY `raw`.`p` LIMIT 1": no_delta,
    }
    pinned = pin(text, answers)
    found = dependencies(5, {}, pinned.unversioned)
    assert [row.source for row in found] == sources
    assert all(row.cdc_reason in reasons(pinned) for row in found)


def test_reasons_that_were_stored_as_texts_are_still_known() -> None:
    row = {
        "pgt_id": 5,
        "pgt_schema": "shop",
        "pgt_name": "t",
        "dbt_unique_id": "u",
        "unversioned": ["shop.p: no Delta"],
    }
    assert StreamTable.from_row(row).unversioned == (Unversioned("shop.p: no Delta"),)
