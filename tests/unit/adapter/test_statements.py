from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from dbt.adapters.trickle.statements import affected_rows, bind, literal, strip_terminator, writes

READING = [
    "select 1",
    "  \n/* {'app': 'dbt'} */ -- note\nSELECT 1",
    "((select 1) union all (select 2))",
    "with updates as (select 1) select * from updates",
    "with t as (select 'insert into x' as delete_me, `update` from s) select * from t",
    "with t as (select 1) -- then insert\nselect * /* merge */ from t",
    'with t as (select "delete" d) select * from t',
    r"with t as (select 'it\'s', r'\') select ' insert ' from t",
    "with t as (select update, delete from (values (1, 2)) v(update, delete)) select 1 from t",
    "from t select a",
    "/* one /* nested */ still a comment: insert */ select 1",
    "show tables in s",
    "describe history t",
    "EXPLAIN FORMATTED select 1",
    "set spark.sql.shuffle.partitions=2",
    "use s",
    "table t",
    "values (1)",
]
WRITING = [
    "insert into t values (1)",
    "/* c */ -- d\n  (\n insert into t values (1))",
    "with t as (select 1) insert into u select * from t",
    "with t as (select ')' p) insert overwrite u select * from t",
    "WITH t AS (SELECT 1) MERGE INTO u USING t ON true WHEN MATCHED THEN DELETE",
    "from t insert into u select a insert into v select b",
    "/* one /* nested */ select */ create table t (a int)",
    "create or replace temporary view v as select 1",
    "merge into t using s on t.a = s.a when matched then update set *",
    "update t set a = 1",
    "delete from t",
    "drop table t",
    "alter table t add columns (b int)",
    "optimize t",
    "vacuum t",
    "truncate table t",
    "msck repair table t",
    "begin insert into t values (1); end",
    "execute immediate 'drop table t'",
    "/* never closed",
    "",
]


@pytest.mark.parametrize("sql", READING)
def test_reading(sql: str) -> None:
    assert not writes(sql)


@pytest.mark.parametrize("sql", WRITING)
def test_writing(sql: str) -> None:
    assert writes(sql)


@pytest.mark.parametrize(
    ("sql", "sent"),
    [
        ("select 1;", "select 1"),
        ("  select 1 ; ;; \n", "select 1 ;"),
        ("select ';'", "select ';'"),
        ("select 1; -- why;", "select 1; -- why"),
    ],
)
def test_the_terminator_is_not_sent(sql: str, sent: str) -> None:
    assert strip_terminator(sql) == sent


def test_rows_are_only_fetched_from_delta_s_metrics() -> None:
    def never() -> list[object]:
        raise AssertionError("a query must stay lazy")

    assert affected_rows([], never) is None
    assert affected_rows(["id", "num_affected_rows"], never) is None
    assert affected_rows(["num_affected_rows", "num_updated_rows"], lambda: [(7, 3)]) == 7
    assert affected_rows(["num_affected_rows"], lambda: []) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (0.1, "0.1"),
        (float("nan"), "double('nan')"),
        (float("-inf"), "double('-inf')"),
        (Decimal("9007199254740993"), "9007199254740993"),  # as a double it would end in 2
        (Decimal("10.0"), "10"),
        (Decimal("-0.10"), "-0.10"),
        (Decimal("1E-10"), "0.0000000001"),
        (Decimal("0." + "1" * 39), "0.1111111111111111"),
        (dt.datetime(2024, 1, 2, 3, 4, 5, 678901), "'2024-01-02 03:04:05.678901'"),
        (dt.date(2024, 1, 2), "'2024-01-02'"),
        (r"it's a \ 100%s", r"'it\'s a \\ 100%s'"),
        ("${env:HOME}", r"'\u0024{env:HOME}'"),  # Spark replaces it, in a literal too
    ],
)
def test_values_of_seeds_become_exact_literals(value: object, text: str) -> None:
    assert literal(value) == text


def test_literals_are_not_formatted_again() -> None:
    assert bind("values (%s, %s)", ["%s", 1]) == "values ('%s', 1)"
    assert bind("select '100%'", None) == "select '100%'"
