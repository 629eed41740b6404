"""The statements of each piece of work, in their order: what readers see, and when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt_trickle.catalog.state import Column, StreamTable
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.formats import delta
from dbt_trickle.formats.base import Marker
from dbt_trickle.names import Relation
from dbt_trickle.plan import steps
from dbt_trickle.plan.steps import Commit, Constraint, Docs, Target
from dbt_trickle.run.request import Request

PUBLIC, STORAGE = Relation.of("shop", "totals"), Relation.of("trickle_changes", "st_5_g2")
MARKER = Marker(5, 2, 2, "ALTER", "the query changed", "f", {}, "then", "run", 0)
COLUMNS = (Column("region", "string", "region"), Column("sum(x)", "bigint", "__pgt_out_1"))
TARGET = Target(PUBLIC, STORAGE, COLUMNS, properties=(("trickle.pgt_id", "5"),))


def words(step: steps.Step) -> str:
    return " ".join(step.sql.split()[:3])


@pytest.mark.parametrize(
    ("existing", "published"),
    [
        (None, ["CREATE VIEW `shop`.`totals`"]),
        ("ours", ["ALTER VIEW `shop`.`totals`", "ALTER VIEW `shop`.`totals`"]),
        ("view", ["ALTER VIEW `shop`.`totals`", "ALTER VIEW `shop`.`totals`"]),
        ("table", ["DROP TABLE `shop`.`totals`", "CREATE VIEW `shop`.`totals`"]),
    ],
)
def test_the_public_name_moves_last(existing: str | None, published: list[str]) -> None:
    plan = steps.load(TARGET, "select 1", MARKER, StreamTableConfig(), existing, TARGET.stored)
    assert isinstance(plan[0], Commit)
    assert [words(step) for step in plan[1:]] == published


def test_an_exposed_table_is_replaced_in_one_commit() -> None:
    target = Target(PUBLIC, PUBLIC, COLUMNS[:1])
    plan = steps.load(target, "select 1", MARKER, StreamTableConfig(expose="table"), "table", target.stored)
    assert [words(step) for step in plan] == ["CREATE OR REPLACE"]


def test_constraints_and_comments_come_before_readers_do() -> None:
    target = Target(
        PUBLIC,
        STORAGE,
        COLUMNS,
        Docs("it's", (("sum(x)", "all; of `it`"),)),
        (Constraint("positive", "x > 0"),),
    )
    plan = steps.load(target, "select 1", MARKER, StreamTableConfig(), None, target.stored)
    assert "'delta.constraints.positive' = 'x > 0'" in plan[0].sql
    assert [step.sql for step in plan[1:2]] == [
        "ALTER TABLE `trickle_changes`.`st_5_g2` ALTER COLUMN `__pgt_out_1` COMMENT 'all; of `it`'",
    ]
    assert r"COMMENT 'it\'s'" in plan[2].sql


def test_the_user_s_text_runs_as_it_is() -> None:
    query, config = "select region, sum(x) from t -- end", StreamTableConfig()
    (commit,) = steps.overwrite(TARGET, query, MARKER, config, TARGET.stored)
    assert commit.sql == (
        "INSERT OVERWRITE `trickle_changes`.`st_5_g2`\nSELECT * FROM (\nselect region, sum(x) from t -- end\n) "
        "AS `__pgt_query` (`region`, `__pgt_out_1`)"
    )


def test_layout() -> None:
    config = StreamTableConfig(partition_by=("REGION",), tblproperties=(("a", "b"),))
    target = replace(TARGET, location="/lake/st_5_g2")
    plan = steps.load(target, "select 1", MARKER, config, None, TARGET.stored)
    assert "PARTITIONED BY (`region`)" in plan[0].sql
    assert "LOCATION '/lake/st_5_g2'" in plan[0].sql
    assert "LOCATION '/lake/st_5_g2'" in steps.placeholder(target, "select 1", None)[0].sql
    clustered = steps.load(
        TARGET, "select 1", MARKER, StreamTableConfig(liquid_clustered_by=("sum(x)",)), None, TARGET.stored
    )
    assert "CLUSTER BY (`__pgt_out_1`)" in clustered[0].sql


def test_an_overwrite_gives_the_clustering_back() -> None:
    config = StreamTableConfig(liquid_clustered_by=("sum(x)", "Region"))
    commit, again = steps.overwrite(TARGET, "select 1", MARKER, config, TARGET.stored)
    assert isinstance(commit, Commit)
    assert again.sql == "ALTER TABLE `trickle_changes`.`st_5_g2` CLUSTER BY (`__pgt_out_1`, `region`)"


def test_a_property_that_was_taken_out_of_the_model_leaves_its_view() -> None:
    request = Request(5, "model.p.totals", PUBLIC, "select 1", "", StreamTableConfig(tblproperties=(("b", "2"),)))
    earlier = replace(request, config=StreamTableConfig(tblproperties=(("a", "1"), ("b", "1"))))
    before = StreamTable(5, PUBLIC.schema, PUBLIC.identifier, "model.p.totals", layout=earlier.layout)
    assert (request.unset(before), earlier.unset(before), request.unset(None)) == (("a",), (), ())
    target = replace(TARGET, unset=("a", "it's"))
    assert steps.publish(target, "ours")[-1].sql.endswith(r" UNSET TBLPROPERTIES IF EXISTS ('a', 'it\'s')")
    assert all("UNSET" not in step.sql for step in steps.publish(target, None))


def test_a_commit_takes_its_settings_back() -> None:
    before, after = delta.marked(MARKER)
    assert before[0].startswith("SET `spark.databricks.delta.commitInfo.userMetadata` = `{")
    assert before[1:] == (
        "SET `spark.databricks.delta.write.txnAppId` = `trickle_5`",
        "SET `spark.databricks.delta.write.txnVersion` = `2`",
    )
    assert [statement.split()[1] for statement in after] == [delta.METADATA, delta.APP, delta.BATCH]
