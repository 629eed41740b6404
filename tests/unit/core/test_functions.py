"""The user's own functions, by what Spark tells of them: which may be called, and when one is another one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from dbt_trickle.errors import ModelError, WarehouseError
from dbt_trickle.run.functions import Functions, parse_function
from dbt_trickle.tree.user_functions import looked_into


def described(expression: str | None, parameters: str = "x INT", **more: str) -> list[dict[str, str]]:
    """As Spark 4.1.4 answers; the time is that of the answer."""
    usage = {
        "sqlFunction.comment": "adds",
        "referredTempViewNames": "[]",
        "sqlFunction.returnType": "INT",
        "sqlFunction.createTime": "1795121687573",
        "sqlConfig.spark.sql.ansi.enabled": "false",
        "sqlConfig.spark.sql.session.timeZone": "UTC",
        "sqlConfig.spark.databricks.delta.lastCommitVersionInSession": "1",
        "catalogAndNamespace.part.1": "shop",
        "sqlFunction.deterministic": "true",
        "sqlFunction.isTableFunc": "false",
        "sqlFunction.inputParam": parameters,
        "sqlFunction.containsSQL": "true",
        "sqlFunction.expression": expression,
        **more,
    }
    known = json.dumps({key: value for key, value in usage.items() if value is not None})
    lines = ["Function: spark_catalog.shop.f", "Class: sqlFunction.", f"Usage: {known}", "Extended Usage:\n    none"]
    return [{"function_desc": line} for line in lines]


JAVA = [{"function_desc": line} for line in ("Function: spark_catalog.shop.j", "Class: a.b.UDFHex", "Usage: N/A.")]


class Warehouse:
    """Has the functions that it is told of."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self.functions = dict(functions)
        self.asked: list[str] = []

    def execute(self, sql: str) -> None:
        raise AssertionError(f"looking must not change anything: {sql}")

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self.asked.append(sql)
        schema, name = sql.removeprefix("DESCRIBE FUNCTION EXTENDED ").replace("`", "").split(".")
        answer = self.functions.get(f"{schema}.{name}", "[UNRESOLVED_ROUTINE] Cannot resolve routine")
        if isinstance(answer, str):
            raise WarehouseError("TRK-301", answer)
        return answer  # type: ignore[no-any-return]


def digest(rows: Sequence[Mapping[str, str]]) -> str:
    found = parse_function([row["function_desc"] for row in rows])
    assert not isinstance(found, str), found
    return found.digest


def test_a_sql_function_is_its_text() -> None:
    found = Functions().called(Warehouse({"shop.f": described("x + 1")}), ["shop.f"])
    assert found.unversioned == found.volatile == ()
    version = found.frontier["shop.f()"]
    assert (version.kind, version.relation) == ("FUNCTION", "shop.f()")
    assert version.table_id == digest(described("x + 1"))


def test_one_name_in_several_spellings_is_one_function() -> None:
    warehouse = Warehouse({"shop.f": described("x + 1")})
    found = Functions().called(warehouse, ["shop.f", "spark_catalog.shop.f"])
    assert list(found.frontier) == ["shop.f()"]
    assert len(warehouse.asked) == 1


@pytest.mark.parametrize(
    "same",
    [
        {"sqlFunction.comment": "something else"},
        {"sqlFunction.createTime": "1"},
        {"sqlConfig.spark.databricks.delta.lastCommitVersionInSession": "7"},
        {"catalogAndNamespace.part.1": "elsewhere"},
    ],
)
def test_made_anew_it_is_the_same_function(same: dict[str, str]) -> None:
    assert digest(described("x + 1", **same)) == digest(described("x + 1"))


@pytest.mark.parametrize(
    "other",
    [
        described("x + 2"),
        described("x + 1", "x BIGINT"),
        described("x + 1", "x INT DEFAULT 2"),
        described("x + 1", **{"sqlFunction.returnType": "BIGINT"}),
        described("x + 1", **{"sqlConfig.spark.sql.ansi.enabled": "true"}),
        described("x + 1", **{"sqlConfig.spark.sql.session.timeZone": "America/New_York"}),
        described("x + 1", **{"sqlConfig.spark.sql.legacy.timeParserPolicy": "LEGACY"}),
        described("x + 1", **{"sqlFunction.deterministic": "false"}),
    ],
)
def test_it_is_another_function(other: list[dict[str, str]]) -> None:
    """It is evaluated under the settings that it was made with."""
    assert digest(other) != digest(described("x + 1"))


def test_what_it_calls_is_a_part_of_it() -> None:
    functions = {"shop.f": described("lib.g(x) + 1"), "lib.g": described("lib.h(x)"), "lib.h": described("x")}
    found = Functions().called(Warehouse(functions), ["shop.f"])
    assert set(found.frontier) == {"shop.f()", "lib.g()", "lib.h()"}
    assert set(found.below) == {"lib.g", "lib.h"}
    assert not found.unversioned


def test_functions_that_call_each_other_are_looked_at_once() -> None:
    functions = {"shop.f": described("shop.g(x)"), "shop.g": described("shop.f(x)")}
    assert set(Functions().called(Warehouse(functions), ["shop.f"]).frontier) == {"shop.f()", "shop.g()"}


@pytest.mark.parametrize(
    ("name", "functions", "reason"),
    [
        ("f", {}, "f() is no function of Spark's own, and is named without its schema"),
        ("shop.j", {"shop.j": JAVA}, "shop.j() is no SQL function"),
        (
            "shop.t",
            {"shop.t": described(None, **{"sqlFunction.isTableFunc": "true", "sqlFunction.query": "select 1"})},
            "shop.t() is no SQL function",
        ),
        (
            "shop.q",
            {"shop.q": described(None, **{"sqlFunction.query": "(select max(k) from t)"})},
            "shop.q() has a query for its text",
        ),
        ("shop.f", {"shop.f": described("g(x)")}, "within shop.f() the function g() is not maintained yet"),
        ("shop.f", {"shop.f": described("user")}, "within shop.f() user is none of its parameters"),
        ("shop.f", {"shop.f": described("shop.j(x)"), "shop.j": JAVA}, "shop.j() is no SQL function"),
        (
            "shop.f",
            {"shop.f": described("upper(x)", **{"sqlFunction.returnType": "STRING COLLATE UTF8_LCASE"})},
            "shop.f() gives a text of a collation",
        ),
        ("shop.f", {"shop.f": "[INSUFFICIENT_PERMISSIONS] no"}, "shop.f() cannot be looked at: [INSUFFICIENT"),
        ("a.b.f", {}, "a.b.f() cannot be looked at"),
    ],
)
def test_it_is_recomputed_each_time(name: str, functions: dict[str, Any], reason: str) -> None:
    class Elsewhere(Warehouse):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            if sql.count(".") > 1:
                raise WarehouseError("TRK-301", "[REQUIRES_SINGLE_PART_NAMESPACE]")
            return super().query(sql)

    found = Functions().called(Elsewhere(functions), [name])
    assert reason in "; ".join(map(str, found.unversioned))
    assert found.volatile == ()


@pytest.mark.parametrize(
    ("functions", "volatile"),
    [
        ({"shop.f": described("x", **{"sqlFunction.deterministic": "false"})}, "shop.f()"),
        # DETERMINISTIC is what its owner says.
        ({"shop.f": described("x + rand()")}, "rand in shop.f()"),
        ({"shop.f": described("x", "x DATE DEFAULT current_date()")}, "current_date in shop.f()"),
        ({"shop.f": described("shop.g(x)"), "shop.g": described("uuid()")}, "uuid in shop.g()"),
    ],
)
def test_a_volatile_one_is_told(functions: dict[str, Any], volatile: str) -> None:
    found = Functions().called(Warehouse(functions), ["shop.f"])
    assert found.volatile == (volatile,)
    assert f"{volatile} is volatile" in map(str, found.unversioned)


def test_one_that_is_gone_is_an_error() -> None:
    for functions in ({}, {"shop.f": described("shop.g(x)")}):
        with pytest.raises(ModelError, match=r"TRK-202.*the function shop\.[fg]\(\), which it calls, does not exist"):
            Functions().called(Warehouse(functions), ["shop.f"])


def test_a_lost_connection_is_no_answer() -> None:
    class Away(Warehouse):
        def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
            raise WarehouseError("TRK-306", "the server is away")

    with pytest.raises(WarehouseError, match="TRK-306"):
        Functions().called(Away({}), ["shop.f"])


def test_they_are_asked_for_once_until_they_may_have_been_made_anew() -> None:
    warehouse, functions = Warehouse({"shop.f": described("x + 1")}), Functions()
    first = functions.called(warehouse, ["shop.f"])
    warehouse.functions["shop.f"] = described("x + 2")
    assert functions.called(warehouse, ["shop.f"]) == first
    functions.forget()
    assert functions.called(warehouse, ["shop.f"]) != first
    assert len(warehouse.asked) == 2


@pytest.mark.parametrize(
    ("body", "parameters", "obstacle"),
    [
        ("case when f.X > 1 then x else y end", "x INT, y INT DEFAULT 1 + 1 COMMENT 'a, default'", ""),
        ("concat(x, z.a, 'it''s')", "x STRING, z STRUCT<a: INT> DEFAULT named_struct('a', 1)", ""),
        ("transform(x, y -> y + 1)", "x ARRAY<INT>", ""),
        ("1", "", ""),
        ("x", "x INTERVAL DAY TO SECOND, t TIME, `a b` MAP<STRING, ARRAY<INT>>", ""),
        ("x + user", "x INT", "user is none of its parameters"),
        ("(select x)", "x INT", "a subquery in an expression is not maintained yet"),
        ("sum(x)", "x INT", "sum() cannot be maintained in this place"),
        ("x from t", "x INT", "its text is no expression"),
        ("cast('10:30' as timestamp)", "", "TIMESTAMP '10:30' may be another moment later"),
        ("x +", "x INT", "its text is not understood"),
        ("x", "x INT, default INT", "its parameters are not understood: something else than names, types and defaults"),
    ],
)
def test_what_a_function_is_made_of(body: str, parameters: str, obstacle: str) -> None:
    assert looked_into(body, parameters).obstacle == obstacle


def test_defaults_are_looked_into_as_well() -> None:
    found = looked_into("x + y", "x INT, y INT DEFAULT lib.g(1), z DATE DEFAULT date 'today'")
    assert (found.calls, found.volatile) == (("lib.g",), ("date 'today'",))
