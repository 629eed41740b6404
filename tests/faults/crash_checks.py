"""What must hold after a death: for readers at once, and for everything else after the next run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crash_cases import Case, storages
from engine_world import Rows

from dbt_trickle.catalog.state import Dependency, StreamTable
from dbt_trickle.errors import WarehouseError
from dbt_trickle.run import recover, repair, verify
from dbt_trickle.run.frozen import Frozen
from dbt_trickle.run.session import is_missing


@dataclass(frozen=True)
class Dead:
    case: Case
    run: str  # the invocation that died
    served: bool | None  # what it had committed was what readers saw; none: so much cannot be told
    where: str


def readers_are_served(case: Case, old: Rows | None, where: str) -> None:
    """Old or new; a name that is being made or dropped may be absent, but nothing broken is under it."""
    try:
        shown = case.shown()
    except WarehouseError as problem:
        assert is_missing(problem) and case.request.public.identifier in str(problem), f"{where}: {problem}"
        assert old is None or case.gap, f"{where}: {problem}"
        return
    if old is not None and shown != old:
        assert shown == case.world.rows(case.request.query), f"{where}: a reader met {shown}"


def _shown_storage(case: Case) -> str | None:
    """The storage that readers see, from the one thing that they go by."""
    kind = case.world.kind_of(case.request.public)
    if kind != "view":
        return str(case.request.public) if kind else None
    text = case.world.looking.query(f"SHOW CREATE TABLE {case.request.public.sql}")[0]["createtab_stmt"]
    return str(text.rsplit("FROM", 1)[1]).replace("`", "").strip().removeprefix("spark_catalog.")


def _markers(case: Case, storage: str) -> list[Any]:
    relation = type(case.request.public)(tuple(storage.split(".")))
    return recover.marked_commits(case.world.looking, relation, case.request.pgt_id)


def serves(case: Case, run: str) -> bool:
    storage = _shown_storage(case)
    return storage is not None and any(marker.run == run for _, marker in _markers(case, storage)[:1])


def all_right(dead: list[Dead]) -> None:
    """One run recovers all of them; what is wrong is told of all."""
    world = dead[0].case.world
    world.run(*(one.case.request for one in dead), *(reader for one in dead for reader in one.case.readers))
    catalog, wanted, history, frozen = world.catalog(), {}, world.history(), Frozen(world.looking)
    wrong = []
    for one in dead:
        request = one.case.request
        if request.query not in wanted:
            wanted[request.query] = world.rows(request.query)
        try:
            assert one.case.shown() == wanted[request.query]
            for reader in one.case.readers:
                assert world.rows(f"SELECT * FROM {reader.public.sql}") == world.rows(reader.query), reader.name
            state = catalog.stream_tables.get(request.pgt_id)
            assert state is not None, "the catalog has nothing of it"
            verdict = verify.verify(world.looking, frozen, state)
            assert (verdict.outcome, verdict.reason) == (verify.OK, ""), verdict  # nothing was left out
            _captured(one, catalog.dependencies.get(request.pgt_id, ()))
            _agrees_with_its_storage(one.case, state)
            _history_is_true(one, [row for row in history if row["pgt_id"] == request.pgt_id])
            _nothing_left_over(one.case, state)
            _described(one.case, state)
        except (AssertionError, WarehouseError) as problem:
            wrong.append(f"{one.where}: {problem!s:.1500}")
    for one, outcome in zip(dead, world.run(*(one.case.request for one in dead)), strict=True):
        if outcome.refresh.action != "NO_DATA":
            wrong.append(f"{one.where}: then {outcome.refresh.action} ({outcome.refresh.reason})")
        try:
            one.case.ended()
        except AssertionError as problem:
            wrong.append(f"{one.where}: {problem!s:.1500}")
    assert not wrong, f"{len(wrong)} of {len(dead)}:\n" + "\n".join(wrong)


def _agrees_with_its_storage(case: Case, state: StreamTable) -> None:
    assert state.storage_relation == _shown_storage(case), f"{state.storage_relation} is not what is shown"
    commit, marker = _markers(case, state.storage_relation)[0]
    assert (marker.batch, marker.generation, marker.fingerprint) == (state.batch, state.generation, state.fingerprint)
    assert dict(marker.frontier) == dict(state.frontier)
    inserted, deleted = recover.moved_rows(commit, marker)
    assert marker.rows_before + inserted - deleted == state.rows
    assert state.status == "ACTIVE"
    assert state.is_populated


def _captured(one: Dead, rows: Sequence[Dependency]) -> None:
    wanted = one.case.captured(told=one.served is None)
    assert wanted is None or [(row.cdc_mode, row.cdc_reason) for row in rows] == [wanted], rows


def _history_is_true(one: Dead, rows: list[Mapping[str, Any]]) -> None:
    assert "RUNNING" not in {row["status"] for row in rows}, rows
    told = {row["invocation_id"]: row for row in rows}
    for commit, marker in _markers(one.case, _shown_storage(one.case) or ""):
        row = told.get(marker.run)
        assert row is not None, f"no row of {marker.run}"
        expected = ("COMPLETED", marker.action, marker.batch, recover.moved_rows(commit, marker)[0])
        assert (row["status"], row["action"], row["batch"], row["rows_inserted"]) == expected, row
    if one.run in told and one.served is not None:
        status = told[one.run]["status"]
        assert (status == "COMPLETED") == one.served, f"served: {one.served}, {told[one.run]}"


def _nothing_left_over(case: Case, state: StreamTable) -> None:
    world = case.world
    retired = {f"{world.settings.change_schema}.st_{state.pgt_id}_g{g}" for g, _ in state.retired}
    staged = {state.buffer.table} if state.buffer is not None else set()
    left = storages(world, case.request) - {state.storage_relation} - retired - staged
    if left:
        models = {case.request.unique_id: case.request.public}
        found = repair.examine(world.looking, world.settings, repair.Scope("faults", "", frozenset(), models))
        assert left <= {str(orphan.relation) for orphan in found.orphans}, left


def _described(case: Case, state: StreamTable) -> None:
    docs, connection = case.request.docs, case.world.looking
    rows = connection.query(f"DESCRIBE TABLE EXTENDED {case.request.public.sql}")
    assert docs.relation in [row["data_type"] for row in rows if row["col_name"] == "Comment"], rows
    comments = {row["col_name"]: row["comment"] for row in rows}
    assert all(comments[name] == text for name, text in docs.columns), comments
    if clusters := case.config.get("liquid_clustered_by"):
        detail = connection.query(f"DESCRIBE DETAIL {state.storage.sql}")[0]
        assert tuple(json.loads(detail["clusteringColumns"])) == clusters
    properties = {row["key"]: row["value"] for row in connection.query(f"SHOW TBLPROPERTIES {state.storage.sql}")}
    for constraint in case.request.constraints:
        assert properties.get(f"delta.constraints.{constraint.name}") == constraint.expression, properties
