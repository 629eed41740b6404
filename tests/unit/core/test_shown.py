"""Whether what has a stream table's name is its view, by the view's text."""

from __future__ import annotations

import pytest

from dbt_trickle.catalog.state import Column, StreamTable
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.names import Relation
from dbt_trickle.plan.steps import Statement, Target, publish
from dbt_trickle.run import recover
from dbt_trickle.run.consider import _is_another
from dbt_trickle.run.request import Request

COLUMNS = (Column("region", "string", "region"), Column("sum(x)", "bigint", "__pgt_out_1"))
STORAGE = Relation.of("changes", "st_5_g1")
OURS = "SELECT `region`, `__pgt_out_1` AS `sum(x)` FROM `changes`.`st_5_g1`"
TABLE = StreamTable(
    5, "shop", "totals", "model.shop.totals", str(STORAGE), 1, is_populated=True, columns=COLUMNS, expose="view"
)


def is_another(text: str | None, existing: str = "view", state: StreamTable = TABLE) -> bool:
    request = Request(
        5, TABLE.dbt_unique_id, TABLE.public, "select 1", "", StreamTableConfig(), existing=existing, shown=text
    )
    return _is_another(request, state)


@pytest.mark.parametrize(
    "columns", [COLUMNS, (Column("größe`s  \n", "int", "__pgt_out_0"), Column("FROM", "int", "FROM"))]
)
@pytest.mark.parametrize("existing", ["ours", "view", "table", None])
def test_what_is_published_is_ours(columns: tuple[Column, ...], existing: str | None) -> None:
    """By the very statement that makes the view: Spark keeps what stands behind its AS."""
    made = next(
        step.sql
        for step in publish(Target(TABLE.public, STORAGE, columns), existing)
        if isinstance(step, Statement) and " AS SELECT " in step.sql
    )
    text = made[made.index(" AS SELECT ") + len(" AS ") :]
    assert recover.shown(text, 5) == STORAGE
    assert recover.shows(text, columns, STORAGE)


@pytest.mark.parametrize(
    "text", [OURS, f"{OURS}\n", OURS.replace(", ", ",\n  ").replace("SELECT", "select"), f"-- ours\n{OURS}"]
)
def test_white_space_and_comments_say_nothing(text: str) -> None:
    assert not is_another(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT `region`, `__pgt_out_1` * 2 AS `sum(x)` FROM `changes`.`st_5_g1`",
        "SELECT `region`, `__pgt_out_1` AS `SUM(x)` FROM `changes`.`st_5_g1`",
        "SELECT `__pgt_out_1` AS `sum(x)`, `region` FROM `changes`.`st_5_g1`",
        "SELECT `region` FROM `changes`.`st_5_g1`",
        "SELECT * FROM `changes`.`st_5_g1`",
        OURS.replace("SELECT", "SELECT DISTINCT"),
        f"SELECT `region`, `sum(x)` FROM shop.more UNION ALL {OURS}",
        f"{OURS} WHERE `region` <> 'north'",
        OURS.replace("st_5", "st_6"),
        "SELECT 1 AS region",
    ],
)
def test_what_computes_something_else_is_another(text: str) -> None:
    assert is_another(text)


def test_what_is_not_to_be_judged_by_a_text() -> None:
    assert not is_another(None), "it is not known"
    assert not is_another(OURS.replace("_g1", "_g2")), "another run has led readers on since dbt looked"
    assert is_another(None, "table")
    of_its_own = StreamTable(5, "shop", "totals", "model.shop.totals", "shop.totals", expose="table")
    assert not is_another(None, "table", of_its_own)
