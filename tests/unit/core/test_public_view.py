"""A public view that is pinned: its text, made and read, and the statements around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from test_held_back import COLUMNS, NOW, SAME, Warehouse

from dbt_trickle.catalog.state import Column, HeldBack
from dbt_trickle.config import StreamTableConfig
from dbt_trickle.errors import WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.plan.public_view import Showing, showing, text_of
from dbt_trickle.plan.steps import Statement, Target, publish
from dbt_trickle.run import recover
from dbt_trickle.run.commit import _hold, _require_ours, run_steps
from dbt_trickle.run.consider import _is_another
from dbt_trickle.run.orphans import left_over
from dbt_trickle.run.recover import Tables
from dbt_trickle.run.request import Request
from dbt_trickle.run.retire import sweep

OLD, NEW = Relation.of("chan`ges", "st_1_g1"), Relation.of("chan`ges", "st_1_g2")
HELD = HeldBack(str(OLD), 7, (Column("größe`s", "int", "__pgt_out_0"), *COLUMNS), NOW, NOW)
PINNED = "SELECT `__pgt_out_0` AS `größe``s`, `x` FROM `chan``ges`.`st_1_g1` VERSION AS OF 7 AS `chan``ges.st_1_g2`"


def test_its_text_says_what_is_shown_and_what_will_be() -> None:
    assert text_of(COLUMNS, NEW, HELD) == PINNED
    assert showing(PINNED, 1) == Showing(OLD, 7, NEW)
    assert showing(PINNED, 2) is None
    assert recover.shown(PINNED, 1) == NEW
    assert recover.shows(PINNED, COLUMNS, NEW, HELD)
    laid_out = PINNED.replace(" VERSION AS", "\n  VERSION  AS").replace("SELECT", "select")
    assert (showing(laid_out, 1), recover.shows(laid_out, COLUMNS, NEW, HELD)) == (Showing(OLD, 7, NEW), True)
    assert not recover.shows(PINNED, COLUMNS, NEW)
    assert not recover.shows(PINNED.replace("OF 7", "OF 8"), COLUMNS, NEW, HELD)


@pytest.mark.parametrize(
    "text",
    [
        PINNED.replace("_1_g2", "_2_g2"),
        PINNED.replace("`chan``ges.st_1_g2`", "t"),
        f"{PINNED} WHERE x > 1",
        PINNED.replace("VERSION AS OF 7", "TIMESTAMP AS OF '2026-01-01'"),
    ],
)
def test_what_is_another(text: str) -> None:
    assert showing(text, 1) is None


@pytest.mark.parametrize("existing", ["ours", "view", "table", None])
def test_whatever_is_published_meanwhile_is_pinned(existing: str | None) -> None:
    target = Target(SAME[0].public, NEW, COLUMNS, held_back=HELD)
    steps = [step for step in publish(target, existing) if isinstance(step, Statement)]
    (made,) = (step for step in steps if " AS SELECT " in step.sql)
    assert made.sql.endswith(f" AS {PINNED}")
    assert made.publishes


def is_another(text: str, held: HeldBack | None, storage: Relation = NEW) -> bool:
    state = replace(SAME[0], storage_relation=str(storage), held_back=held)
    given = Request(1, "", state.public, "select 1", "", StreamTableConfig(), existing="view", shown=text)
    return _is_another(given, state)


def test_dbt_may_have_looked_before_it_was_moved() -> None:
    assert not is_another(PINNED, HELD)
    assert not is_another(PINNED, None), "it was let go meanwhile"
    assert not is_another(text_of(COLUMNS, NEW), HELD), "it is held back since"
    assert is_another(PINNED.replace("SELECT", "SELECT DISTINCT"), HELD)


class TestHold:
    def here(self, warehouse: Warehouse) -> Any:
        request = SimpleNamespace(public=SAME[0].public, pgt_id=1)
        return SimpleNamespace(session=warehouse, request=request, before=SAME[0])

    def test_only_where_they_do_not_stay_yet(self) -> None:
        warehouse = Warehouse(SAME[0])
        sql = f"ALTER VIEW {SAME[0].public.sql} AS {text_of(COLUMNS, SAME[0].storage, HELD)}"
        _hold(self.here(warehouse), sql)
        _hold(self.here(warehouse), sql)
        assert warehouse.done == [sql]
        warehouse.views[SAME[0].public.sql] = text_of(COLUMNS, SAME[0].storage)
        _hold(self.here(warehouse), sql)
        assert warehouse.done == [sql, sql], "another run has let them go on"
        warehouse.views[SAME[0].public.sql] = "SELECT 1"
        _hold(self.here(warehouse), sql)
        assert warehouse.done == [sql, sql], "it is somebody else's"

    def test_not_where_another_run_has_led_them_to_another_storage(self) -> None:
        warehouse = Warehouse(replace(SAME[0], storage_relation="changes.st_1_g2"))
        here = self.here(warehouse)
        here.phases = SimpleNamespace(lap=lambda _: None)
        statement = Statement(
            f"ALTER VIEW {SAME[0].public.sql} AS {text_of(COLUMNS, SAME[0].storage, HELD)}", holds=True
        )
        with pytest.raises(WarehouseError, match="TRK-303"):
            run_steps(here, (statement,))
        assert warehouse.done == []

    def test_not_from_what_another_run_has_shown(self) -> None:
        _require_ours(self.here(Warehouse(SAME[0])))
        with pytest.raises(WarehouseError, match="TRK-303"):
            _require_ours(self.here(Warehouse(SAME[0], batch=2)))


class Histories:
    def __init__(self, *versions: int) -> None:
        self.versions, self.asked = versions, 0

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        self.asked += 1
        if not self.versions:
            raise WarehouseError("TRK-301", "DELTA_TABLE_NOT_FOUND")
        limit, made = int(sql.rpartition(" ")[2]), Warehouse()
        (row,) = made.query("DESCRIBE HISTORY `changes`.`st_1_g1`")
        return [{**row, "version": version} for version in self.versions][:limit]


@pytest.mark.parametrize(
    ("versions", "found", "asked"),
    [((9, 8, 7, 6), 7, 1), ((9, 8, 5), 5, 1), ((9, 8), None, 1), (tuple(range(99, -1, -1)), 7, 2), ((), None, 1)],
)
def test_what_made_the_rows_of_a_version(versions: Sequence[int], found: int | None, asked: int) -> None:
    histories: Any = Histories(*versions)
    made = recover.marked_until(histories, OLD, 1, 7)
    assert ((made[0].version if made is not None else None), histories.asked) == (found, asked)


@pytest.fixture
def dropped() -> tuple[list[str], Any]:
    done: list[str] = []
    query: Callable[[str], Sequence[Mapping[str, Any]]] = lambda _: []  # noqa: E731
    return done, SimpleNamespace(execute=done.append, query=query)


def test_what_readers_are_shown_is_not_dropped(dropped: tuple[list[str], Any]) -> None:
    done, session = dropped
    state = replace(SAME[0], generation=2, storage_relation=str(NEW), retired=((1, "2020-01-01T00:00:00+00:00"),))
    assert sweep(session, replace(state, held_back=HELD), (), "chan`ges", NOW).retired == state.retired
    assert done == []
    assert sweep(session, state, (), "chan`ges", NOW).retired == ()
    assert done == [f"DROP TABLE IF EXISTS {OLD.sql}"]
    storages = Tables({(1, 1): OLD, (1, 2): NEW})
    forgotten = replace(state, retired=())
    assert [orphan.relation for _, orphan in left_over({1: forgotten}, storages)] == [OLD]
    assert list(left_over({1: replace(forgotten, held_back=HELD)}, storages)) == []
