"""Members of a diamond that have the same of what they share have one epoch."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbt_trickle.catalog import store
from dbt_trickle.catalog.state import DiamondGroup, StreamTable
from dbt_trickle.config import ProjectSettings
from dbt_trickle.errors import WarehouseError
from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan import epochs
from dbt_trickle.run.announced import Outcome, Planned
from dbt_trickle.run.invocation import Invocation

NUMBERS = {"a": 1, "b": 2, "c": 3, "d": 4}


def table(name: str, **reads: int) -> StreamTable:
    """At these versions; what it reads of stream tables was computed from those of tables."""
    found = {}
    for source, version in reads.items():
        of = NUMBERS.get(source)
        key, kind = (f"pgt_{of}", "STREAM_TABLE") if of else (f"shop.{source}", "TABLE")
        found[key] = SourceVersion(key, kind, f"shop.{source}", "id", version, f"{version:03}", version + 1, "seen")
    direct = {key: v for key, v in found.items() if name != "c" or v.kind == "STREAM_TABLE"}
    origins = found if name == "c" else {}
    state = StreamTable(NUMBERS[name], "shop", name, f"model.{name}", f"changes.st_{name}", is_populated=True)
    return replace(state, frontier=direct, origins=origins)


def placed(before: Mapping[str, DiamondGroup], *tables: StreamTable) -> dict[str, DiamondGroup]:
    """As the catalog has it afterwards."""
    found = epochs.groups(tables, before)
    rows = {name: json.loads(json.dumps(group.to_row())) for name, group in found.items()}
    kept = {name: DiamondGroup.from_row(row) for name, row in rows.items()}
    assert kept == found
    return kept


def test_members_come_one_after_the_other() -> None:
    found = placed({}, table("a", t=1), table("b", t=1), table("c", a=1, b=1, t=1))
    assert (list(found), found["shop.c"].epochs) == (["shop.c"], {"shop.a": 1, "shop.b": 1, "shop.c": 1})
    found = placed(found, table("a", t=2), table("b", t=1), table("c", a=1, b=1, t=1))
    assert found["shop.c"].epochs == {"shop.a": 2, "shop.b": 1, "shop.c": 1}
    row = found["shop.c"].to_row()
    assert (row["epoch"], row["newest_epoch"], row["convergence_points"]) == (1, 2, ("shop.c",))
    found = placed(found, table("a", t=2), table("b", t=3), table("c", a=1, b=1, t=1))
    assert found["shop.c"].epochs == {"shop.a": 2, "shop.b": 3, "shop.c": 1}
    found = placed(found, table("a", t=3), table("b", t=3), table("c", a=1, b=1, t=1))
    found = placed(found, table("a", t=3), table("b", t=3), table("c", a=3, b=3, t=3))
    assert found["shop.c"].epochs == {"shop.a": 3, "shop.b": 3, "shop.c": 3}


def test_an_epoch_is_one_state_of_all_that_is_shared() -> None:
    """`a` has the u of `b`, but not the t of `d`."""
    shared = {"b": table("b", u=1), "d": table("d", t=1)}
    top = replace(table("c", a=1, b=1, d=1, t=1, u=1))
    found = placed({}, table("a", t=1, u=1), *shared.values(), top)
    assert set(found["shop.c"].epochs.values()) == {1}
    found = placed(found, table("a", t=2, u=1), *shared.values(), top)
    assert found["shop.c"].epochs == {"shop.a": 2, "shop.b": 1, "shop.c": 1, "shop.d": 1}


def test_a_stream_table_shows_its_own() -> None:
    tables = [table("a", t=1), table("b", t=1), table("c", a=1, b=1, t=1), table("d", x=1)]
    found = placed({}, *tables)
    assert [(each.diamond_group, each.epoch) for each in (epochs.placed(t, found) for t in tables)] == [
        ("shop.c", 1),
        ("shop.c", 1),
        ("shop.c", 1),
        (None, None),
    ]


class Warehouse:
    """Has a catalog of so many entries, and lets nobody switch on what shows changes."""

    def __init__(self, *entries: store.Entry) -> None:
        self.entries, self.done = [store.schema_version(), *entries], list[str]()

    def execute(self, sql: str) -> None:
        self.done.append(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if sql.startswith("SHOW TBLPROPERTIES"):
            raise WarehouseError("TRK-301", "no right to see them")
        return [vars(entry) for entry in self.entries] if "pgt_journal" in sql else []


def written(warehouse: Warehouse, *tables: StreamTable, dropped: int | None = None) -> dict[str, list[str]]:
    """What a run tells the catalog at its end, by kind; it has refreshed these."""
    run = Invocation("i", ProjectSettings(), lambda: "2026-01-01T00:00:00.000+00:00")
    told: dict[str, list[str]] = {}
    run.open(warehouse, [Planned(each.pgt_id, f"r{each.pgt_id}", each.public) for each in tables])
    for each in tables:
        run.finish(Outcome(replace(run.running(each.pgt_id), action="NO_DATA", status="COMPLETED"), each))
    if dropped is not None:
        run.forget(dropped)
    run.close(warehouse)
    entry = r"\('(\w+)', '[^']*', current_timestamp\(\), -?\d+, 'i', '(.*)'\)"
    for kind, payload in re.findall(entry, warehouse.done[-1]):
        told.setdefault(kind, []).append(payload)
    return told


def test_a_run_tells_where_the_members_are() -> None:
    tables = [table("a", t=1), table("b", t=1), table("c", a=1, b=1, t=1)]
    told = written(Warehouse(), *tables)
    (group,) = map(json.loads, told["diamond"])
    assert (group["diamond_group"], group["epoch"]) == ("shop.c", 1)
    rows = [json.loads(row) for row in told["stream_table"]]
    assert [(row["diamond_group"], row["epoch"]) for row in rows] == [("shop.c", 1)] * 3
    known = [*map(store.stream_table, tables), store.diamond("shop.c", DiamondGroup.from_row(group))]
    assert "diamond" not in written(Warehouse(*known), *tables), "nothing moved"
    (group,) = map(json.loads, written(Warehouse(*known), table("a", t=2))["diamond"])
    assert (group["epoch"], group["newest_epoch"]) == (1, 2)
    assert written(Warehouse(*known), dropped=NUMBERS["b"])["diamond"] == [""], "they meet no more"


def test_what_stood_still_has_not_moved() -> None:
    assert not epochs.moved(table("a", t=1), replace(table("a", t=1), rows=5))
    assert epochs.moved(table("a", t=1), table("a", t=2))
    assert epochs.moved(None, table("a", t=1))
