"""Leaving stream tables: other materializations, removed models, dropped and rebuilt ones. Nothing is left behind."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from shop import Shop, model, sources

pytestmark = pytest.mark.spark

QUERY = "select id, amount from {{ source('shop', 'orders') }}"

MODELS = {
    "as_view.sql": model(QUERY),
    "as_table.sql": model(QUERY, expose="table"),
    "reader.sql": model("select count(*) as n from {{ ref('as_view') }}"),
    "over_reader.sql": model("select n + 1 as n from {{ ref('reader') }}"),
}


def other(materialized: str, query: str = QUERY) -> str:
    # An incremental model goes on with the rows that it finds: only a key keeps it from adding all of them again.
    return f"{{{{ config(materialized='{materialized}', incremental_strategy='merge', unique_key='id') }}}}\n{query}"


class TestLeaving:
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        # A catalog of its own: it is deleted here.
        return {"vars": {"trickle_catalog_schema": "leaving", "trickle_change_schema": "leaving_changes"}}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "sources.yml": sources("orders"),
            **MODELS,
        }

    @pytest.fixture
    def here(self, project: Any) -> Any:
        shop = Shop(project, "leaving", "leaving_changes")
        shop.table("orders")
        yield shop
        shop.sql("drop schema if exists leaving cascade", "drop schema if exists leaving_changes cascade")
        for name in ("as_view", "reader", "over_reader"):
            shop.sql(f"drop view if exists {name}")
        shop.sql("drop table if exists as_table")
        for name, text in MODELS.items():
            shop.write(name, text)

    def everything(self, shop: Shop) -> tuple[list[str], list[str]]:
        catalog = shop.sql("select pgt_name from leaving.pgt_stream_tables order by 1")
        dependents = shop.sql("select distinct pgt_id from leaving.pgt_dependencies")
        storages = shop.sql("show tables in leaving_changes")
        assert len(dependents) == len(catalog)
        return [row.pgt_name for row in catalog], [row.tableName for row in storages]

    def test_other_materializations(self, here: Shop) -> None:
        both = ("as_view", "as_table")
        here.step(dict.fromkeys(both, ("FULL", "first load")))
        for materialized in ("table", "view", "incremental"):
            for name in both:
                here.write(f"{name}.sql", other(materialized))
            here.run(*both)
            assert self.everything(here) == ([], []), materialized
            assert here.difference(*both) == []
            for name, expose in zip(both, ("view", "table"), strict=True):
                here.write(f"{name}.sql", model(QUERY, expose=expose))
            results = here.run(*both)
            assert {r.adapter_response["action"] for r in results.values()} == {"FULL"}
            names, storages = self.everything(here)
            assert names == sorted(both)
            assert storages == here.storages("as_view")
            assert len(storages) == 1
            assert here.difference(*both) == []

        # A replacement that cannot be built takes nothing away.
        for name in both:
            here.write(f"{name}.sql", other("table", QUERY.replace("amount", "nope")))
        before = self.everything(here)
        here.run(*both, ok=False)
        assert self.everything(here) == before
        for name in both:
            assert len(here.sql(f"select id, amount from {name}")) == 2
            here.write(f"{name}.sql", model(QUERY, expose="table" if name == "as_table" else "view"))
        here.step(dict.fromkeys(both, ("NO_DATA", "no source moved")))

    def committed(self, here: Shop, name: str) -> list[tuple[object, ...]]:
        rows = [row for row in here.history(name) if row.action != "NO_DATA"]
        return [(r.action, r.reason, r.status, r.batch, r.rows_inserted, r.initiated_by) for r in rows]

    def test_commands(self, here: Shop) -> None:
        names = ("as_view", "as_table", "reader", "over_reader")
        here.step(dict.fromkeys(names, ("FULL", "first load")))
        self.check_shown(here)
        # The catalog is a projection: without it, the storages know.
        told = {name: self.committed(here, name) for name in names}
        here.sql("drop schema leaving cascade")
        said = here.trickle_json("repair")
        assert {name: self.committed(here, name) for name in names} == told
        assert (sorted(said["rebuilt"]), said["orphans"]) == (sorted(f"{here.schema}.{name}" for name in names), [])
        here.step(dict.fromkeys(names, ("NO_DATA", "no source moved")))
        assert here.trickle("repair").output.startswith("The catalog agrees with the storages (4 stream tables).")

        refused = here.trickle("drop", "as_view", ok=False)
        assert "TRK-501" in str(refused.exception)
        assert "reader" in str(refused.exception)
        assert "TRK-502" in str(here.trickle("drop", "nobody", ok=False).exception)
        assert len(here.sql("select * from as_view")) == 2
        here.sql("create or replace view over_reader as select 'mine' as whose")
        said = here.trickle_json("drop", "reader", "--cascade")
        names = [f"{here.schema}.over_reader", f"{here.schema}.reader"]
        assert said == {"dropped": names, "left_alone": names[:1]}
        assert here.sql("select * from over_reader")[0].whose == "mine"
        here.sql("drop view over_reader")
        assert self.everything(here) == (["as_table", "as_view"], here.storages("as_view"))

        for name in ("as_view", "as_table", "reader", "over_reader"):
            (here.root / "models" / f"{name}.sql").unlink()
        listed = here.trickle_json("repair")["orphans"]
        assert {(o["relation"], o["removed"]) for o in listed} == {
            (f"{here.schema}.as_view", False),
            (f"leaving_changes.{here.storages('as_view')[0]}", False),
            (f"{here.schema}.as_table", False),
        }
        assert "Remove them with `trickle repair --apply`" in here.trickle("repair").output
        assert len(here.sql("select * from as_view")) == 2
        assert "Removed: VIEW" in here.trickle("repair", "--apply").output
        assert self.everything(here) == ([], [])
        left = [row.tableName for row in here.sql(f"show tables in {here.schema}")]
        assert left == ["orders"]

    def test_a_removed_model_in_a_schema_of_its_own(self, here: Shop) -> None:
        """With it the project has forgotten the schema. A generation still waits for its readers, and goes as well."""
        own = f"{here.schema}_apart"
        for query, action in ((QUERY, "FULL"), (f"{QUERY} where id > 0", "ALTER")):
            here.write("apart.sql", model(query, schema="apart"))
            assert here.run("apart")["apart"].adapter_response["action"] == action
        storages = here.storages("apart")
        assert len(storages) == 2
        (here.root / "models" / "apart.sql").unlink()
        listed = here.trickle_json("repair", "--apply")["orphans"]
        assert [o["relation"] for o in listed] == [f"{own}.apart", *(f"leaving_changes.{name}" for name in storages)]
        assert self.everything(here) == ([], [])
        here.sql(f"drop schema {own}")  # which Spark refuses while something is in it

    def test_folders_of_location_root(self, here: Shop, tmp_path: Path) -> None:
        """Files outlive their table there: what is created again must not find them, nor anybody else rows in them."""
        both = {"as_view": "view", "as_table": "table"}

        def run(query: str, action: str, folders: int, *names: str, **config: str) -> None:
            for name in names or both:
                here.write(
                    f"{name}.sql", model(query, expose=both[name], **(config or {"location_root": str(tmp_path)}))
                )
            results = here.run(*(names or both))
            assert {r.adapter_response["action"] for r in results.values()} == {action}
            assert here.difference(*results) == []
            assert len(list(tmp_path.iterdir())) == folders

        # A table under the public name is replaced where it lies.
        run(QUERY, "FULL", 0, "as_table", on_source_change="auto")
        run(QUERY, "ALTER", 0, "as_table")
        here.trickle("drop", "as_table")
        run(QUERY, "FULL", 2)
        run(f"{QUERY} where id > 1", "ALTER", 3)
        here.trickle("drop", "as_view")
        here.trickle("drop", "as_table")
        assert self.everything(here) == ([], [])
        for folder in tmp_path.iterdir():
            assert here.sql(f"select * from delta.`{folder}`") == []
        run(QUERY, "FULL", 5)
        for folder in tmp_path.iterdir():
            shutil.rmtree(folder)
        here.trickle("drop", "as_view")
        here.trickle("drop", "as_table")
        assert self.everything(here) == ([], [])

    def check_shown(self, here: Shop) -> None:
        status = here.trickle("status").output
        assert f"{here.schema}.over_reader" in status
        rows = {row["pgt_name"]: row for row in here.trickle_json("status")}
        assert {row["status"] for row in rows.values()} == {"ACTIVE"}
        assert rows["as_view"]["total_refreshes"] == 1
        assert "first load" in here.trickle("history", "as_view").output
        [row] = here.trickle_json("history", f"{here.schema}.as_view", "--limit", "1")
        assert (row["action"], row["rows_inserted"], row["status"]) == ("FULL", 2, "COMPLETED")
        assert here.trickle_json("history", "model.test.as_table")[0]["action"] == "FULL"
        assert "catalog" in here.trickle("doctor").output
        assert all(check["ok"] for check in here.trickle_json("doctor"))
