"""A tree's SELECT gives the query's rows, and Spark plans both alike."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sql_functions
import sql_support
import yaml

from dbt.adapters.trickle import embedded
from dbt_trickle.tree import functions, guard
from dbt_trickle.tree.build import Schema, build
from dbt_trickle.tree.render import state

pytestmark = pytest.mark.spark

# Right, but not recognized as such:
PLANNED_OTHERWISE = {
    # an alias that is used again in a branch of a union,
    "select k, -k as a, a + 1 as b from {o} union all select k, -k as a, a + 1 as b from {o}",
    # a LATERAL without FROM that reads the columns of another one,
    "select k, twice, four from {o} o, lateral (select o.k * 2 as twice) a, "
    "lateral (select twice * 2 as four) b where four > 4",
    # and an aggregate beside each row of which nothing is read.
    "select k from {o} o, lateral (select count(*) as n from {c} c where c.cid = o.cid) q",
}
# Calls that Spark's parser turns into others.
IN_THE_GRAMMAR = {"timestampadd", "timestampdiff"}
QUERIES = yaml.safe_load((Path(__file__).parent / "tree_queries.yml").read_text(encoding="utf-8"))
QUERIES += sql_functions.queries().values()
QUERIES += [line.sql for lines in sql_support.load().values() for line in lines if not line.why]
INFO = "named_struct('size', {}, 'tag', {})".format
T, U = "'t'", "'u'"
TABLES = {
    "o": (
        "k bigint, cid bigint, region string, amount decimal(10,2), at timestamp, x double, "
        "info struct<size:int,tag:string>, tags map<string,int>",
        [
            f"(1, 1, 'a', 10.50, timestamp '2024-01-31 10:00:00', 1.5D, {INFO(1, T)}, map('a', 1))",
            f"(1, 1, 'a', 10.50, timestamp '2024-01-31 10:00:00', 1.5D, {INFO(1, T)}, map('a', 1))",
            f"(2, 1, 'A', 20.00, timestamp '2024-02-29 23:59:59', -0.0D, {INFO(2, 'null')}, map('b', 2))",
            "(3, 2, 'b', null, null, 0.0D, null, null)",
            f"(4, null, null, 30.00, timestamp '2023-12-31 00:00:00', double('nan'), {INFO(1, T)}, map('c', 3))",
            f"(5, 3, null, -5.00, timestamp '2024-01-01 12:30:00', double('nan'), {INFO('null', U)}, null)",
            "(null, 9, 'x', 0.00, timestamp '2024-06-01 00:00:00', null, null, null)",
        ],
    ),
    "c": (
        "cid bigint, region string, name string",
        ["(1, 'a', 'Ann')", "(1, 'A', 'Bob')", "(2, 'b', null)", "(null, 'c', 'Cy')", "(3, null, 'Ann')"],
    ),
    "d": ("`Größe in cm` int, `x.y` int, `Order` string, `a``b` string", ["(1, 2, 'p', 'q')", "(2, null, null, '')"]),
}
# Parquet is read in a third of the time, but has no name with a space; Delta stores one under another name.
STORED = {"d": "delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"}


class TestTrees:
    @pytest.fixture(scope="class")
    def session(self, project: Any) -> Any:
        running = embedded.running()
        assert running is not None
        session = running.session.newSession()
        session.sql(f"USE {project.test_schema}")
        for statement in sql_functions.created(project.test_schema):
            session.sql(statement)
        for setting in guard.SETTINGS:
            session.conf.set(*setting)
        for name, (columns, rows) in TABLES.items():
            session.sql(f"CREATE TABLE {name} ({columns}) USING {STORED.get(name, 'parquet')}")
            session.sql(f"INSERT INTO {name} VALUES {', '.join(rows)}")
        return session

    @pytest.fixture(scope="class")
    def sources(self, session: Any) -> dict[str, Schema]:
        return {
            f"__pgt_source_{name}": Schema(
                f"shop.{name}", tuple((f.name, f.dataType.simpleString()) for f in session.table(name).schema.fields)
            )
            for name in TABLES
        }

    @pytest.mark.in_turn(3)
    @pytest.mark.parametrize("query", QUERIES)
    def test_rows_and_plans(self, session: Any, sources: dict[str, Schema], project: Any, query: str) -> None:
        lib = project.test_schema
        text = query.format(**{name: f"__pgt_source_{name}" for name in TABLES}, lib=lib)
        built = build(text, sources, sql_functions.names(lib))
        at = {schema.key: f"`{name.removeprefix('__pgt_source_')}`" for name, schema in sources.items()}
        original, ours = over_tables(built.text), state(built.tree, at)
        expected, found = session.sql(original), session.sql(ours)
        assert [kind for _, kind in found.dtypes] == [kind for _, kind in expected.dtypes]
        assert rows(found) == rows(expected)
        assert len(built.output_names) == len(expected.columns)
        asked = session.sql(f"EXPLAIN EXTENDED {original}").collect()[0][0]
        parting: list[str | None] = []
        for written in guard.candidates(built.tree, at):
            if None not in parting:
                parting.append(guard.difference(asked, session.sql(f"EXPLAIN EXTENDED {written}").collect()[0][0]))
        assert (None in parting) != (query in PLANNED_OTHERWISE), parting

    def test_spark_has_every_function_that_is_let_through(self, session: Any) -> None:
        known = {row[0].lower() for row in session.sql("SHOW SYSTEM FUNCTIONS").collect()}
        assert functions.SCALARS | set(functions.AGGREGATES) <= known | IN_THE_GRAMMAR

    def test_every_aggregate_of_sparks_is_classified(self, session: Any) -> None:
        """So that a new version's are looked at, and not only refused."""
        infos = session._jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos()
        found = {info.getName() for info in infos if info.getGroup() == "agg_funcs"}
        assert len(found) > 60
        assert found - set(functions.AGGREGATES) - functions.OF_GROUPING_SETS == set()


def over_tables(text: str) -> str:
    return text.replace("__pgt_source_", "")


def rows(found: Any) -> Counter[str]:
    """As text: NaN is NaN, and maps can be compared."""
    return Counter(str(tuple(row)) for row in found.collect())
