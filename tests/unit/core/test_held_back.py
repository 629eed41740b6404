"""Of an atomic diamond: when its readers stay with what they see, and when they go on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from test_epochs import NUMBERS, table

from dbt_trickle.catalog import store
from dbt_trickle.catalog.state import Column, HeldBack, StreamTable
from dbt_trickle.config import ProjectSettings, StreamTableConfig
from dbt_trickle.errors import ModelError, WarehouseError
from dbt_trickle.names import Relation
from dbt_trickle.plan import atomic, epochs
from dbt_trickle.plan.decide import Decision, Facts, Work
from dbt_trickle.plan.public_view import text_of
from dbt_trickle.run import held_back, holding
from dbt_trickle.run.announced import Outcome, Planned
from dbt_trickle.run.invocation import Invocation

NOW, LATER = "2026-01-01T00:00:00.000+00:00", "2026-01-01T02:00:00.000+00:00"
COLUMNS = (Column("x", "int", "x"),)
ATOMIC = StreamTableConfig(diamond_consistency="atomic")
DELTA = Decision("DIFFERENTIAL", "it rains", Work.DELTA)


def member(name: str, version: int = 5, held: bool = False, **reads: int) -> StreamTable:
    """Its storage is at that version; what it reads of the others is, too."""
    state = replace(
        table(name, **reads),
        storage_relation=f"changes.st_{NUMBERS[name]}_g1",
        generation=1,
        diamond_consistency="atomic",
        columns=COLUMNS,
        storage_version=version,
        storage_at=f"{version:03}",
        data_timestamp=NOW,
        batch=1,
    )
    frontier = {
        key: replace(read, table_id=f"changes.st_{key.removeprefix('pgt_')}_g1") if read.kind != "TABLE" else read
        for key, read in state.frontier.items()
    }
    return replace(state, frontier=frontier, held_back=HELD if held else None)


HELD = HeldBack("changes.st_1_g1", 4, COLUMNS, NOW, NOW)
SAME = (member("a", t=1), member("b", t=1), member("c", a=5, b=5, t=1))
A_AHEAD = (member("a", 6, held=True, t=2), member("b", t=1), member("c", a=5, b=5, t=1))


def names(found: Sequence[StreamTable]) -> list[str]:
    return [each.pgt_name for each in found]


class TestTogether:
    def test_members(self) -> None:
        alone = member("d", x=1)
        assert names(atomic.members(SAME[0], (*SAME, alone))) == ["a", "b", "c"]
        assert atomic.members(alone, (*SAME, alone)) == ()
        assert atomic.is_atomic(SAME)
        assert not atomic.is_atomic(replace(each, diamond_consistency="none") for each in SAME)

    def test_they_agree_on_all_that_two_of_them_have(self) -> None:
        assert atomic.apart(SAME) == ()
        told = {str(clash) for clash in atomic.apart(A_AHEAD)}
        assert told == {
            "shop.t is at version 2 in shop.a and at 1 in shop.b",
            "shop.a is at version 6 in shop.a and at 5 in shop.c",
        }
        unread = (member("a", 6, t=1), *SAME[1:])
        assert [clash.behind.key for clash in atomic.apart(unread)] == ["pgt_1"], "by a source of its own"

    @pytest.mark.parametrize(
        ("tables", "to_come", "shown"),
        [
            ((replace(SAME[0], held_back=HELD), *SAME[1:]), (), ["a"]),
            ((replace(SAME[0], held_back=HELD), *SAME[1:]), (3,), []),
            ((replace(SAME[0], held_back=HELD), *SAME[1:]), (4,), ["a"]),
            (A_AHEAD, (), []),
            ((A_AHEAD[0], *(replace(each, diamond_consistency="none") for each in A_AHEAD[1:])), (), []),
            (tuple(replace(each, diamond_consistency="none") for each in A_AHEAD), (), ["a"]),
            (A_AHEAD[:2], (), ["a"]),
            (A_AHEAD[:2], (1,), []),
        ],
        ids=[
            "agree",
            "one to come",
            "another to come",
            "apart",
            "strictest",
            "not asked any more",
            "no diamond",
            "busy",
        ],
    )
    def test_due(self, tables: Sequence[StreamTable], to_come: Sequence[int], shown: list[str]) -> None:
        found = [table for group in atomic.due(tables, to_come) for table in group]
        assert [each.pgt_name for each in found if each.held_back is not None] == shown

    def test_in_the_catalog(self) -> None:
        (group,) = epochs.groups(A_AHEAD, {}).values()
        assert (group.consistency, group.held_back) == ("atomic", ("shop.a",))
        assert epochs.moved(A_AHEAD[0], replace(A_AHEAD[0], held_back=None))
        kept = StreamTable.from_row(json.loads(json.dumps(A_AHEAD[0].to_row())))
        assert kept == A_AHEAD[0]


def facts(before: StreamTable, **more: Any) -> Facts:
    return Facts(ATOMIC, before, "", "", {}, **more)


class TestHeld:
    def held(self, before: StreamTable, config: StreamTableConfig = ATOMIC, **more: Any) -> HeldBack | None:
        decision = more.pop("decision", DELTA)
        found = held_back.held(before, config, facts(before, **more), decision, SAME, LATER)
        assert found is not None
        return found.held_back

    def test_at_what_readers_see(self) -> None:
        expected = HeldBack("changes.st_1_g1", 5, COLUMNS, NOW, LATER)
        assert self.held(SAME[0]) == expected
        assert self.held(replace(SAME[0], seen_version=7)) == replace(expected, version=7)
        assert self.held(SAME[0], StreamTableConfig()) == expected, "the others are atomic"
        assert self.held(A_AHEAD[0]) == HELD, "they go on seeing what they saw"

    @pytest.mark.parametrize("gone", ["previous_storage_missing", "shows_another"])
    def test_what_is_gone_cannot_be_stayed_with(self, gone: str) -> None:
        assert self.held(SAME[0], **{gone: True}) is None
        lost = replace(SAME[0], held_back=HELD)
        assert (self.held(lost, **{gone: True}) is None) == (gone == "previous_storage_missing")

    def test_where_nothing_is_committed(self) -> None:
        assert self.held(SAME[0], decision=Decision("NO_DATA", "it rains", Work.NOTHING)) is None

    def test_who_has_no_view(self) -> None:
        assert self.held(SAME[0], StreamTableConfig(expose="table")) is None
        shown = replace(SAME[1], expose="table")
        with pytest.raises(ModelError, match=r"shop\.b, which is of the same diamond, has `expose: table`") as raised:
            held_back.held(SAME[0], ATOMIC, facts(SAME[0]), DELTA, (SAME[0], shown), LATER)
        assert raised.value.code == "TRK-217"


class Warehouse:
    """Views by their names, and what storages have for their newest commit."""

    def __init__(self, *states: StreamTable, batch: int = 1) -> None:
        self.catalog = [store.schema_version(), *map(store.stream_table, states)]
        self.views = {each.public.sql: text_of(COLUMNS, each.storage, each.held_back) for each in states}
        self.batch, self.done, self.refuses = batch, list[str](), ""
        self.batches: dict[int, int] = {}

    def execute(self, sql: str) -> None:
        if self.refuses and self.refuses in sql:
            raise WarehouseError("TRK-301", "Permission denied")
        self.done.append(sql)
        if found := re.fullmatch(r"ALTER VIEW (\S+) AS (.*)", sql):
            self.views[found[1]] = found[2]

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if "pgt_journal" in sql:
            return [vars(entry) for entry in self.catalog]
        if found := re.fullmatch(r"DESCRIBE TABLE EXTENDED (\S+)", sql):
            if found[1] not in self.views:
                raise WarehouseError("TRK-301", "[TABLE_OR_VIEW_NOT_FOUND]")
            return [{"col_name": "View Text", "data_type": self.views[found[1]]}]
        if found := re.match(r"DESCRIBE HISTORY `changes`.`st_(\d+)", sql):
            number = int(found[1])
            marker = {"pgt_id": number, "batch": self.batches.get(number, self.batch), "generation": 1}
            marker |= {"action": "FULL", "reason": "", "fingerprint": "", "frontier": {}}
            marker |= {"data_timestamp": NOW, "run": "r", "rows_before": 0}
            row = {"version": 9, "timestamp": NOW, "operation": "MERGE", "operationMetrics": {}}
            return [{**row, "userMetadata": json.dumps({"trickle": marker})}]
        raise WarehouseError("TRK-301", "no right to see that")


class TestReleased:
    def released(self, warehouse: Warehouse, *tables: StreamTable) -> tuple[list[str], list[str]]:
        told: list[str] = []
        return names(held_back.released(warehouse, tables, told.append)), told

    def test_each_view_once(self) -> None:
        held = A_AHEAD[0]
        warehouse = Warehouse(held)
        assert self.released(warehouse, held) == (["a"], [])
        assert warehouse.done == ["ALTER VIEW `shop`.`a` AS SELECT `x` FROM `changes`.`st_1_g1`"]
        assert self.released(warehouse, held) == (["a"], []), "another run has done it"
        assert len(warehouse.done) == 1

    def test_another_run_has_gone_further(self) -> None:
        warehouse = Warehouse(A_AHEAD[0], batch=2)
        assert self.released(warehouse, A_AHEAD[0]) == ([], [])
        led_on = Warehouse(replace(A_AHEAD[0], storage_relation="changes.st_1_g2"))
        assert self.released(led_on, A_AHEAD[0]) == ([], [])
        another = Warehouse(*A_AHEAD[:2])
        another.batches[2] = 7
        assert self.released(another, *A_AHEAD[:2]) == ([], []), "it does not agree with what is there"
        assert warehouse.done + led_on.done == []

    def test_what_fails_is_told(self) -> None:
        warehouse = Warehouse(A_AHEAD[0])
        warehouse.refuses = "ALTER VIEW"
        shown, (told,) = self.released(warehouse, A_AHEAD[0])
        assert shown == []
        assert "readers of shop.a could not be shown the newest rows" in told

    def test_who_has_just_looked_reads_on(self) -> None:
        retired = replace(A_AHEAD[0], retired=((1, NOW), (11, NOW)), generation=2)
        assert held_back.let_go(retired, LATER).retired == ((1, LATER), (11, NOW))
        assert held_back.let_go(retired, LATER).held_back is None


class TestFreshened:
    def test_a_version_that_delta_would_soon_refuse(self) -> None:
        old = replace(atomic.hold(SAME[0], LATER), storage_version=8, storage_at=NOW)
        old = replace(old, held_back=replace(old.held_back or HELD, version=8))
        warehouse = Warehouse(old)
        found = held_back.freshened(warehouse, old, LATER)
        assert [sql for sql in warehouse.done if "SET TBLPROPERTIES" in sql] == warehouse.done != []
        assert found.held_back is not None
        assert (found.held_back.version, found.stored_version, found.storage_version) == (9, 9, 8)
        assert held_back.freshened(warehouse, old, NOW) == old, "it is of today"
        behind = replace(old, storage_version=9)
        assert held_back.freshened(warehouse, behind, LATER) == behind, "an older one is what they see"


@dataclass(frozen=True)
class Here:
    before: StreamTable
    session: Warehouse
    now: str = NOW
    known: StreamTable = SAME[0]
    doubted: list[StreamTable] = field(default_factory=list)

    @property
    def run(self) -> Any:
        return SimpleNamespace(state=lambda _: self.known, doubt=self.doubted.append)

    @property
    def request(self) -> Any:
        return SimpleNamespace(pgt_id=1)


class TestHolding:
    def test_it_begins_with_something_to_commit(self) -> None:
        state = replace(SAME[0], storage_at=NOW)
        here: Any = Here(replace(state, held_back=HELD), Warehouse(state), known=state)
        assert holding.begun(here, DELTA).before == here.before == here.doubted[0]
        asked_for: Any = Here(SAME[0], Warehouse(SAME[0]))
        assert (holding.begun(asked_for, DELTA), asked_for.doubted) == (asked_for, [])

    def test_what_the_run_knows_besides_stays(self) -> None:
        """That a differential refresh is being tried, for one."""
        tried = replace(SAME[0], storage_at=NOW, told=replace(SAME[0].told, patience=4))
        here: Any = Here(replace(SAME[0], held_back=HELD, storage_at=NOW), Warehouse(SAME[0]), known=tried)
        holding.begun(here, DELTA)
        assert here.doubted == [replace(tried, held_back=HELD)]

    def test_the_other_way_of_a_refresh_goes_on_from_the_fresher_version(self) -> None:
        """Or readers would go back to one that Delta is about to refuse."""
        old = replace(atomic.hold(SAME[0], LATER), storage_version=8, storage_at=NOW)
        old = replace(old, held_back=replace(old.held_back or HELD, version=8))
        first: Any = Here(old, Warehouse(old), now=LATER, known=replace(old, held_back=None))
        done = holding.begun(first, DELTA).before
        assert (done.held_back.version, done.stored_version) == (9, 9)
        again: Any = Here(old, first.session, now=LATER, known=first.doubted[-1])
        assert holding.begun(again, DELTA).before == done
        assert len([sql for sql in first.session.done if "SET TBLPROPERTIES" in sql]) == 1

    def test_nothing_to_commit_holds_nobody(self) -> None:
        here: Any = Here(replace(SAME[0], held_back=HELD), Warehouse(SAME[0]))
        assert holding.not_begun(here).before == SAME[0]
        earlier: Any = replace(here, known=here.before)
        assert holding.not_begun(earlier).before.held_back == HELD, "an earlier refresh has told them"


def ran(warehouse: Warehouse, *after: StreamTable, status: str = "COMPLETED") -> dict[str, list[Any]]:
    """What a run that brings these tells the catalog."""
    run = Invocation("i", ProjectSettings(), lambda: LATER)
    run.open(warehouse, [Planned(each.pgt_id, f"r{each.pgt_id}", each.public) for each in after])
    for each in after:
        row = replace(run.running(each.pgt_id), action="FULL", status=status, reason="it rains")
        run.finish(Outcome(row, each))
        run.release(warehouse)
    run.close(warehouse)
    entry = r"\('(\w+)', '[^']*', current_timestamp\(\), -?\d+, 'i', '(.*)'\)"
    told: dict[str, list[Any]] = {}
    for kind, payload in re.findall(entry, warehouse.done[-1]):
        told.setdefault(kind, []).append(json.loads(payload.replace("\\\\", "\\").replace("\\'", "'")))
    return told


class TestRun:
    def test_who_is_ahead_waits_and_says_so(self) -> None:
        warehouse = Warehouse(*SAME)
        warehouse.views[A_AHEAD[0].public.sql] = text_of(COLUMNS, A_AHEAD[0].storage, HELD)
        told = ran(warehouse, A_AHEAD[0])
        assert told["history"][0]["reason"].startswith(
            "it rains; readers are shown what was there before, until all of its diamond have come: shop.t is at "
        )
        assert [row["event"] for row in told["event"]] == ["publication_held_back"]
        assert told["diamond"][0]["held_back"] == ["shop.a"]
        assert "VERSION AS OF 4" in warehouse.views["`shop`.`a`"]

    def test_one_that_failed_has_nothing_to_wait_with(self) -> None:
        warehouse = Warehouse(*SAME[:1], member("b", t=2), SAME[2])
        warehouse.views[SAME[0].public.sql] = text_of(COLUMNS, SAME[0].storage, HELD)
        told = ran(warehouse, replace(SAME[0], held_back=HELD), status="FAILED")
        assert (told["history"][0]["reason"], "event" in told) == ("it rains", False)
        assert told["stream_table"][0]["held_back"] is not None, "the next run looks after it"

    def test_the_last_one_of_another_run_shows_all(self) -> None:
        """Whose rows the run has not refreshed is written, too."""
        warehouse = Warehouse(*A_AHEAD)
        b, c = member("b", t=2), member("c", a=6, b=5, t=2)
        told = ran(warehouse, b, c)
        assert "VERSION" not in warehouse.views["`shop`.`a`"]
        written = {row["pgt_name"]: row["held_back"] for row in told["stream_table"]}
        assert written == {"a": None, "b": None, "c": None}
        assert "event" not in told
        assert told["diamond"][0]["held_back"] == []

    @pytest.mark.parametrize("meanwhile", ["dropped", "altered", "refreshed"])
    def test_what_another_run_has_done_with_it_meanwhile_is_that_run_s_to_tell(self, meanwhile: str) -> None:
        warehouse = Warehouse(replace(A_AHEAD[0], held_back=HELD), member("b", t=2), member("c", a=6, b=5, t=2))
        run = Invocation("i", ProjectSettings(), lambda: LATER)
        run.open(warehouse, [Planned(99, "r", Relation.of("shop", "other"))])
        name = "`shop`.`a`"
        assert "VERSION" not in warehouse.views[name]
        if meanwhile == "altered":
            warehouse.views[name] = text_of(COLUMNS, Relation.of("changes", "st_1_g2"))
        elif meanwhile == "refreshed":
            warehouse.batches[1] = 2
        else:
            del warehouse.views[name]
        run.close(warehouse)
        assert "'stream_table'" not in warehouse.done[-1]

    def test_what_another_run_has_computed_it_from_is_asked_for_again(self) -> None:
        """Else it would go back to what this run has found of it when it began."""
        run = Invocation("i", ProjectSettings(), lambda: LATER)
        run.open(Warehouse(*SAME), [Planned(SAME[0].pgt_id, "r", SAME[0].public)])
        run.finish(Outcome(replace(run.running(SAME[0].pgt_id), action="NO_DATA", status="COMPLETED"), SAME[0]))
        assert run._stands(SAME[0])
        run._ask_again(SAME[2])
        assert not run._stands(SAME[0])

    def test_what_a_run_that_died_did_not_come_to(self) -> None:
        """All agree, and one is not let go: before anything else is done."""
        warehouse = Warehouse(replace(A_AHEAD[0], held_back=HELD), member("b", t=2), member("c", a=6, b=5, t=2))
        run = Invocation("i", ProjectSettings(), lambda: LATER)
        run.open(warehouse, [Planned(NUMBERS["b"], "r", SAME[1].public)])
        assert "VERSION" not in warehouse.views["`shop`.`a`"]
